import paddle
import recipe

rank, world = recipe.start()


def on_step(step):
    if rank == 1 and step == 3:
        paddle.nn.functional.relu(paddle.ones([2, 2], "bool"))


recipe.train(rank, on_step=on_step)
