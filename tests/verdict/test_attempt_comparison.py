"""Given several attempts of one launch, then the report says whether they failed the same way."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdtriage.analysis.pipeline import analyze
from pdtriage.model import Attempts, Brief, Restart, Run, Text, VerdictWord
from pdtriage.verdict.attempt_comparison import MOST, attempts_of

SCENARIOS = Path(__file__).parents[1] / "fixtures" / "scenarios"


def run(
    index: int,
    verdict: VerdictWord = "failed",
    mark: str = "a",
    *,
    launch: int = 1,
    attempt: int | None = None,
    why: str = "",
    again: bool = False,
) -> Run:
    cause = Brief(Text("x", "甲"), "unknown", "s", "worker", 0, (0,), None, mark)
    return Run(
        index,
        launch,
        index - 1 if attempt is None else attempt,
        verdict=verdict,
        cause=cause if verdict == "failed" and mark else None,
        restart=Restart(again, Text(why, why)) if why else None,
    )


def compared(*runs: Run) -> Attempts:
    found = attempts_of(runs, runs[-1])
    assert found is not None
    return found


def test_one_plain_attempt_is_nothing_to_speak_of() -> None:
    assert attempts_of([run(1)], run(1)) is None
    other = run(2, launch=2, attempt=0)
    assert attempts_of([run(1), other], other) is None


def test_why_a_single_attempt_was_not_followed_by_another() -> None:
    found = compared(run(1, why="it would come back"))
    assert found.summary.en == "not restarted: it would come back"
    assert found.summary.zh == "不再重启：it would come back"
    assert found.same_failure is None


def test_the_same_failure() -> None:
    found = compared(run(1), run(2), run(3, why="the limit"))
    assert found.same_failure is True
    assert found.summary.en == (
        "3 attempts, all failed the same way (fingerprint a); not restarted: the limit"
    )


@pytest.mark.parametrize(
    ("marks", "same", "said"),
    [
        ("ab", False, "2 attempts, all failed, in 2 ways (1: x; 2: x)"),
        ("aba", False, "3 attempts, all failed, in 2 ways (1, 3: x; 2: x)"),
        ("abcd", False, "4 attempts, all failed, in 4 ways"),
        ("aa", True, "2 attempts, all failed the same way (fingerprint a)"),
        (["a", ""], None, "2 attempts, all failed"),
        (["", ""], None, "2 attempts, all failed"),
    ],
)
def test_failures_are_the_same_only_where_both_are_understood(
    marks: list[str], same: bool | None, said: str
) -> None:
    found = compared(*(run(number, mark=mark) for number, mark in enumerate(marks, 1)))
    assert (found.same_failure, found.summary.en) == (same, said)


def test_a_success_says_what_failed_before() -> None:
    found = compared(run(1), run(2), run(3, "succeeded"))
    assert found.summary.en == "attempt 3 succeeded; 2 attempts failed before, the same way (x)"
    assert found.summary.zh == "第 3 次尝试成功；此前失败 2 次，方式相同（甲）"
    assert (found.total, found.failed) == (3, 2)
    assert compared(run(1), run(2, "succeeded")).summary.en == (
        "attempt 2 succeeded; 1 attempt failed before (x)"
    )


def test_an_attempt_cut_short_because_nodes_came_or_went_has_not_failed() -> None:
    found = compared(run(1, "interrupted", why="node 2 joined", again=True), run(2))
    assert (found.failed, found.summary.en) == (1, "2 attempts, 1 failed (x)")


def test_only_the_launch_reported_on_counts() -> None:
    runs = [run(1, mark="z"), run(2, launch=2, attempt=0), run(3, launch=2, attempt=1)]
    found = compared(*runs)
    assert (found.launch, found.runs, found.same_failure) == (2, (2, 3), True)
    assert attempts_of(runs, runs[0]) is None


def test_of_many_attempts_the_newest_are_compared() -> None:
    runs = [run(number, mark="old" if number < 5 else "a") for number in range(1, MOST + 5)]
    found = compared(*runs)
    assert len(found.runs) == MOST
    assert found.total == MOST + 4
    assert found.same_failure is True
    assert found.summary.en.startswith(f"the last {MOST} of {MOST + 4} attempts, all failed the")


def test_attempts_that_were_forgotten_are_counted() -> None:
    found = compared(run(1, attempt=6), run(2, attempt=7))
    assert (found.total, found.summary.en[:30]) == (8, "the last 2 of 8 attempts, all ")


def test_a_folder_of_paddles_launcher_is_compared_without_a_record() -> None:
    limit = analyze(SCENARIOS / "elastic-limit")
    assert limit.attempts is not None
    assert limit.attempts.same_failure is True
    assert [r.cause.rank if r.cause else None for r in limit.runs] == [1, 1, 1]
    recovers = analyze(SCENARIOS / "elastic-recovers")
    assert recovers.verdict == "succeeded"
    assert [r.verdict for r in recovers.runs] == ["failed", "succeeded"]
    assert recovers.attempts is not None
    assert recovers.attempts.summary.en == (
        "attempt 2 succeeded; 1 attempt failed before (RuntimeError: lost connection to the "
        "feature store)"
    )


def test_launches_in_one_folder_are_no_attempts() -> None:
    assert analyze(SCENARIOS / "runs-three-legacy").attempts is None


def test_how_far_older_attempts_came_is_only_told_by_a_record() -> None:
    """Their last steps lie inside the file, where steps are read thinly."""
    steps = [r.last_step for r in analyze(SCENARIOS / "elastic-limit").runs]
    assert steps == [None, None, 2]
