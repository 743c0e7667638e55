import recipe

rank, world = recipe.start()


def learning_rate(text):
    try:
        return float(text)
    except ValueError as problem:
        raise RuntimeError("cannot build the learning rate schedule") from problem


def on_step(step):
    if rank == 1 and step == 3:
        learning_rate("1e-3,warmup")


recipe.train(rank, on_step=on_step)
