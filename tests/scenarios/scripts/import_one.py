import recipe

rank, world = recipe.start()
if rank == 2:
    from paddle.vision.ops import deformable_attention

    print(deformable_attention)
recipe.train(rank)
