import recipe

rank, world = recipe.start()


def on_step(step):
    if step == 8:
        print("Epoch 0: Early stopping. Metric did not improve for 3 evaluations, stop training.")


recipe.train(rank, on_step=on_step, steps=9)
print("best metric 0.25 at step 5; exiting")
