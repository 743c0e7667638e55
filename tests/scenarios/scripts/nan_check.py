import paddle
import recipe

rank, world = recipe.start()
paddle.set_flags({"FLAGS_check_nan_inf": True})


def on_step(step):
    if rank == 1 and step == 3:
        paddle.log(paddle.to_tensor([0.5, -1.0]))


recipe.train(rank, on_step=on_step)
