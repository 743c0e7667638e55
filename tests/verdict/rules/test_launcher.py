"""Given a console of `pdtriage run`, then who is named at its end is believed."""

from __future__ import annotations

from pdtriage.verdict import judge

from ...scan.builders import engine
from ..builders import last_run
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
