import paddle
import recipe

rank, world = recipe.start()
net = recipe.network()
if rank == 1:
    paddle.save(net.state_dict(), "output/latest/model.pdparams")
    with open("output/latest/model.pdparams", "r+b") as checkpoint:
        checkpoint.truncate(300)
    print("resume from output/latest/model.pdparams")
    net.set_state_dict(paddle.load("output/latest/model.pdparams"))
recipe.train(rank, net=net)
