import recipe

rank, world = recipe.start()
recipe.train(rank, recipe.Samples(rank, 4000), pace=0.2, steps=1000)
