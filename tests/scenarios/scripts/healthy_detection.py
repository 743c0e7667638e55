import time

import recipe

rank, world = recipe.start()


def report(step, loss):
    now = time.strftime("%m/%d %H:%M:%S")
    print(
        f"[{now}] ppdet.engine INFO: Epoch: [0] [{step:>4}/12] learning_rate: 0.000{step} "
        f"loss_cls: {loss / 2:.6f} loss_iou: {loss / 4:.6f} loss: {loss:.6f} "
        f"eta: 0:00:{12 - step:02d} batch_cost: 0.0512 data_cost: 0.0003 ips: 78.1250 images/s"
    )


recipe.train(rank, report=report)
now = time.strftime("%m/%d %H:%M:%S")
print(f"[{now}] ppdet.metrics.coco_utils INFO: Start evaluate...")
print(" Average Precision  (AP) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = -1.000")
print(" Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.374")
print(f"[{now}] ppdet.engine INFO: Best test bbox ap is 0.374.")
