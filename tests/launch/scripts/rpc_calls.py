"""Every process calls the next one; `rpc_calls.py env` only prints its variables."""

import json
import os
import sys

RANK, SIZE = (int(os.environ[name]) for name in ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM"))


def add(left, right):
    return left + right


def call():
    from paddle.distributed import rpc

    rpc.init_rpc(f"worker{RANK}")
    answer = rpc.rpc_sync(f"worker{(RANK + 1) % SIZE}", add, args=(RANK, 100))
    print(f"{RANK} of {SIZE} was told {answer}", flush=True)
    rpc.shutdown()


if sys.argv[1:] == ["env"]:
    names = [name for name in os.environ if name.startswith(("PADDLE_", "FLAGS_", "POD_"))]
    print("env " + json.dumps({name: os.environ[name] for name in names}), flush=True)
else:
    call()
