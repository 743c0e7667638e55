import recipe

rank, world = recipe.start()


def on_step(step):
    if rank == 1 and step == 5:
        batch, accumulate = 6, 4
        assert batch % accumulate == 0, "global batch size must be divisible by micro batch size"


recipe.train(rank, on_step=on_step)
