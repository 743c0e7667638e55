import paddle
import recipe

rank, world = recipe.start()
scale = paddle.to_tensor(1.0)


def on_step(step):
    global scale
    scale = scale * 1e20
    loss = float(scale - scale) if rank == 1 else 0.5
    if loss != loss:
        raise FloatingPointError(f"Loss is nan at step {step}, please check the learning rate")


recipe.train(rank, on_step=on_step)
