"""`pdtriage analyze` may keep the garbage collector at rest: it leaves no circles behind."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pdtriage import analyze
from pdtriage.analysis.pipeline import NothingToAnalyse
from pdtriage.support import exit_codes
from pdtriage.support.errors import DEBUG_VARIABLE
from pdtriage.support.gc_pause import gc_paused

LOG = (
    """\
W1116 10:00:00.000000 {pid} init.cc:1] step 1
"""
    + "global step {pid}, epoch: 1, loss: 0.5\n" * 50
    + """\
Traceback (most recent call last):
  File "train.py", line 12, in <module>
    main()
MemoryError: cannot allocate
"""
)


def test_circles_do_not_grow_with_the_job(tmp_path: Path) -> None:
    few, many = folder_of(tmp_path / "few", 2), folder_of(tmp_path / "many", 60)
    left_by(few)  # what is made once, and kept

    assert left_by(many) <= left_by(few) + 10


def test_the_command_rests_until_it_exits(tmp_path: Path) -> None:
    program = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print(gc.isenabled(), gc.get_freeze_count() > 0))\n"
        "from pdtriage.__main__ import main\n"
        "main(['analyze', sys.argv[1], '-q', '--exit-zero', '-o', sys.argv[1] + '/report'])"
    )
    logs = folder_of(tmp_path, 1)

    ended = subprocess.run(
        [sys.executable, "-c", program, str(logs)], capture_output=True, text=True
    )

    assert (ended.stdout, ended.stderr) == ("False True\n", "")


@pytest.mark.parametrize(
    ("environment", "said"), [({}, "done\nleft\n"), ({DEBUG_VARIABLE: "1"}, "done\n")]
)
def test_the_program_leaves_with_all_said_and_done(
    tmp_path: Path, environment: dict[str, str], said: str
) -> None:
    program = (
        "import atexit, os\n"
        "leave = os._exit\n"
        "os._exit = lambda code: (os.write(1, b'left\\n'), leave(code))\n"
        "atexit.register(print, 'done')\n"
        "from pdtriage.__main__ import main\n"
        "main()"
    )
    command = [sys.executable, "-c", program, "analyze", str(folder_of(tmp_path, 2)), "-q"]

    ended = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}
    )

    report, _, rest = ended.stdout.partition("\n")
    assert "memory" in report
    assert (rest, ended.stderr, ended.returncode) == (said, "", exit_codes.FAILED)


@pytest.mark.parametrize("enabled", [True, False])
def test_a_notebook_finds_its_collector_as_it_was(tmp_path: Path, enabled: bool) -> None:
    was_on = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        analyze(folder_of(tmp_path, 2))
        after_success = gc.isenabled()
        with pytest.raises(NothingToAnalyse):
            analyze(tmp_path / "nowhere")
        assert (after_success, gc.isenabled()) == (enabled, enabled)
    finally:
        (gc.enable if was_on else gc.disable)()


def folder_of(folder: Path, ranks: int) -> Path:
    folder.mkdir(exist_ok=True)
    for rank in range(ranks):
        (folder / f"workerlog.{rank}").write_text(LOG.format(pid=1000 + rank))
    return folder


def left_by(folder: Path) -> int:
    """How many objects only the collector can free after an analysis."""
    gc.collect()
    with gc_paused():
        analyze(folder)
        return gc.collect()
