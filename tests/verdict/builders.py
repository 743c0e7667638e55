"""Words that ranks, launchers, kernels and clusters say, and jobs of one node made of them."""

from __future__ import annotations

from pdtriage.model import RunFacts
from pdtriage.record.schema import DeathRecord, ProcessRecord, RunRecord
from pdtriage.verdict import Judgement, judge

from ..runs.builders import environment, runs_of
from ..scan.builders import engine

HOST = "10.0.0.1"
STEPS = "epoch 0 step 0 loss 1.5\nepoch 0 step 1 loss 1.4\n"
ERROR = 'Traceback (most recent call last):\n  File "t.py", line 1, in f\n    g()\nKeyError: 1\n'
DISK = ERROR.replace("KeyError: 1", "OSError: [Errno 28] No space left on device")
XID = "[71.1] NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', GPU has fallen off the bus.\n"
BUFFER = "/paddle/gloo/unbound_buffer.cc"
STACK = 'Thread 10640 (active): "MainThread"\n    all_gather (all_gather.py:71)\n'
TERMINATED = "FatalError: `Termination signal` is detected by the operating system.\n"


def lost(own: int, peer: int) -> str:
    return (
        f"  what():  [/paddle/gloo/pair.cc:584] TIMEOUT self_rank = {own} pair_rank = {peer} "
        f"peer_str = [{HOST}]:40001\n"
    )


def stopped(pid: int, sender: int) -> str:
    return (
        f"  [SignalInfo: *** SIGTERM (@0x3fe) received by PID {pid} (TID 0x7f6c) "
        f"from PID {sender} ***]\n"
    )


def summary(pid: int, sender: int) -> str:
    """What Paddle's signal handler prints."""
    dashes = 22 * "-"
    return f"\n{dashes}\nError Message Summary:\n{dashes}\n{TERMINATED}{stopped(pid, sender)}\n"


def waited(peer: str) -> str:
    return f"  what():  [{BUFFER}:80] TIMEOUT self_rank = none pair_rank = {peer} peer_str = none\n"


def raised_at(line: int, words: str) -> str:
    return (
        f'Traceback (most recent call last):\n  File "t.py", line {line}, in f\n    g()\n'
        f"RuntimeError: {words.partition('what():')[2].strip()}\n"
    )


def glog(pid: int) -> str:
    return f"I0115 10:00:00.000000 {pid} tcp_utils.cc:132] Successfully connected to {HOST}:1\n"


def logs(*texts: str) -> dict[str, str]:
    """The files of one node whose rank N wrote `texts[N]`, with their environments."""
    endpoints = ",".join(f"{HOST}:{rank + 1}" for rank in range(len(texts)))
    files = {f"log/workerlog.{rank}": text for rank, text in enumerate(texts)}
    for rank in range(len(texts)):
        files[f"log/envlog.{rank}"] = environment(rank, len(texts), "pod", endpoints)
    return files


def last_run(files: dict[str, str], *records: RunRecord, folder: str = "log") -> RunFacts:
    return runs_of(files, [(folder, record) for record in records])[-1]


def judged_files(files: dict[str, str]) -> Judgement:
    return judge(last_run(files), engine().knowledge)


def judged(*texts: str, console: str = "", records: list[RunRecord] | None = None) -> Judgement:
    """The newest run of one node whose rank N wrote `texts[N]`."""
    files = {f"log/workerlog.{rank}": text for rank, text in enumerate(texts)}
    files = files if records else logs(*texts)
    if console:
        files["console.log"] = console
    return judge(last_run(files, *records or ()), engine().knowledge)


def process(rank: int) -> ProcessRecord:
    return ProcessRecord(
        role="worker", rank=rank, local_rank=rank, device=None, endpoint=f"{HOST}:{rank + 1}",
        pid=70 + rank, log=f"workerlog.{rank}", offset=0, started=1.0, monotonic=1.0,
    )  # fmt: skip


def death(order: int, rank: int, code: int | None, signal: int | None) -> DeathRecord:
    return DeathRecord(
        order=order, role="worker", rank=rank, local_rank=rank, pid=70 + rank, time=2.0,
        monotonic=2.0, code=code, signal=signal, core=False, stopped=False,
    )  # fmt: skip


def recorded(*deaths: DeathRecord) -> RunRecord:
    """Our own record of two ranks that failed."""
    return RunRecord(
        "run-1.jsonl", 1, "L", pid=60, world_size=2, processes=(process(0), process(1)),
        deaths=deaths, ended=9.0, reason="failed",
    )  # fmt: skip
