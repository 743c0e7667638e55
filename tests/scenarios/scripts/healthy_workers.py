import recipe

rank, world = recipe.start()
for epoch in range(2):
    print(f"epoch {epoch} begins, 2 loader workers")
    recipe.train(rank, workers=2)
print("training finished")
