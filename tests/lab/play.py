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
from importlib.util import find_spec
from pathlib import Path

from ..scenarios import sandbox
from ..scenarios.sandbox import Node
from .draw import Job
from .faults import Outside
from .script import ENDED, REACHED, rendered

LIMIT = 60.0
GUARDED = 8.0
"""Seconds in which what a killed launcher leaves has to be gone: SIGTERM, a grace of 5, SIGKILL."""
AGAIN = 0.5
"""Seconds until somebody without patience presses Ctrl-C a second time."""
WAITS = 9.0
"""Seconds until somebody loses patience with a job that does not begin."""
PS_PYTHON = Path(__file__).parents[2] / ".venv-paddle26" / "bin" / "python"
"""Paddle 2.6.2, the last whose CPU wheel holds parameter servers; `make test` makes it."""
ETCD_STAND_IN = Path(sandbox.__file__).parent / "scripts" / "etcd3.py"
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
    """Run the job and leave its files in ``into``: ``log/`` and ``console.log`` of every node."""
    # Whoever starts this in the background is deaf to Ctrl-C, and so would the job be.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if lack := _lack(job):
        return Played(None, 0.0, 0, lack)
    top = Path(tempfile.mkdtemp(prefix="pdtriage-lab-")).resolve()
    try:
        with sandbox.nodes(job.nodes, top) as nodes, ExitStack() as stack:
            for before in job.earlier:
                with sandbox.no_leftovers():
                    _launch(_earlier(job, before), nodes, into=None)
            here = [_equipped(job, node, stack) for node in nodes]
            with sandbox.no_leftovers():
                return _launch(job, here, into)
    finally:
        shutil.rmtree(top, ignore_errors=True)


def played_of(folder: Path) -> Played:
    return Played(**json.loads((folder / "played.json").read_text()))


def write_played(played: Played, folder: Path) -> None:
    (folder / "played.json").write_text(json.dumps(asdict(played)) + "\n")


def _lack(job: Job) -> str:
    """What this machine does not have that the job needs; empty: nothing."""
    fault = job.the_fault
    apart = job.nodes > 1 or (fault and (fault.mounts or fault.helper or fault.memory_mb))
    if apart and not sandbox.can_isolate():
        return "needs root"
    if fault and fault.memory_mb and not Path("/sys/fs/cgroup/memory").is_dir():
        return "needs a memory cgroup (v1)"
    return "needs Paddle 2.6.2" if job.servers and not PS_PYTHON.exists() else ""


def _earlier(job: Job, before: str) -> Job:
    """A run of the same people in the same folder."""
    if before == "healthy":
        return replace(job, kind="healthy", fault=None, epochs=1, culprits=(), restarts="")
    plain = {"moment": "middle", "moment_step": 2, "culprits": (0,), "epochs": 1, "restarts": ""}
    return replace(job, kind="fault", fault=before, **plain)  # type: ignore[arg-type]


def _equipped(job: Job, node: Node, stack: ExitStack) -> Node:
    fault = job.the_fault
    if fault is None:
        return node
    if fault.memory_mb:
        group = stack.enter_context(sandbox.memory_limit(fault.memory_mb))
        node = replace(node, cgroup=group)
    return replace(node, mounts=dict(fault.mounts))


def _launch(job: Job, nodes: list[Node], into: Path | None) -> Played:
    """One launch on every node; its files are copied unless it is an earlier one."""
    fault = job.the_fault
    started, processes = time.monotonic(), []
    for node in nodes:
        for stale in node.home.glob(f"{ENDED}.*"):
            stale.unlink()
        (node.home / "train.py").write_text(rendered(job), encoding="utf-8")
        env = {**sandbox.clean_environment(node.home), MARK: job.name}
        if job.restarts and job.launcher == "new":
            shutil.copy(ETCD_STAND_IN, node.home)
        if job.nodes > 1:
            env["GLOO_SOCKET_IFNAME"] = sandbox.DEVICE
        if fault and fault.helper:
            (node.home / "helper.py").write_text(fault.helper)
            node.spawn(["python", "helper.py"], {**env, MARK: ""}, node.home / "helper.out")
            time.sleep(0.5)
        processes.append(node.spawn(_command(job, node), env, node.home / "console.log"))
    problem = _attend(job, nodes, processes, into)
    seconds = time.monotonic() - started
    time.sleep(0.3)
    left = _living(job.name)
    deadline = time.monotonic() + GUARDED
    while left and job.fault == "kill-launcher" and time.monotonic() < deadline:
        time.sleep(0.2)
        left = _living(job.name)
    code = processes[job.culprits[0] // job.per_node if job.culprits else 0].poll()
    if job.kind != "running" and into:
        _copy(job, nodes, into)
        problem = problem or _missing_words(job, into) or _missing_end(job, code)
        problem = problem or _stopped_early(job, nodes)
    return Played(code, round(seconds, 1), len(left), problem)


def _missing_words(job: Job, whole: Path) -> str:
    """A fault that never struck must not be counted; its words show that it did."""
    key = job.the_fault.key if job.the_fault else ""
    files = [file for file in whole.rglob("*") if file.is_file()]
    if key and not any(key.encode() in file.read_bytes() for file in files):
        return f"no file says {key!r}"
    return ""


def _missing_end(job: Job, exit_code: int | None) -> str:
    """Where the culprit merely leaves, the others may have needed nothing of it any more."""
    leaves = job.fault in (
        *("exit-0-early", "exit-0-at-once", "fewer-steps", "other-network"),
        "term-all-ranks",
    )
    return "nobody missed the culprit" if leaves and exit_code == 0 else ""


def _stopped_early(job: Job, nodes: list[Node]) -> str:
    """A launcher may stop a job before its fault strikes, or without one: the legacy one does when
    it cannot decode what a rank has written, and then names nobody."""
    if any(b"with rank=[] was" in (node.home / "console.log").read_bytes() for node in nodes):
        return "the launcher gave up by itself"
    if job.kind != "healthy" or job.servers:
        return ""
    ended = sum(len(list(node.home.glob(f"{ENDED}.*"))) for node in nodes)
    return "" if ended == job.ranks else f"{ended} of {job.ranks} came to their end"


def _command(job: Job, node: Node) -> list[str]:
    fault = job.the_fault
    more = [*fault.arguments] if fault else []
    script = fault.script if fault else "train.py"
    if "--nproc_per_node" not in more:
        more = ["--nproc_per_node", str(job.per_node), *more]
    if job.nodes > 1:
        meet = ["--nnodes", "2", "--master", f"{sandbox.HOSTS[0]}:49178"]
        more += [*meet, "--rank", str(node.index), "--host", sandbox.HOSTS[node.index]]
        more += ["--job_secret", "of-this-job"] if job.has_secret else []
    if job.restarts and job.launcher == "new":
        more += ["--master", "etcd://127.0.0.1:2379", "--job_id", "lab", "--elastic_level", "1"]
    if job.restarts and job.is_ours:
        more += ["--restart_on", "always", "--max_restart", "1", "--restart_delay", "0.5"]
    own = ["--launcher", "paddle"] if job.launcher == "run-paddle" else []
    python = "python"
    if job.servers:
        python = str(PS_PYTHON)
        more = ["--server_num", str(job.servers), "--worker_num", str(job.ranks)]
        own = ["--python", python]
    module = {"new": "paddle.distributed.launch", "legacy": "paddle.distributed.fleet.launch"}
    if job.launcher in module:
        return [python, "-m", module[job.launcher], *more, script]
    return ["pdtriage", "run", *own, *more, script]


def _attend(
    job: Job, nodes: list[Node], processes: list[subprocess.Popen[bytes]], into: Path | None
) -> str:
    """Wait for the end, doing at the moment what was drawn; returns what went wrong with that."""
    fault = job.the_fault
    outside = fault.outside if fault else None
    waits = outside is not None or job.kind == "running"
    limit = (fault.limit if fault else LIMIT) * (2 if job.restarts else 1)
    deadline = time.monotonic() + limit
    while any(process.poll() is None for process in processes):
        if time.monotonic() > deadline:
            return f"not over after {limit:.0f} s"
        waited = job.moment == "launch" and time.monotonic() > deadline - limit + WAITS
        if waits and (waited or (nodes[0].home / REACHED).exists()):
            waits = False
            time.sleep(job.patience)
            if job.kind == "running":
                assert into is not None
                _copy(job, nodes, into)
                return ""
            assert outside is not None
            if problem := _send(outside, job, nodes[0], processes[0]):
                return problem
            if outside.signal == signal.SIGKILL and outside.target == "launcher":
                processes[0].wait()
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
    if outside.target == "ranks":
        logs = [node.home / "log" / f"workerlog.{rank}" for rank in range(job.ranks)]
        writers = [sandbox.writer_of(log, process.pid) for log in logs]
        targets = [pid for pid in writers if pid is not None]
    if outside.signal == signal.SIGKILL and outside.target == "group":
        # A machine that goes down takes all at once: nobody lives on to say a last word.
        for pid in targets:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
    for number in (outside.signal, outside.again):
        if number is None:
            break
        for pid in targets:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        time.sleep(AGAIN if outside.again else 0)
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


def _copy(job: Job, nodes: list[Node], into: Path) -> None:
    """The files as they are now, with their times; this machine's places have other names."""
    for node in nodes:
        for source in (node.home / "console.log", *sorted(node.home.glob("log/**/*"))):
            if not source.is_file():
                continue
            target = into / job.home_of(node.index) / source.relative_to(node.home)
            target.parent.mkdir(parents=True, exist_ok=True)
            times = source.stat()
            target.write_bytes(neutral(source.read_bytes(), node.home))
            os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))


def neutral(content: bytes, home: Path) -> bytes:
    """Other names for the places of this machine, of the same length: a record knows offsets."""
    places = {str(home): "/srv/train", str(PS_PYTHON.parents[1]): "/opt/env26"}
    places |= {sys.prefix: "/opt/env", sys.base_prefix: "/usr/local"}
    if (paddle := find_spec("paddle")) and paddle.origin:  # it may lie in another environment
        places[paddle.origin.partition("/lib/python")[0]] = "/opt/env"
    for place, instead in places.items():
        same = instead + "-" * (len(place) - len(instead)) if len(place) > len(instead) else place
        content = content.replace(place.encode(), same.encode())
    return content
