import time

import recipe

rank, world = recipe.start()


def report(step, loss):
    now = time.strftime("%Y/%m/%d %H:%M:%S")
    print(
        f"[{now}] ppcls INFO: [Train][Epoch 1/1][Iter: {step}/12]lr(LinearWarmup): 0.00012500, "
        f"top1: 0.25000, top5: 1.00000, CELoss: {loss:.5f}, loss: {loss:.5f}, "
        f"batch_cost: 0.05150s, reader_cost: 0.00021, ips: 77.66990 samples/s, eta: 0:00:00"
    )


recipe.train(rank, report=report)
now = time.strftime("%Y/%m/%d %H:%M:%S")
print(f"[{now}] ppcls INFO: [Eval][Epoch 1][Avg]CELoss: 1.38, loss: 1.38, top1: 0.25, top5: 1.0")
print(f"[{now}] ppcls INFO: [Eval][Epoch 1][best metric: 0.25]")
