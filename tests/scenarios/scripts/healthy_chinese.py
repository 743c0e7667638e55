import recipe

rank, world = recipe.start()
print(f"开始训练：共 {world} 张卡，失败重试次数 3，超时时间 30 秒")


def report(step, loss):
    print(f"第 0 轮 第 {step} 步 损失 {loss:.4f} 错误率 0.{step} 异常样本数 0")


recipe.train(rank, report=report)
print("训练完成，未发现错误")
