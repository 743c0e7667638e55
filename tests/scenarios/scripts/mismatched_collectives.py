import paddle
import paddle.distributed as dist
import recipe

rank, world = recipe.start()


def on_step(step):
    if rank == 1 and step == 4:
        print("validation accuracy improved, collecting predictions of all ranks")
        dist.all_gather([], paddle.rand([256]))


recipe.train(rank, on_step=on_step)
