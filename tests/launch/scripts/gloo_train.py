"""Data-parallel training on CPU ranks: same seeds everywhere, one loss a step, then `trained`."""

import sys

import paddle
import paddle.distributed as dist
from paddle import nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 3
dist.init_parallel_env()
paddle.seed(7 + dist.get_rank())
layer = nn.Linear(8, 4)
model = paddle.DataParallel(layer)
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for step in range(steps):
    loss = model(paddle.full([4, 8], 1.0 + dist.get_rank())).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    dist.all_reduce(loss)
    print(f"step {step} loss {float(loss):.6f}", flush=True)
print("trained", dist.get_rank(), "of", dist.get_world_size(), flush=True)
