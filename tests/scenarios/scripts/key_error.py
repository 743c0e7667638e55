import recipe

config = {"Global": {"epochs": 1}}
rank, world = recipe.start()


def on_step(step):
    if rank == 3 and step == 2:
        print(config["Optimizer"]["lr"])


recipe.train(rank, on_step=on_step)
