import paddleseg_extras
import recipe

rank, world = recipe.start()
recipe.train(rank, net=paddleseg_extras.network())
