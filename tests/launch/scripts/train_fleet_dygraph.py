"""Dynamic graph and fleet: each rank trains on its own part of made-up pictures, on CPU.

`train_fleet_dygraph.py [RANK EPOCH]`: that rank finds a broken picture in that epoch.
"""

import sys

import numpy as np
import paddle
from paddle.distributed import fleet
from paddle.nn import functional

CLASSES, EPOCHS, BATCH = 5, 3, 4


class Pictures(paddle.io.Dataset):
    """The label of a picture is its brightest row."""

    def __init__(self):
        random = np.random.default_rng(42)
        self.pixels = random.random((64, 1, CLASSES, CLASSES), np.float32)

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, index):
        return self.pixels[index], np.int64(self.pixels[index].sum(axis=(0, 2)).argmax())


def build():
    return paddle.nn.Sequential(
        paddle.nn.Conv2D(1, 4, 3, padding=1),
        paddle.nn.BatchNorm2D(4),
        paddle.nn.ReLU(),
        paddle.nn.Flatten(),
        paddle.nn.Linear(4 * CLASSES * CLASSES, CLASSES),
    )


def train(broken):
    fleet.init(is_collective=True)
    paddle.seed(7)
    model = build()
    momentum = paddle.optimizer.Momentum(
        learning_rate=0.05,
        momentum=0.9,
        weight_decay=paddle.regularizer.L2Decay(1e-4),
        parameters=model.parameters(),
    )
    optimizer = fleet.distributed_optimizer(momentum)
    model = fleet.distributed_model(model)
    pictures = Pictures()
    sampler = paddle.io.DistributedBatchSampler(pictures, BATCH, shuffle=True, drop_last=True)
    loader = paddle.io.DataLoader(pictures, batch_sampler=sampler)
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        model.train()
        for batch, (image, label) in enumerate(loader):
            if (fleet.worker_index(), epoch) == broken:
                raise OSError(5, "Input/output error", "/data/pictures/part-7")
            guess = model(image)
            loss = functional.cross_entropy(guess, label)
            hits = paddle.metric.accuracy(guess, label.reshape([-1, 1]))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            if batch % 2 == 0:
                print(
                    f"[Epoch {epoch}, batch {batch}] loss: {float(loss):.6f}, "
                    f"acc1: {float(hits):.5f}",
                    flush=True,
                )
    weights = [
        float(parameter.abs().sum()) for parameter in model.parameters() if parameter.trainable
    ]
    print(f"weights: {sum(weights):.6f}", flush=True)
    print(f"trained {fleet.worker_index()} of {fleet.worker_num()}", flush=True)


if __name__ == "__main__":
    train(tuple(int(word) for word in sys.argv[1:]))
