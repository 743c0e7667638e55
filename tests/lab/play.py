"""Plays a drawn job: the real launcher, real processes, and what is done to them from outside."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..scenarios import sandbox
from ..scenarios.sandbox import Node
from .draw import Job
from .faults import Outside
from .script import REACHED, rendered

LIMIT = 60.0
MARK = "LAB_JOB"
"""A variable by which processes of a job are known, whoever their parent is by now."""


@dataclass(frozen=True)
class Played:
    """What a job left behind, apart from its files."""

    exit_code: int | None
    """None: it was over only because the time was."""
    seconds: float
    leftovers: int
    """Processes that outlived their launcher."""
    problem: str = ""
    """Why this is no case: what was drawn did not come about."""


def play(job: Job, into: Path) -> Played:
    """Run the job and leave its files in ``into``: ``log/`` and ``console.log``."""
    # Whoever starts this in the background is deaf to Ctrl-C, and so would the job be.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    top = Path(tempfile.mkdtemp(prefix="pdtriage-lab-")).resolve()
    try:
        with sandbox.nodes(1, top) as nodes, ExitStack() as stack:
            node = _prepared(job, nodes[0], stack)
            with sandbox.no_leftovers():
                return _launch(job, node, into)
    finally:
        shutil.rmtree(top, ignore_errors=True)


def played_of(folder: Path) -> Played:
    return Played(**json.loads((folder / "played.json").read_text()))


def write_played(played: Played, folder: Path) -> None:
    (folder / "played.json").write_text(json.dumps(asdict(played)) + "\n")


def _prepared(job: Job, node: Node, stack: ExitStack) -> Node:
    fault = job.the_fault
    (node.home / "train.py").write_text(rendered(job), encoding="utf-8")
    if fault is None:
        return node
    if fault.memory_mb:
        group = stack.enter_context(sandbox.memory_limit(fault.memory_mb))
        node = replace(node, cgroup=group)
    return replace(node, mounts=dict(fault.mounts))


def _launch(job: Job, node: Node, into: Path) -> Played:
    fault = job.the_fault
    env = {**sandbox.clean_environment(node.home), MARK: job.name}
    if fault:
        env |= fault.env
    if fault and fault.helper:
        (node.home / "helper.py").write_text(fault.helper)
        node.spawn(["python", "helper.py"], {**env, MARK: ""}, node.home / "helper.out")
        time.sleep(0.5)
    started = time.monotonic()
    process = node.spawn(_command(job), env, node.home / "console.log")
    problem = _attend(job, node, process, into)
    seconds = time.monotonic() - started
    time.sleep(0.3)
    left = _living(job.name)
    if job.kind != "running":
        _copy(node.home, into)
        problem = problem or _missing_words(job, into) or _missing_end(job, process.poll())
    return Played(process.poll(), round(seconds, 1), len(left), problem)


def _missing_words(job: Job, whole: Path) -> str:
    """A fault that never struck must not be counted; its words show that it did."""
    key = job.the_fault.key if job.the_fault else ""
    files = [file for file in whole.rglob("*") if file.is_file()]
    if key and not any(key.encode() in file.read_bytes() for file in files):
        return f"no file says {key!r}"
    return ""


def _missing_end(job: Job, exit_code: int | None) -> str:
    """Where the culprit merely leaves, the others may have needed nothing of it any more."""
    leaves = job.fault in ("exit-0-early", "fewer-steps", "other-network")
    return "nobody missed the culprit" if leaves and exit_code == 0 else ""


def _command(job: Job) -> list[str]:
    fault = job.the_fault
    more = fault.arguments if fault else ()
    script = fault.script if fault else "train.py"
    count = [] if "--nproc_per_node" in more else ["--nproc_per_node", str(job.ranks)]
    words = [*count, *more, script]
    module = {"new": "paddle.distributed.launch", "legacy": "paddle.distributed.fleet.launch"}
    if job.launcher in module:
        return ["python", "-m", module[job.launcher], *words]
    own = ["--launcher", "paddle"] if job.launcher == "run-paddle" else []
    return ["pdtriage", "run", *own, *words]


def _attend(job: Job, node: Node, process: subprocess.Popen[bytes], into: Path) -> str:
    """Wait for the end, doing at the moment what was drawn; returns what went wrong with that."""
    fault = job.the_fault
    outside = fault.outside if fault else None
    waits = outside is not None or job.kind == "running"
    deadline = time.monotonic() + (fault.limit if fault else LIMIT)
    while process.poll() is None:
        if time.monotonic() > deadline:
            return f"not over after {fault.limit if fault else LIMIT:.0f} s"
        if waits and (node.home / REACHED).exists():
            waits = False
            time.sleep(job.patience)
            if job.kind == "running":
                _copy(node.home, into)
                return ""
            assert outside is not None
            if problem := _send(outside, job, node, process):
                return problem
            if outside.signal == signal.SIGKILL and outside.target == "launcher":
                process.wait()
                time.sleep(3)
                return ""
        time.sleep(0.05)
    return "ended before the moment" if waits else ""


def _send(outside: Outside, job: Job, node: Node, process: subprocess.Popen[bytes]) -> str:
    below = sandbox.descendants(process.pid)
    if outside.target == "rank":
        log = node.home / "log" / f"workerlog.{job.culprits[0]}"
        pid = sandbox.writer_of(log, process.pid)
        if pid is None:
            return f"nobody writes {log.name}"
        os.kill(pid, outside.signal)
        return ""
    targets = [process.pid] if outside.target == "launcher" else [process.pid, *below]
    if outside.signal == signal.SIGKILL and outside.target == "group":
        # A machine that goes down takes all at once: nobody lives on to say a last word.
        for pid in targets:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
    for pid in targets:
        with suppress(ProcessLookupError):
            os.kill(pid, outside.signal)
    return ""


def _living(mark: str) -> list[int]:
    wanted = f"{MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0") and not _is_zombie(folder):
                found.append(int(folder.name))
    return found


def _is_zombie(process: Path) -> bool:
    return (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z"


def _copy(home: Path, into: Path) -> None:
    """The files as they are now, with their times; this machine's places have other names."""
    for source in (home / "console.log", *sorted(home.glob("log/**/*"))):
        if not source.is_file():
            continue
        target = into / source.relative_to(home)
        target.parent.mkdir(parents=True, exist_ok=True)
        times = source.stat()
        target.write_bytes(neutral(source.read_bytes(), home))
        os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))


def neutral(content: bytes, home: Path) -> bytes:
    """Other names for the places of this machine, of the same length: a record knows offsets."""
    places = ((str(home), "/srv/train"), (sys.prefix, "/opt/env"), (sys.base_prefix, "/usr/local"))
    for place, instead in places:
        same = instead + "-" * (len(place) - len(instead)) if len(place) > len(instead) else place
        content = content.replace(place.encode(), same.encode())
    return content
