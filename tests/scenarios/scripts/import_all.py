import recipe

rank, world = recipe.start()
recipe.train(rank)
