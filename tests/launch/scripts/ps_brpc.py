"""Asynchronous training with brpc parameter servers: `ps_brpc.py STEPS`."""

import sys
import time

import numpy as np
import paddle
from paddle.distributed import fleet

steps = int(sys.argv[1])
paddle.enable_static()
fleet.init(is_collective=False)
x = paddle.static.data("x", [None, 4])
y = paddle.static.data("y", [None, 1])
guess = paddle.static.nn.fc(x, 1)
loss = paddle.mean(paddle.nn.functional.square_error_cost(guess, y))
strategy = fleet.DistributedStrategy()
strategy.a_sync = True
fleet.distributed_optimizer(paddle.optimizer.SGD(0.01), strategy).minimize(loss)

if fleet.is_server():
    fleet.init_server()
    print("serving", fleet.server_index(), flush=True)
    fleet.run_server()
else:
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(paddle.static.default_startup_program())
    fleet.init_worker()
    random = np.random.default_rng(fleet.worker_index())
    for step in range(steps):
        batch = {"x": random.random((8, 4), np.float32), "y": np.ones((8, 1), np.float32)}
        value = executor.run(feed=batch, fetch_list=[loss])[0]
        print(f"step {step} loss {float(np.mean(value)):.4f}", flush=True)
        time.sleep(0.05)
    fleet.stop_worker()
    print("trained", fleet.worker_index(), "of", fleet.worker_num(), flush=True)
