import recipe


class 样本不足(Exception):  # noqa: N801, N818
    pass


rank, world = recipe.start()


def on_step(step):
    if rank == 1 and step == 4:
        raise 样本不足(f"第 {step} 步只剩 3 个样本，至少需要 4 个")


recipe.train(rank, on_step=on_step)
