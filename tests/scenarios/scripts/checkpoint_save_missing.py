import pickle

import recipe

rank, world = recipe.start()


def save_checkpoint(step):
    if rank == 1 and step == 5:
        with open("/mnt/checkpoints/run7/optimizer.pkl", "wb") as checkpoint:
            pickle.dump({"step": step}, checkpoint)


recipe.train(rank, on_step=save_checkpoint)
