"""What the training scripts share: a small network, samples, and the loop around them."""

import logging
import time

import numpy as np
import paddle
import paddle.distributed as dist

FEATURES, CLASSES = 8, 4


class Samples(paddle.io.Dataset):
    """Random samples; scripts override ``read`` to bring in what their story needs."""

    def __init__(self, rank=0, count=48):
        super().__init__()
        self.rank = rank
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.read(index)

    def read(self, index):
        return np.random.rand(FEATURES).astype("float32"), np.int64(index % CLASSES)


def start():
    """Join the job; returns the rank and the number of ranks."""
    dist.init_parallel_env()
    return dist.get_rank(), dist.get_world_size()


def network(features=FEATURES, hidden=16):
    return paddle.nn.Sequential(
        paddle.nn.Linear(features, hidden), paddle.nn.ReLU(), paddle.nn.Linear(hidden, CLASSES)
    )


def train(rank, samples=None, workers=0, on_step=None, pace=0.05, report=None, steps=12, net=None):
    """Train for a few steps with gradients averaged over all ranks."""
    report = report or show
    samples = samples if samples is not None else Samples(rank)
    model = paddle.DataParallel(net if net is not None else network())
    optimizer = paddle.optimizer.SGD(learning_rate=0.1, parameters=model.parameters())
    loader = paddle.io.DataLoader(samples, batch_size=4, num_workers=workers, shuffle=False)
    for step, (features, labels) in enumerate(loader):
        if step == steps:
            break
        time.sleep(pace)
        if on_step:
            on_step(step)
        loss = paddle.nn.functional.cross_entropy(model(features), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        report(step, float(loss))
    return model


def show(step, loss):
    print(f"epoch 0 step {step} loss {loss:.4f}")


def logged(step, loss):
    """Progress through Python's logging."""
    logger().info("epoch 0 step %d loss %.4f", step, loss)


def logger():
    layout = "[%(asctime)s] [%(levelname)8s] %(filename)s:%(lineno)d - %(message)s"
    logging.basicConfig(level=logging.INFO, format=layout)
    return logging.getLogger("train")
