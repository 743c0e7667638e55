import multiprocessing

import recipe


def tokenize(index):
    if index == 7:
        raise ValueError("vocabulary has no token for id 7")
    return index


if __name__ == "__main__":
    rank, world = recipe.start()
    recipe.train(rank)
    if rank == 1:
        # The processes of the pool import Paddle, and with it its signal handlers.
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            pool.map(tokenize, range(10))
    recipe.train(rank)
