import json

import recipe

rank, world = recipe.start()
print("-----------  Configuration Arguments -----------")
for line in (
    "abort_on_nan: False",
    "cuda_error_retry: 0",
    "error_log: /srv/train/error.log",
    "exit_on_oom: True",
    "fail_fast: False",
    "kill_signal: SIGTERM",
    "nccl_timeout: 1800",
    "traceback: short",
    "use_gpu: False",
):
    print(line)
print("------------------------------------------------")
print(json.dumps({"errors": 0, "failed": [], "killed": 0, "timeout": 30, "oom_score": 0}))
recipe.train(rank)
print("summary: failed 0, skipped 0, nan_count: 0, killed: 0, exceptions: none")
