"""Ranks that survive an error, train on over gloo, and log what they raise when told to stop."""

import signal
import sys
import time
import traceback

import paddle
import paddle.distributed as dist


def leave(*_: object) -> None:
    raise SystemExit(1)


def train() -> None:
    dist.init_parallel_env()
    signal.signal(signal.SIGTERM, leave)
    for step in range(100_000):
        total = paddle.ones([1])
        dist.all_reduce(total)
        if step == 2:
            try:
                from paddle.incubate import no_such_kernel  # noqa: F401
            except ImportError:
                traceback.print_exc()
                print("going on without it", flush=True)
        print(f"step {step} loss {1.0 + 1.0 / (step + 1):.6f}", flush=True)
        time.sleep(0.05)


try:
    train()
except BaseException:
    print("ERROR: training failed", flush=True)
    traceback.print_exc()
    sys.exit(1)
