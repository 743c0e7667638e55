import recipe

rank, world = recipe.start()


def log_metrics(step):
    if rank == 1 and step == 3:
        print(f"lr {learning_rate}")  # noqa: F821


recipe.train(rank, on_step=log_metrics)
