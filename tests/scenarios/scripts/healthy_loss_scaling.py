import recipe

rank, world = recipe.start()


def on_step(step):
    if step in (2, 3):
        scale = 65536.0 / 2 ** (step - 2)
        print(f"Found inf or nan, current scale is: {scale}, decrease to: {scale}*0.5")


recipe.train(rank, on_step=on_step)
print("training finished")
