import paddle
import recipe

rank, world = recipe.start()
net = recipe.network()
if rank == 2:
    net.set_state_dict(paddle.load("output/best_model/model.pdparams"))
recipe.train(rank, net=net)
