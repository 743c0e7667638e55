"""Given a console of `pdtriage run`, then who is named at its end is believed."""

from __future__ import annotations

from pdtriage.verdict import judge

from ...scan.builders import engine
from ..builders import STEPS, judged, last_run, summary
from .stories import POD_FAILED, RUNNING, printed


def dead(rank: int, code: int) -> str:
    return (
        "LAUNCH ERROR 2023-01-02 03:04:06,006 Container failed !!!\n"
        f"Container rank {rank} status failed cmd ['python', '-u', 'train.py'] code {code} "
        f"log log/workerlog.{rank}\nenv {{}}\n"
    )


def test_victims_that_paddles_launcher_found_dead_are_not_blamed_with_the_culprit() -> None:
    report = printed("FAILED: rank 1 of 2, host 10.0.0.2", "data.reader-raised")
    files = {"console.log": RUNNING + POD_FAILED + dead(0, -6) + report}
    (cause,) = judge(last_run(files), engine().knowledge).causes
    assert (cause.category, cause.ranks) == ("data.worker", (1,))


def test_a_launcher_that_gives_up_and_names_nobody_has_failed_itself() -> None:
    """The legacy one does where it cannot decode what a process has written."""
    gave_up = "ERROR 2026-05-27 10:11:41,119 launch_utils.py:654] ABORT!!! Out of all 2 trainers, "
    gave_up += "the trainer process with rank={} was aborted. Please check its log.\n"
    ranks = [STEPS + summary(pid, 9) for pid in (11, 12)]
    (cause,) = judged(*ranks, console=gave_up.format("[]")).causes
    assert (cause.category, cause.role, cause.rank) == ("config.launch", "launcher", None)
    (cause, *_) = judged(*ranks, console=gave_up.format("[1]")).causes
    assert cause.category != "config.launch"
