import paddle
import recipe

rank, world = recipe.start()
net = recipe.network()


def on_step(step):
    if step % 5 == 4:
        path = f"output/step_{step}/rank_{rank}.pdparams"
        paddle.save(net.state_dict(), path)
        print(f"Save checkpoint to {path}")
        net.set_state_dict(paddle.load(path))
        print(f"Resume from checkpoint {path}: 0 missing keys, 0 unexpected keys")


recipe.train(rank, on_step=on_step, net=net)
print("training finished")
