import recipe

rank, world = recipe.start()


def report(step, loss):
    print(f"\033[32m[INFO]\033[0m \033[1mstep {step}\033[0m loss \033[33m{loss:.4f}\033[0m")
    if step == 6:
        print("\033[31m[ALERT]\033[0m gradient norm 12.3 is above the soft limit 10.0, clipped")


recipe.train(rank, report=report)
print("\033[32mall done\033[0m")
