import recipe

rank, world = recipe.start()
recipe.train(rank, net=recipe.network(hidden=24 if rank == 1 else 16))
