import recipe

rank, world = recipe.start()


def on_step(_step):
    if rank == 1:
        with open("visual/scalars.csv", "a") as scalars:
            scalars.write("step,loss,lr\n" * 3000)


recipe.train(rank, on_step=on_step)
