"""Ranks that add up a number over gloo, step by step, until they are stopped or lose a peer."""

import time

import paddle
import paddle.distributed as dist

dist.init_parallel_env()
for step in range(100_000):
    total = paddle.ones([1])
    dist.all_reduce(total)
    print(f"step {step} loss {1.0 + 1.0 / (step + 1):.6f}", flush=True)
    time.sleep(0.05)
