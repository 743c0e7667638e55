import paddle
import recipe

rank, world = recipe.start()


def on_step(step):
    if rank == 1 and step == 3:
        paddle.index_select(paddle.rand([3, 3]), paddle.rand([2]))


recipe.train(rank, on_step=on_step)
