"""Given a kernel's log beside the folder of several runs, then each line counts for its own run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import pdtriage

FINISHED = Path(__file__).parents[1] / "fixtures" / "healthy" / "detection"
KILLED = """\
[ 1479.071121] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
[ 1479.071674] oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/job,task=python,pid={pid},uid=0
[ 1479.071779] Memory cgroup out of memory: Killed process {pid} (python) total-vm:2157800kB
"""
FALLEN_OFF = (
    "[Mon Mar {day:2} 07:15:00 2026] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
)


def lived(day: int, pid: int, steps: int = 8, total: int = 8) -> str:
    stamp = f"03{day:02} 07:10:00.000001"
    lines = [f"W{stamp} {pid} gpu_resources.cc:119] Please NOTE: device: 0, GPU Compute"]
    lines += [
        f"[2026-03-{day:02} 07:1{step % 10}:00] step {step}/{total} loss 0.5"
        for step in range(1, steps + 1)
    ]
    return "".join(f"{line}\n" for line in lines)


def kept(folder: Path, log: str, kernel: str) -> Path:
    (folder / "log").mkdir()
    (folder / "log" / "workerlog.0").write_text(log)
    (folder / "dmesg.log").write_text(kernel)
    return folder


def test_a_process_of_an_earlier_run_that_was_killed_is_no_cause_of_the_last(
    tmp_path: Path,
) -> None:
    log = lived(2, pid=4001, steps=4) + lived(3, pid=5001)
    folder = kept(tmp_path, log, KILLED.format(pid=4001))
    assert pdtriage.analyze(folder).root_causes == ()
    earlier = pdtriage.analyze(folder, run=1)
    assert (earlier.verdict, earlier.root_causes[0].category) == ("failed", "memory.host")


def test_a_process_of_the_last_run_that_was_killed_is_its_cause(tmp_path: Path) -> None:
    log = lived(2, pid=4001) + lived(3, pid=5001, steps=4)
    report = pdtriage.analyze(kept(tmp_path, log, KILLED.format(pid=5001)))
    assert (report.verdict, report.root_causes[0].category) == ("failed", "memory.host")


@pytest.mark.parametrize(("day", "causes"), [(23, 1), (2, 0), (29, 0)])
def test_what_broke_days_before_or_later_broke_nothing_here(
    day: int, causes: int, tmp_path: Path
) -> None:
    folder = kept(tmp_path, lived(23, pid=5001, steps=4), FALLEN_OFF.format(day=day))
    assert len(pdtriage.analyze(folder).root_causes) == causes


def test_a_job_that_finished_was_stopped_by_nothing(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FINISHED / "log", tmp_path / "log")).parent
    told = "[ 1479.071121] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
    (folder / "dmesg.log").write_text(told)
    assert pdtriage.analyze(folder).verdict == "succeeded"
