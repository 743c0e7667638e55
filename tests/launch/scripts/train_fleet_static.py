"""Static graph and fleet: each rank trains on its own made-up rows, on CPU.

Fleet's optimizer shares the gradients of a static graph on GPU and XPU alone, so here they are
shared by an operator in the program; by one, for the executor may swap several.
"""

import numpy as np
import paddle
import paddle.distributed as dist
from paddle.distributed import fleet

STEPS, BATCH, FEATURES = 8, 16, 6


def build():
    row = paddle.static.data("x", [None, FEATURES], "float32")
    label = paddle.static.data("y", [None, 1], "int64")
    hidden = paddle.static.nn.fc(row, 16, activation="relu")
    guess = paddle.static.nn.fc(hidden, FEATURES)
    loss = paddle.mean(paddle.nn.functional.cross_entropy(guess, label))
    return loss, paddle.metric.accuracy(guess, label)


def minimize(loss):
    """Momentum with the mean of all ranks' gradients. Gives back the names of the parameters."""
    momentum = paddle.optimizer.Momentum(
        learning_rate=0.1, momentum=0.9, weight_decay=paddle.regularizer.L2Decay(1e-4)
    )
    pairs = momentum.backward(loss)
    flat = paddle.concat([paddle.flatten(gradient) for _, gradient in pairs])
    dist.all_reduce(flat)
    flat = paddle.scale(flat, 1 / fleet.worker_num())
    sizes = [int(np.prod(parameter.shape)) for parameter, _ in pairs]
    parts = zip(pairs, paddle.split(flat, sizes), strict=True)
    momentum.apply_gradients([(p, paddle.reshape(part, p.shape)) for (p, _), part in parts])
    return [parameter.name for parameter, _ in pairs]


def train():
    fleet.init(is_collective=True)
    paddle.enable_static()
    paddle.seed(7)
    loss, hits = build()
    names = minimize(loss)
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(paddle.static.default_startup_program())
    random = np.random.default_rng(100 + fleet.worker_index())
    for step in range(STEPS):
        rows = random.random((BATCH, FEATURES), np.float32)
        batch = {"x": rows, "y": rows.argmax(axis=1).reshape(-1, 1)}
        value, share = executor.run(feed=batch, fetch_list=[loss, hits])
        print(
            f"[Epoch 0, batch {step}] loss: {float(np.mean(value)):.6f}, "
            f"acc1: {float(np.mean(share)):.5f}",
            flush=True,
        )
    scope = paddle.static.global_scope()
    weights = [np.abs(np.array(scope.find_var(name).get_tensor())).sum() for name in names]
    print(f"weights: {sum(weights):.6f}", flush=True)
    print(f"trained {fleet.worker_index()} of {fleet.worker_num()}", flush=True)


if __name__ == "__main__":
    train()
