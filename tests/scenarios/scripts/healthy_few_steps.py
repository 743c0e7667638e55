import recipe

rank, world = recipe.start()
recipe.train(rank, steps=2)
print("training finished")
