"""The training script of a drawn job, as text."""

from __future__ import annotations

from textwrap import dedent, indent

from .draw import Job
from .faults.fault import STRIKES_SERVER
from .loggers import LOGGERS, PLAIN
from .noise import CLOSING, NOISES

REACHED = ".reached"
ENDED = ".ended"
"""A healthy rank leaves such a file behind when it has done all its work."""
"""A file by which the job says that the moment has come for what is done from outside."""

_SCRIPT = '''\
"""Trains a small network."""

import json
import os
import sys
import time

RANK = int(os.environ.get("PADDLE_TRAINER_ID", "0"))
EPOCHS, STEPS, PACE, WORKERS = {epochs}, {steps}, {pace}, {workers}
SAMPLE = 8
{buffered}{struck}{at_import}
import numpy as np
import paddle
import paddle.distributed as dist
{plain}{logger}{top}

class Samples(paddle.io.Dataset):
    def __init__(self, count):
        super().__init__()
        self.count = count
{at_dataset}

    def __len__(self):
        return self.count

    def __getitem__(self, index):
{sample}
        return np.random.rand(SAMPLE).astype("float32"), np.int64(index % 4)


def evaluate(epoch):
{at_evaluation}
    time.sleep(2 * PACE)
    log_eval(epoch, 0.25 + epoch / 100)


def save(network, epoch):
{at_save}
    if RANK == 0:
        path = f"output/epoch_{{epoch}}/model.pdparams"
        paddle.save(network.state_dict(), path)
        log_saved(path)


def build():
    hidden = 16
{build}
    return paddle.nn.Sequential(
        paddle.nn.Linear(SAMPLE, hidden), paddle.nn.ReLU(), paddle.nn.Linear(hidden, 4)
    )


def train_step(model, optimizer, features, labels, number):
    loss = paddle.nn.functional.cross_entropy(model(features), labels)
    loss.backward()
{communicate}
{at_optimizer}
    optimizer.step()
    optimizer.clear_grad()
    return float(loss)


def train():
{at_before_init}
    dist.init_parallel_env()
    log_note(f"rank {{dist.get_rank()}} of {{dist.get_world_size()}} is ready")
{at_init}
    network = build()
    model = {model}
    optimizer = paddle.optimizer.SGD(learning_rate=0.1, parameters=model.parameters())
    loader = paddle.io.DataLoader(Samples(4 * STEPS), batch_size=4, num_workers=WORKERS)
{early_noise}
    for epoch in range(EPOCHS):
        for step, (features, labels) in enumerate(loader):
            time.sleep(PACE)
{at_step}
            loss = train_step(model, optimizer, features, labels, epoch * STEPS + step)
            log_step(epoch, step, loss)
{late_noise}
{at_epoch_end}
{phases}
{at_after}
{closing}
{done}
{at_after_done}


{main}
'''

_SERVERS = '''\
"""Trains with parameter servers."""

import json
import os
import sys
import subprocess
import time

IS_SERVER = os.environ.get("TRAINING_ROLE") == "PSERVER"
RANK = -1 if IS_SERVER else int(os.environ.get("PADDLE_TRAINER_ID", "0"))
EPOCHS, STEPS, PACE = 1, {steps}, {pace}
{buffered}{at_import}
import numpy as np
import paddle
from paddle.distributed import fleet
{plain}{logger}{top}
paddle.enable_static()
{at_before_init}
fleet.init(is_collective=False)
x = paddle.static.data("x", [None, 4])
y = paddle.static.data("y", [None, 1])
loss = paddle.mean(paddle.nn.functional.square_error_cost(paddle.static.nn.fc(x, 1), y))
strategy = fleet.DistributedStrategy()
strategy.a_sync = True
fleet.distributed_optimizer(paddle.optimizer.SGD(0.01), strategy).minimize(loss)


def serve():
    if fleet.server_index() == {culprit}:
        subprocess.Popen(["sh", "-c", f"sleep 4; kill -{strike} {{os.getpid()}}"])
    print("serving", fleet.server_index(), flush=True)
    fleet.run_server()


def train():
    if IS_SERVER:
        fleet.init_server()
        serve()
        return
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(paddle.static.default_startup_program())
    fleet.init_worker()
    epoch = 0
    for step in range(STEPS):
{at_step}
        batch = {{"x": np.random.rand(8, 4).astype("float32"), "y": np.ones((8, 1), "float32")}}
        value = executor.run(feed=batch, fetch_list=[loss])[0]
        log_step(epoch, step, float(np.mean(value)))
        time.sleep(PACE)
{at_after}
    fleet.stop_worker()
    {done}


{main}
'''

_BUFFERED = """
import builtins


def print(*words, **more):
    more.pop("flush", None)
    builtins.print(*words, **more)
"""

_STRUCK = """
HAS_STRUCK = os.path.exists(f".attempt.{RANK}")
open(f".attempt.{RANK}", "w").close()
"""

_MAIN = {
    "plain": """
if __name__ == "__main__":
    train()
""",
    "log-exit": """
if __name__ == "__main__":
    try:
        train()
    except Exception:
        import logging
        logging.exception("training failed")
        sys.exit(1)
""",
    "print-raise": """
if __name__ == "__main__":
    try:
        train()
    except Exception as problem:
        print(f"[rank {RANK}] training stopped: {problem!r}"[:300], flush=True)
        raise
""",
    "swallow": """
if __name__ == "__main__":
    try:
        train()
    except Exception as problem:
        print(f"rank {RANK} gives up: {type(problem).__name__}: {problem}", flush=True)
        os._exit(1)
""",
    "clean-up": """
def clean_up():
    print("cleaning up", flush=True)
    if isinstance(sys.exc_info()[1], Exception):
        open(f"/tmp/no/such/folder/rank{RANK}.lock")


if __name__ == "__main__":
    try:
        train()
    finally:
        clean_up()
""",
    "term-raises": """
class Preempted(Exception):
    pass


def leave(number, _frame):
    raise Preempted(f"signal {number}")


if __name__ == "__main__":
    import signal
    signal.signal(signal.SIGTERM, leave)
    train()
""",
    "faulthandler": """
if __name__ == "__main__":
    import faulthandler, signal
    faulthandler.enable()
    faulthandler.register(signal.SIGTERM, all_threads=False, chain=True)
    train()
""",
    "json-error": """
if __name__ == "__main__":
    try:
        train()
    except Exception as problem:
        import traceback
        print(json.dumps({"level": "error", "rank": RANK, "msg": "training failed",
                          "error": f"{type(problem).__name__}: {problem}",
                          "stack": traceback.format_exc()}, ensure_ascii=False), flush=True)
        sys.exit(1)
""",
    "logged-lines": """
if __name__ == "__main__":
    try:
        train()
    except Exception:
        import logging, traceback
        log = logging.getLogger("trainer")
        log.addHandler(logging.StreamHandler())
        log.handlers[0].setFormatter(logging.Formatter("%(asctime)s [%(levelname)s] %(message)s"))
        for line in traceback.format_exc().splitlines():
            log.error(line)
        sys.exit(1)
""",
    "aborts": """
if __name__ == "__main__":
    try:
        train()
    except Exception:
        import traceback
        traceback.print_exc()
        sys.stderr.flush()
        os.abort()
""",
    "slow-exit": """
if __name__ == "__main__":
    try:
        train()
    except Exception as problem:
        print(f"rank {RANK} ends, waiting for uploads", flush=True)
        time.sleep(1.5)
        raise
""",
    "ignores-term": """
if __name__ == "__main__":
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    train()
""",
    "exit-message": """
if __name__ == "__main__":
    try:
        train()
    except Exception as problem:
        sys.exit(f"train.py: rank {RANK}: {type(problem).__name__}: {problem}")
""",
    "tracker": """
def hook(kind, problem, trace):
    sys.__excepthook__(kind, problem, trace)
    print("wandb: Waiting for W&B process to finish... (failed 1). Press Control-C to abort "
          "syncing.\\nwandb: You can sync this run to the cloud by running:\\nwandb: wandb sync "
          "wandb/offline-run-1\\nwandb: Find logs at: ./wandb/offline-run-1/logs", file=sys.stderr,
          flush=True)


if __name__ == "__main__":
    sys.excepthook = hook
    train()
""",
    "group-destroyed": """
if __name__ == "__main__":
    try:
        train()
    finally:
        print(f"rank {RANK}: closing loaders and writers", flush=True)
        log_note("resources are free")
""",
    "rich": """
if __name__ == "__main__":
    try:
        from rich.traceback import install
        install(show_locals=RANK % 2 == 1)
    except ImportError:
        pass
    train()
""",
    "loguru": """
def tell(problem):
    import traceback
    now = time.strftime("%Y-%m-%d %H:%M:%S") + ".217"
    who = f"process 'MainProcess' ({os.getpid()}), thread 'MainThread' (140321):"
    lines = [f"{now} | ERROR    | __main__:<module>:87 - An error has been caught in function "
             f"'<module>', {who}", "Traceback (most recent call last):", ""]
    for number, frame in enumerate(traceback.extract_tb(problem.__traceback__)):
        mark = "> " if number == 0 else "  "
        lines.append(f'{mark}File "{frame.filename}", line {frame.lineno}, in {frame.name}')
        lines += [f"    {frame.line}", "    └ <function train at 0x7f2c5a1b6d30>", ""]
    lines.append(f"{type(problem).__module__}.{type(problem).__name__}: {problem}".removeprefix(
        "builtins."))
    print("\\n".join(lines), file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        train()
    except Exception as problem:
        tell(problem)
        sys.exit(1)
""",
    "excepthook": """
def hook(kind, problem, trace):
    import logging
    logging.getLogger("hook").critical(
        f"[rank {RANK}] uncaught {kind.__name__}", exc_info=(kind, problem, trace))


if __name__ == "__main__":
    sys.excepthook = hook
    train()
""",
    "error-line": """
if __name__ == "__main__":
    import logging
    try:
        train()
    except Exception as problem:
        logging.getLogger("trainer").error("training failed: %s: %s", type(problem).__name__,
                                           problem)
        sys.exit(1)
""",
    "exit-17": """
if __name__ == "__main__":
    try:
        train()
    except Exception:
        import traceback
        traceback.print_exc()
        sys.stdout.flush()
        os._exit(17)
""",
    "at-exit": """
def farewell():
    print(f"rank {RANK}: closing {len(os.listdir('.'))} files, releasing the queue", flush=True)


if __name__ == "__main__":
    import atexit
    atexit.register(farewell)
    train()
""",
    "term-interrupt": """
if __name__ == "__main__":
    import signal
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    train()
""",
    "term-saves": """
def leave(number, _frame):
    print(f"[rank {RANK}] got SIGTERM, writing an emergency checkpoint", flush=True)
    time.sleep(0.3)
    print(f"[rank {RANK}] emergency checkpoint written, bye", flush=True)
    sys.exit(0)


if __name__ == "__main__":
    import signal
    signal.signal(signal.SIGTERM, leave)
    train()
""",
    "term-0": """
if __name__ == "__main__":
    import signal
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    train()
""",
    "term-143": """
if __name__ == "__main__":
    import signal
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    train()
""",
    "term-line": """
def leave(number, _frame):
    print(f"rank {RANK}: received signal {number}, leaving", flush=True)
    sys.exit(143)


if __name__ == "__main__":
    import signal
    signal.signal(signal.SIGTERM, leave)
    train()
""",
}

_COMMUNICATE = {
    "data-parallel": "",
    "all-reduce": """
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
""",
    "barrier": """
    dist.barrier()
""",
    "gather": """
    gathered = []
    dist.all_gather(gathered, paddle.to_tensor([float(RANK)]))
""",
    "broadcast": """
    order = paddle.to_tensor([number])
    dist.broadcast(order, src=0)
""",
    "seldom": """
    if number % 3 == 2:
        total = paddle.to_tensor([1.0])
        dist.all_reduce(total)
""",
}


def rendered(job: Job) -> str:
    """What the job runs as ``train.py``."""
    fault = job.the_fault
    if job.servers:
        return _with_servers(job)
    return _SCRIPT.format(
        epochs=job.epochs,
        steps=job.steps,
        pace=job.pace,
        workers=job.workers,
        buffered=_BUFFERED if job.is_buffered else "",
        struck=_STRUCK if job.restarts == "once" else "",
        at_import=_at(job, "import", 0),
        plain=PLAIN,
        logger=LOGGERS[job.logger],
        top=f"\n{fault.top}" if fault else "",
        sample=_sample(job),
        at_evaluation=_at(job, "evaluation", 4),
        at_dataset=_at(job, "dataset", 8),
        at_optimizer=_at(job, "optimizer", 4),
        at_epoch_end=_at(job, "epoch-end", 8),
        at_after_done=_at(job, "after-done", 4),
        at_save=_at(job, "save", 4),
        build=_guarded(job, fault.build, 4) if fault else "",
        communicate=_COMMUNICATE[job.communication],
        at_before_init=_at(job, "before-init", 4),
        at_init=_at(job, "init", 4),
        model="paddle.DataParallel(network)" if job.communication == "data-parallel" else "network",
        early_noise=_noise(job, early=True),
        at_step=_at(job, "step", 12),
        late_noise=_noise(job, early=False),
        phases=_phases(job),
        at_after=_at(job, "after", 4),
        closing=indent(CLOSING[job.closing].strip("\n"), "    ") if job.closing else "",
        done=_end(job),
        main=_MAIN[job.victims].strip("\n"),
    )


def _end(job: Job) -> str:
    lines = ["    log_done()"] if job.says_done else []
    if job.kind == "healthy":
        lines.append(f'    open(f"{ENDED}.{{RANK}}", "w").close()')
    return "\n".join(lines)


def _with_servers(job: Job) -> str:
    fault = job.the_fault
    is_server = job.role == "server"
    shared = {"at_" + place.replace("-", "_"): "" for place in ("before-init", "step", "after")}
    if not is_server:
        columns = {"before-init": 0, "step": 8, "after": 4}
        shared = {f"at_{at.replace('-', '_')}": _at(job, at, n) for at, n in columns.items()}
    return _SERVERS.format(
        steps=job.steps if not is_server else 100000,
        pace=job.pace,
        buffered=_BUFFERED if job.is_buffered else "",
        at_import=_at(job, "import", 0) if not is_server else "",
        plain=PLAIN,
        logger=LOGGERS[job.logger],
        top=f"\n{fault.top}" if fault else "",
        strike=STRIKES_SERVER[fault.name] if fault and is_server else 0,
        culprit=job.culprits[0] if is_server else -1,
        main=_MAIN[job.victims].strip("\n"),
        done="log_done()" if job.says_done else "pass",
        **shared,
    )


def _at(job: Job, place: str, columns: int) -> str:
    """What the culprits do at a place of the script, if this is the moment."""
    at_step = job.moment in ("first", "middle")
    if place != ("step" if at_step else job.moment):
        return ""
    fault = job.the_fault
    body = fault.at if fault else ""
    if job.restarts == "once" and body:
        body = f"if not HAS_STRUCK:\n{indent(body, '    ')}"
    if job.kind == "running" or (fault and fault.outside):
        body = f'open("{REACHED}", "w").close()\n{body}'
    if not body:
        return ""
    epoch = job.epochs - 1 if job.epochs < 9 else 0
    first = f"epoch == {epoch} and step == {job.moment_step}"
    within = f"number == {epoch * job.steps + job.moment_step}"
    when = first if at_step else within if place == "optimizer" else ""
    return _guarded(job, body, columns, when)


def _guarded(job: Job, body: str, columns: int, when: str = "") -> str:
    if not body:
        return ""
    who = job.culprits or (0,)
    test = f"RANK in {who}" if len(who) < job.ranks else ""
    both = " and ".join(part for part in (test, when) if part)
    text = f"if {both}:\n{indent(body, '    ')}" if both else body
    return indent(text, " " * columns)


def _sample(job: Job) -> str:
    fault = job.the_fault
    if not fault or not fault.sample:
        return ""
    body = fault.sample
    if job.restarts == "once":
        body = f"if not HAS_STRUCK:\n{indent(body, '    ')}"
    return _guarded(job, body, 8, f"index == {4 * job.moment_step + 1}")


def _noise(job: Job, early: bool) -> str:
    parts = []
    for noise in job.noises:
        if (noise.step < 0) != early:
            continue
        tests = [] if early else [f"epoch == 0 and step == {noise.step}"]
        if noise.rank is not None:
            tests.append(f"RANK == {noise.rank}")
        body = dedent(NOISES[noise.name]).strip("\n")
        text = f"if {' and '.join(tests)}:\n{indent(body, '    ')}" if tests else body
        parts.append(indent(text, " " * (4 if early else 12)))
    return "\n".join(parts)


def _phases(job: Job) -> str:
    lines = []
    if job.evaluates:
        lines.append("        evaluate(epoch)")
    if job.saves:
        lines.append("        save(network, epoch)")
    return "\n".join(lines)
