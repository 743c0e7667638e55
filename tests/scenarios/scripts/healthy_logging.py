import recipe

rank, world = recipe.start()
log = recipe.logger()
log.info("start training with %d ranks, grad_clip=1.0, raise_on_error=False", world)
recipe.train(rank, report=recipe.logged)
log.info("training finished")
