import paddle
import recipe

paddle.set_device("gpu:0")
rank, world = recipe.start()
recipe.train(rank)
