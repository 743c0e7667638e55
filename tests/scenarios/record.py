"""Runs a scenario and stores the folder it leaves, with its truth beside it."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from . import sandbox
from .sandbox import Node
from .scenario import Launch, Scenario, Stop

SCRIPTS = Path(__file__).parent / "scripts"
NEUTRAL = (
    (sys.prefix, "/opt/venv"),
    (sys.base_prefix, "/usr/local"),
)


class RecordingError(Exception):
    """The job did not come to its end in the time given to it."""


def record(scenario: Scenario, into: Path) -> Path:
    """Run a scenario and leave ``into/<name>`` with logs, ``label.json`` and ``cmd.txt``."""
    if scenario.root and not sandbox.can_isolate():
        raise PermissionError(f"needs root: {scenario.root}")
    top = Path(tempfile.mkdtemp(prefix="pdtriage-scenario-")).resolve()
    try:
        commands = _run(scenario, top)
        return _store(scenario, top, into, commands)
    finally:
        shutil.rmtree(top, ignore_errors=True)


def relabel(scenario: Scenario, folder: Path) -> None:
    """Write the truth beside a stored folder, as the catalogue has it now."""
    label = json.dumps(scenario.truth.label(scenario.story), indent=1, ensure_ascii=False)
    (folder / "label.json").write_text(label + "\n")


def _run(scenario: Scenario, top: Path) -> list[str]:
    commands: list[str] = []
    kernel_before = _kernel_log() if scenario.kernel_log else []
    with sandbox.nodes(scenario.nodes, top) as nodes:
        for launch in scenario.launches:
            with sandbox.no_leftovers(), ExitStack() as stack:
                here = [replace(node, mounts=dict(launch.tmpfs)) for node in nodes]
                if launch.memory_mb:
                    group = stack.enter_context(sandbox.memory_limit(launch.memory_mb))
                    here = [replace(node, cgroup=group) for node in here]
                commands += _launch(scenario, launch, here)
    if scenario.kernel_log:
        fresh = _kernel_log()[len(kernel_before) :]
        (top / "node0" / "dmesg.log").write_text("".join(f"{line}\n" for line in fresh))
    return commands


def _launch(scenario: Scenario, launch: Launch, nodes: list[Node]) -> list[str]:
    script = launch.script or f"{scenario.name.replace('-', '_')}.py"
    started: list[subprocess.Popen[bytes]] = []
    shown: list[str] = []
    if launch.rotate:
        _rotate(launch.rotate, nodes)
    before = _written(nodes)
    for node, node_flags in zip(nodes, launch.node_flags, strict=False):
        for module in ("recipe.py", *launch.modules):
            shutil.copy(SCRIPTS / module, node.home)
        if launch.entry is None or launch.script:
            shutil.copy(SCRIPTS / script, node.home / "train.py")
        env = {**sandbox.clean_environment(node.home), **launch.env, **_clock(launch, node)}
        if launch.prepare:
            _prepare(launch, node, env)
        command = ["python", *_arguments(launch, node_flags)]
        started.append(node.spawn(command, env, node.home / "console.log"))
        variables = " ".join(f"{key}={shlex.quote(value)}" for key, value in launch.env.items())
        shown.append(
            f"node {node.index}, train.py = scripts/{script}: {variables} {shlex.join(command)}"
        )
    _wait(scenario, launch, nodes, started, before)
    _date(launch, nodes, before)
    codes = [process.returncode for process in started]
    return [f"{line}\n    exit status {code}" for line, code in zip(shown, codes, strict=True)]


def _clock(launch: Launch, node: Node) -> dict[str, str]:
    """Another time of day for all processes of the launch."""
    if not launch.hours:
        return {}
    library = node.home / "shifted_clock.so"
    if not library.exists():
        source = SCRIPTS / "shifted_clock.c"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    return {"LD_PRELOAD": str(library), "CLOCK_SHIFT": f"{launch.hours * 3600:.0f}"}


def _rotate(ending: str, nodes: list[Node]) -> None:
    for log in [log for node in nodes for log in node.home.glob("log/workerlog.?")]:
        old = log.rename(f"{log}{ending}")
        if ending.endswith(".gz"):
            was = old.stat()
            old.write_bytes(gzip.compress(old.read_bytes()))
            os.utime(old, ns=(was.st_atime_ns, was.st_mtime_ns))


def _written(nodes: list[Node]) -> dict[Path, tuple[int, int]]:
    """How long every file of the job is, and when it was written."""
    files = [f for node in nodes for f in (node.home / "console.log", *node.home.glob("log/**/*"))]
    found = {file: file.stat() for file in files if file.is_file()}
    return {file: (status.st_size, status.st_mtime_ns) for file, status in found.items()}


def _date(launch: Launch, nodes: list[Node], before: dict[Path, tuple[int, int]]) -> None:
    """Files that the launch wrote have the time that its clock showed."""
    for file, written in _written(nodes).items():
        if launch.hours and before.get(file) != written:
            shown = written[1] + int(launch.hours * 3600 * 1e9)
            os.utime(file, ns=(shown, shown))


def _arguments(launch: Launch, node_flags: tuple[str, ...]) -> list[str]:
    if launch.entry is not None:
        return list(launch.entry)
    module = {
        "new": ("paddle.distributed.launch",),
        "legacy": ("paddle.distributed.fleet.launch",),
        "pdtriage": ("pdtriage", "run"),
    }
    count = ["--nproc_per_node", str(launch.ranks)] if launch.ranks else []
    flags = [*count, *launch.flags, *node_flags]
    return ["-m", *module[launch.launcher], *flags, "train.py", *launch.args]


def _prepare(launch: Launch, node: Node, env: dict[str, str]) -> None:
    assert launch.prepare is not None
    shutil.copy(SCRIPTS / launch.prepare, node.home / "prepare.py")
    process = node.spawn(["python", "prepare.py"], env, node.home / "prepare.out")
    if launch.keep_running:
        time.sleep(2)
    elif process.wait(timeout=60) != 0:
        raise RecordingError((node.home / "prepare.out").read_text())


def _wait(
    scenario: Scenario,
    launch: Launch,
    nodes: list[Node],
    started: list[subprocess.Popen[bytes]],
    before: dict[Path, tuple[int, int]],
) -> None:
    deadline = time.monotonic() + scenario.limit
    stop = launch.stop
    while any(process.poll() is None for process in started):
        if time.monotonic() > deadline:
            raise RecordingError(f"not over after {scenario.limit:.0f} s")
        if stop and _is_due(stop, nodes, before):
            time.sleep(stop.after)
            _send(stop, nodes, started)
            stop = None
        time.sleep(0.1)
    if stop:
        raise RecordingError(f"ended before {stop.when!r} was seen")


def _is_due(stop: Stop, nodes: list[Node], before: dict[Path, tuple[int, int]]) -> bool:
    """Whether something that this launch has written holds the text."""
    wanted = stop.when.encode()
    return any(
        wanted in file.read_bytes()[before.get(file, (0, 0))[0] :] for file in _written(nodes)
    )


def _send(stop: Stop, nodes: list[Node], started: list[subprocess.Popen[bytes]]) -> None:
    if stop.target == "group":
        for process in started:
            os.killpg(process.pid, stop.signal)
        return
    if stop.target == "launcher":
        for process in started:
            process.send_signal(stop.signal)
        return
    pid = sandbox.writer_of(nodes[0].home / stop.target, started[0].pid)
    if pid is None:
        raise RecordingError(f"nobody writes {stop.target}")
    subprocess.run(["kill", f"-{stop.signal.value}", str(pid)], check=True)


def _store(scenario: Scenario, top: Path, into: Path, commands: list[str]) -> Path:
    target = into / scenario.name
    shutil.rmtree(target, ignore_errors=True)
    times: dict[str, float] = {}
    for node in range(scenario.nodes):
        home = top / f"node{node}"
        place = target / f"node{node}" if scenario.nodes > 1 else target
        for source in (home / "console.log", home / "dmesg.log", *sorted(home.glob("log/**/*"))):
            if not source.is_file():
                continue
            stored = place / source.relative_to(home)
            stored.parent.mkdir(parents=True, exist_ok=True)
            stored.write_bytes(neutral(source.read_bytes(), home, "pdtriage" in scenario.launchers))
            times[str(stored.relative_to(target))] = round(source.stat().st_mtime, 3)
    relabel(scenario, target)
    if len(scenario.launches) > 1:
        (target / "mtimes.json").write_text(json.dumps(times, indent=1) + "\n")
    _insist_on_key_line(scenario, target)
    made = [f"made by: python -m tests.scenarios record {scenario.name}", "", *commands]
    (target / "cmd.txt").write_text("\n".join(made) + "\n")
    return target


def _insist_on_key_line(scenario: Scenario, target: Path) -> None:
    """A scenario in which nothing happened must not become a fixture."""
    key = (scenario.truth.key_line or "").encode()
    files = [file for file in target.rglob("*") if file.is_file() and file.name != "label.json"]
    if not any(key in file.read_bytes() for file in files):
        shutil.rmtree(target)
        raise RecordingError(f"no file says {scenario.truth.key_line!r}")


def neutral(content: bytes, home: Path, is_measured: bool = False) -> bytes:
    """Replace where this machine keeps things by where a machine might; by names of the same
    length if the content `is_measured`: a run record tells how long logs were."""
    for place, instead in ((str(home), "/srv/train"), *NEUTRAL):
        named = instead.ljust(len(place), "_")[: len(place)] if is_measured else instead
        content = content.replace(place.encode(), named.encode())
    return content


def _kernel_log() -> list[str]:
    return subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout.splitlines()
