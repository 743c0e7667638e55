"""Harmless things that look alarming: Python text run in the midst of a job that goes on."""

from __future__ import annotations

NOISES: dict[str, str] = {
    "caught": """
try:
    {}["feature_cache"]
except KeyError:
    import traceback
    traceback.print_exc()
    log_note("cache miss, computing the features again")
""",
    "caught-io": """
try:
    open("/data/cache/index.bin", "rb")
except OSError:
    import traceback
    traceback.print_exc()
""",
    "caught-logged": """
import logging
try:
    raise RuntimeError("metric server did not answer")
except RuntimeError:
    logging.getLogger("metrics").exception("could not push metrics, dropped")
""",
    "caught-chained": """
import traceback
try:
    try:
        int("7,5")
    except ValueError as problem:
        raise RuntimeError("cannot parse the cached learning rate") from problem
except RuntimeError:
    print(traceback.format_exc() + "using the default learning rate", flush=True)
""",
    "caught-operator": """
try:
    paddle.matmul(paddle.ones([2, 3]), paddle.ones([4, 5]))
except Exception as problem:
    print("fused kernel unavailable, using the plain one:", problem, flush=True)
""",
    "caught-memory": """
try:
    np.ones(1 << 50)
except MemoryError as problem:
    print(f"WARNING: no room for the whole table ({problem}), reading it in pieces", flush=True)
""",
    "retry": """
for attempt in range(3):
    if attempt < 2:
        print(f"connect to store-0:9000 failed: [Errno 111] Connection refused, "
              f"retry {attempt + 1}/3", file=sys.stderr, flush=True)
        time.sleep(0.05)
    else:
        print("connected to store-0:9000", file=sys.stderr, flush=True)
""",
    "optional-import": """
try:
    import paddle_custom_ops_not_built
except ImportError as problem:
    print(f"optional extension not available: {problem}", flush=True)
""",
    "optional-import-traceback": """
try:
    from paddle.incubate import fused_everything
except ImportError:
    import traceback
    traceback.print_exc()
    print("going on without fused_everything", flush=True)
""",
    "words": """
print("summary: failed 0, errors 0, killed: 0, timeouts: none, exceptions 0", flush=True)
""",
    "skipped-sample": """
print("ERROR: cannot decode sample 000017.jpg (image file is truncated), skipped", flush=True)
""",
    "nan-metric": """
print("class 3 has no samples: IoU nan, recall nan; overflow in scaler, skipping step", flush=True)
""",
    "warnings": """
import warnings
warnings.warn("lr_scheduler.step() was called before optimizer.step(), which is an error in 4.0")
""",
    "pause": """
time.sleep(3)
""",
    "helper-fails": """
import subprocess
subprocess.run(["ls", "/no/such/folder"])
""",
    "worker-timeout-words": """
print("[WARNING] DataLoader: a batch took longer than expected, timeout is 120 s", flush=True)
""",
    "native-warning": """
now = time.strftime("%m%d %H:%M:%S")
print(f"W{now}.123456 {os.getpid():5d} gpu_resources.cc:119] Please NOTE:"
      " device: 0, fallback to CPU kernels", file=sys.stderr, flush=True)
""",
    "old-exception-text": """
print("known issues of this release: RuntimeError: (PreconditionNotMet) in operator roi_pool, see"
      " the notes", flush=True)
""",
}
