"""What is left of a process that a signal ended: named in the report."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from pdtriage.launch.supervise.last_traces import MemoryKills, core_files, traces_of
from pdtriage.record.schema import DeathRecord

from ..running import clean_environment


def death(**more: object) -> DeathRecord:
    known = DeathRecord(0, "worker", 2, 2, 4711, 1000.0, 0.0, None, 11, True, False)
    return known._replace(**more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "uses_pid", "wanted"),
    [
        ("core", False, "/job/core"),
        ("core", True, "/job/core.4711"),
        ("core.%p", True, "/job/core.4711"),
        ("/var/cores/%e-%t.%p", False, "/var/cores/*-*.4711"),
        ("100%%", False, "/job/100%"),
    ],
)
def test_where_the_kernel_puts_a_core(pattern: str, uses_pid: bool, wanted: str) -> None:
    assert core_files(pattern, uses_pid, 4711, "/job") == wanted


def test_who_was_stopped_or_ended_by_itself_leaves_nothing() -> None:
    assert traces_of(death(stopped=True), "/") == []
    assert traces_of(death(signal=None, code=1), "/") == []


def test_a_kill_for_memory_is_of_the_rank_that_ended_so_or_else_of_a_process_it_had_started() -> (
    None
):
    files = {
        "/proc/self/cgroup": "0::/job",
        "/sys/fs/cgroup/job/memory.max": f"{400 << 20}",
        "/sys/fs/cgroup/job/memory.current": "100",
        "/sys/fs/cgroup/job/memory.peak": f"{60 << 20}",
        "/sys/fs/cgroup/job/memory.events": "oom_kill 3",
    }
    kills = MemoryKills(files.get)
    assert kills.other_kills() is None
    assert kills.explain_kill() == (False, 400 << 10, 60 << 10, 60 << 10)
    files["/sys/fs/cgroup/job/memory.events"] = "oom_kill 5"
    files["/sys/fs/cgroup/job/memory.peak"] = f"{400 << 20}"
    assert kills.explain_kill() == (True, 400 << 10, 400 << 10, 60 << 10)
    told = kills.other_kills()
    assert told is not None
    assert "killed 1 other process(es) of this cgroup for lack of memory (400 MB)" in told.en
    assert kills.other_kills() is None
    assert not kills.explain_kill().for_memory


def test_an_old_core_is_none_of_this_death(tmp_path: Path) -> None:
    name = os.path.basename(core_files("core", False, 4711, str(tmp_path)))
    (tmp_path / name).touch()
    os.utime(tmp_path / name, (10.0, 10.0))
    assert not any("core file" in text.en for text in traces_of(death(), str(tmp_path)))


def test_the_core_file_of_a_crash_is_in_the_report(tmp_path: Path) -> None:
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern.startswith(("|", "/")):
        pytest.skip("cores do not go to the folder of the job here")
    (tmp_path / "train.py").write_text(
        "import os, time\nif os.environ['PADDLE_TRAINER_ID'] == '1': os.abort()\ntime.sleep(60)\n"
    )

    def allow_cores() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (1 << 30, 1 << 30))

    done = subprocess.run(
        [sys.executable, "-m", "pdtriage", "run", "--nproc_per_node=2", "train.py"],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        preexec_fn=allow_cores,
        check=False,
        timeout=120,
    )
    if not any(path.name.startswith("core") for path in tmp_path.iterdir()):
        pytest.skip("the kernel wrote no core here")
    assert "rank 1 left a core file" in done.stderr.decode()
