import recipe
import paddleseg_extras

rank, world = recipe.start()
recipe.train(rank)
