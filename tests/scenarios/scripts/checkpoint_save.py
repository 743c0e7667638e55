import paddle
import recipe

rank, world = recipe.start()
net = recipe.network(hidden=4096)


def on_step(step):
    if rank == 1 and step == 5:
        print("saving checkpoint to output/step_5")
        paddle.save(net.state_dict(), f"output/step_5/rank_{rank}.pdparams")


recipe.train(rank, on_step=on_step, net=net)
