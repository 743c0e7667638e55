"""SIGKILL without a word: by the kernel for lack of memory, in a real cgroup, or by somebody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack

import pytest

from pdtriage.analysis import pipeline

from ..running import clean_environment, wait_until
from ..scenarios.sandbox import memory_limit
from .conftest import Command, Desk

pytestmark = pytest.mark.root
LIMIT = 400
GREEDY = """
print("epoch: 0, step: 1, loss: 0.5", flush=True)
open(f"ready{rank}", "w").write(str(os.getpid()))
kept = []
while rank == 1 and os.path.exists("greedy"):
    kept.append(bytearray(os.urandom(1 << 20)) * 16)
time.sleep(600)
"""


GREEDY_CHILD = """
print("epoch: 0, step: 1, loss: 0.5", flush=True)
if rank == 1:
    child = os.fork()
    kept = []
    while child == 0:
        kept.append(bytearray(os.urandom(1 << 20)) * 16)
    os.waitpid(child, 0)
    sys.exit(3)
time.sleep(600)
"""


def in_a_group(group: object, desk: Desk) -> Command:
    join = f'echo $$ > {group}/cgroup.procs && exec "$@"'
    process = subprocess.Popen(
        [
            *("/bin/sh", "-c", join, "sh", sys.executable, "-m", "pdtriage"),
            *("run", "--quiet", "--nproc_per_node=2", "train.py"),
        ],
        cwd=desk.folder,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    run = Command(process)
    desk.started.append(run)
    return run


def test_a_kill_of_what_a_rank_had_started_is_noted(desk: Desk) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    desk.script(GREEDY_CHILD)
    with ExitStack() as undo:
        try:
            group = undo.enter_context(memory_limit(LIMIT))
        except OSError as error:
            pytest.skip(f"no memory cgroup can be made here: {error}")
        run = in_a_group(group, desk).finish(120)
    assert run.code == 3
    report = pipeline.analyze(desk.folder / "log")
    (cause,) = report.root_causes
    assert (cause.rank, cause.category) == (1, "unknown")
    assert any("lack of memory (400 MB)" in note.en for note in report.notes)


@pytest.mark.parametrize("greedy", [True, False], ids=["kernel", "kill -9"])
def test_a_kill_of_the_kernel_is_told_from_one_of_somebody(desk: Desk, greedy: bool) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    desk.script(GREEDY)
    if greedy:
        (desk.folder / "greedy").touch()
    with ExitStack() as undo:
        try:
            group = undo.enter_context(memory_limit(LIMIT))
        except OSError as error:
            pytest.skip(f"no memory cgroup can be made here: {error}")
        run = in_a_group(group, desk)
        ready = [desk.folder / f"ready{rank}" for rank in (0, 1)]
        assert wait_until(lambda: all(path.exists() and path.read_text() for path in ready), 120)
        if not greedy:
            os.kill(int(ready[1].read_text()), signal.SIGKILL)
        run.finish(120)
    assert run.code == 137
    (cause,) = pipeline.analyze(desk.folder / "log").root_causes
    assert cause.rank == 1
    if greedy:
        assert cause.category == "memory.host"
        assert "of the limit of 400 MB" in cause.title.en
    else:
        assert cause.category == "external.kill"
        assert any("nobody saw who" in why.en for why in cause.why)
