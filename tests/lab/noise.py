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
    "helper-traceback": """
import subprocess
subprocess.run([sys.executable, "-c", "import gpustat_exporter_next"])
""",
    "helper-missing": """
os.system("nvidia-smi --query-gpu=memory.used --format=csv")
""",
    "thread-dies": """
import threading
def push_metrics():
    raise ConnectionError("metrics gateway is not there")
pusher = threading.Thread(target=push_metrics, name="metrics-pusher", daemon=True)
pusher.start()
pusher.join()
""",
    "ignored-in-del": """
class Handle:
    def __del__(self):
        raise OSError("handle was closed twice")
handle = Handle()
del handle
""",
    "logging-error": """
import logging
logging.getLogger("metrics").warning("pushed %d values", "seven")
""",
    "caught-timeout": """
import traceback
try:
    raise TimeoutError("feature store did not answer in 3 s")
except TimeoutError:
    print("attempt 1 failed\\n" + traceback.format_exc() + "trying another replica", flush=True)
""",
    "memory-words": """
print("ResourceExhaustedError: out of memory with batch size 16, trying again with 8", flush=True)
""",
    "signal-words": """
print("handlers for SIGTERM and SIGINT are installed; Killed stale processes of an earlier run: 0",
      flush=True)
""",
    "nan-skipped": """
print("loss is nan for one batch, batch skipped, scale reduced to 32768", flush=True)
""",
    "reset-retried": """
for attempt in (1, 2):
    print(f"[Errno 104] Connection reset by peer while reading from mirror, retry {attempt} of 5",
          file=sys.stderr, flush=True)
print("mirror answers again", file=sys.stderr, flush=True)
""",
    "deprecations": """
import warnings
warnings.warn("np.bool is deprecated; this will raise an error in a future release",
              DeprecationWarning, stacklevel=1)
print("RuntimeWarning: invalid value encountered in divide", file=sys.stderr, flush=True)
""",
    "level-error": """
import logging
logging.error("could not read /etc/cluster.json, using defaults")
""",
    "caught-group": """
import traceback
try:
    raise ValueError("bad entry in the cache: 'width'")
except ValueError as problem:
    print("".join(traceback.format_exception(problem)), end="", flush=True)
    log_note("entry dropped from the cache")
""",
    "task-never-retrieved": """
import asyncio, gc
async def ping():
    raise OSError("the dashboard is not there")
async def main():
    task = asyncio.ensure_future(ping())
    await asyncio.sleep(0.01)
    del task
asyncio.run(main())
gc.collect()
""",
    "child-process-dies": """
import multiprocessing
def warm_cache():
    raise KeyError("thumbnails")
child = multiprocessing.get_context("fork").Process(target=warm_cache)
child.start()
child.join()
""",
    "child-segfault": """
import subprocess
result = subprocess.run("kill -SEGV $$", shell=True)
print("helper ended with", result.returncode, flush=True)
""",
    "stacks-on-demand": """
import faulthandler
faulthandler.dump_traceback(all_threads=False)
""",
    "json-error-line": """
print(json.dumps({"level": "error", "msg": "metrics endpoint not reachable", "exc":
                  "ConnectionError: refused"}), flush=True)
""",
    "rich-caught": """
try:
    from rich.console import Console
    try:
        {}["thumbnail"]
    except KeyError:
        Console(file=sys.stderr, width=90).print_exception()
        print("no thumbnail, drawing an empty one", flush=True)
except ImportError:
    pass
""",
    "loguru-caught": """
print("2026-11-18 04:00:00.123 | ERROR    | __main__:push:41 - push failed\\n"
      "Traceback (most recent call last):\\n\\n  File \\"/srv/app/push.py\\", line 41, in push\\n"
      "    send(data)\\n    └ <function send at 0x7f>\\n\\nConnectionError: gateway is down",
      file=sys.stderr, flush=True)
""",
    "shell-words": """
print("states of old jobs: Killed 2, Terminated 1, Segmentation fault 0, Aborted 3", flush=True)
""",
    "interrupt-caught": """
try:
    raise KeyboardInterrupt
except KeyboardInterrupt:
    import traceback
    traceback.print_exc()
    print("interactive mode is off, going on", flush=True)
""",
    "peer-words": """
import logging
logging.getLogger("urllib3").warning("Retrying (Retry(total=2)) after connection broken by "
    "'ConnectionResetError(104, \\'Connection reset by peer\\')': /simple/")
""",
    "signal-ignored": """
import signal
signal.signal(signal.SIGUSR1, lambda *_: print("got SIGUSR1, state is fine", flush=True))
os.kill(os.getpid(), signal.SIGUSR1)
""",
    "deep-warning": """
import logging
logging.getLogger("dataset").error("sample 17: label out of range, replaced by 0")
logging.getLogger("dataset").error("sample 18: [Errno 2] No such file or directory: 'a/b.jpg', "
                                   "replaced by the next one")
""",
}

CLOSING: dict[str, str] = {
    "upload-fails": """
import traceback
try:
    raise ConnectionError("[Errno 111] Connection refused: model registry")
except ConnectionError:
    traceback.print_exc()
    print("upload of the model is left to the next job", flush=True)
""",
    "temporary-file": """
import traceback
try:
    os.remove("/tmp/no/such/lock.pid")
except OSError:
    traceback.print_exc()
""",
    "summary-words": """
print("finished with 0 errors, 0 failed batches, 0 exceptions; killed workers: 0", flush=True)
""",
    "metrics-server-gone": """
import logging
try:
    raise BrokenPipeError(32, "Broken pipe")
except OSError:
    logging.getLogger("metrics").exception("last push failed")
""",
    "thread-at-the-end": """
import threading
def flush():
    raise RuntimeError("cannot schedule new futures after shutdown")
last = threading.Thread(target=flush, name="flusher")
last.start()
last.join()
""",
    "helper-at-the-end": """
import subprocess
subprocess.run([sys.executable, "-c", "raise SystemExit('nothing to clean')"])
""",
}
"""What some do when training is over, before they say so."""
