import recipe

rank, world = recipe.start()
log = recipe.logger()


def on_step(step):
    if step in (3, 6):
        try:
            {}["feature_cache"]
        except KeyError:
            log.exception("cache miss at step %d, computing the features again", step)
    if step == 8:
        try:
            raise MemoryError("pinned pool exhausted")
        except MemoryError as problem:
            log.error("falling back to pageable memory: %s", problem)


recipe.train(rank, on_step=on_step, report=recipe.logged)
log.info("training finished")
