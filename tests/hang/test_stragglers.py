"""Who is slower than the rest, and who is behind: by the times of steps alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pdtriage.analysis import pipeline
from pdtriage.hang.stragglers import (
    StepCourse,
    StepSample,
    few_behind_text,
    straggler_text,
    stragglers_of,
)


def course(
    rank: int, pace: Callable[[int], float], steps: int = 200, host: str = "a"
) -> StepCourse:
    time, samples = 1000.0, []
    for step in range(steps):
        time += pace(step)
        samples.append(StepSample(time, step))
    return StepCourse(rank, host, tuple(samples))


def test_a_rank_that_needs_twice_as_long_is_named_with_how_long_and_how_surely() -> None:
    slow = course(5, lambda step: 0.5 if step < 100 else 1.0, 180, "10.0.0.7")
    courses = [course(rank, lambda _: 0.5) for rank in range(5)]
    (found,) = stragglers_of([*courses, slow])
    assert found.ranks == (5,)
    assert found.host == "10.0.0.7"
    assert 1.7 < found.ratio < 2.1
    assert 70 < found.seconds < 95  # not the first hundred steps
    assert found.confidence == "likely"
    assert straggler_text(found, ended=True).en.startswith(
        f"rank 5 on 10.0.0.7 took {found.ratio:.1f}× the median step for {found.seconds:.0f} s "
        "before the end ("
    )


def test_a_host_whose_ranks_are_all_slow_is_one_finding() -> None:
    fast = [course(rank, lambda _: 0.5) for rank in range(4)]
    slow = [course(rank, lambda _: 0.9, host="b") for rank in (4, 5)]
    (found,) = stragglers_of(fast + slow)
    assert (found.ranks, found.host) == ((4, 5), "b")


def test_a_rank_that_was_not_slow_all_the_time_is_a_guess() -> None:
    courses = [course(rank, lambda _: 0.5, 100) for rank in range(3)]
    courses.append(course(3, lambda step: 3.0 if step < 30 else 0.6, 100))
    (found,) = stragglers_of([*courses[:3], courses[3]._replace(samples=courses[3].samples[::99])])
    assert (found.ranks, found.confidence) == ((3,), "guess")
    assert "guess" in straggler_text(found, ended=False).en


@pytest.mark.parametrize("seed", range(20))
def test_healthy_jobs_of_uneven_rhythm_have_no_stragglers(seed: int) -> None:
    """Evaluations of thirty steps, checkpoints of sixty, a first step of a hundred; ranks that meet
    in every step, and time stamps in whole seconds."""
    chance = random.Random(seed)
    step = chance.choice((0.05, 0.3, 2.0))

    def pace(number: int) -> float:
        if number == 0:
            return 100 * step
        extra = 30 * step if number % 50 == 0 else 60 * step if number % 80 == 0 else 0.0
        return step + extra

    together = course(0, lambda number: pace(number) * chance.uniform(0.8, 1.2), 300)
    courses = [
        StepCourse(
            rank,
            f"host{rank // 2}",
            tuple(
                one._replace(time=float(int(one.time + chance.random() * step + 3600 * rank)))
                for one in together.samples[:: chance.choice((1, 7, 20))]
            ),
        )
        for rank in range(4)
    ]
    assert stragglers_of(courses) == ()


def test_too_few_steps_and_other_counters_tell_nothing() -> None:
    fast = course(0, lambda _: 1.0)
    assert stragglers_of([fast, course(1, lambda _: 3.0, 15)]) == ()
    counted = course(1, lambda _: 3.0)
    other = tuple(sample._replace(total=77) for sample in counted.samples)
    assert stragglers_of([fast, counted._replace(samples=other)]) == ()
    assert stragglers_of([fast]) == ()


def test_where_most_are_slow_nobody_is() -> None:
    slow = [course(rank, lambda _: 2.0) for rank in range(3)]
    assert stragglers_of([*slow, course(3, lambda _: 1.0)]) == ()


def test_few_ranks_that_are_behind() -> None:
    def ended_at(*steps: int) -> list[StepCourse]:
        return [
            StepCourse(rank, None, tuple(StepSample(0.0, number) for number in range(last + 1)))
            for rank, last in enumerate(steps)
        ]

    told = few_behind_text(ended_at(100, 87, 101, 100))
    assert told is not None
    assert told.en.startswith("rank 1 was 13 steps behind: it told step 87 last")
    both = few_behind_text(ended_at(96, 95, 12, 97, 50, 95))
    assert both is not None
    assert both.en == (
        "rank 2 was 83 steps behind: it told step 12 last, rank 4 was 45 steps behind: it told "
        "step 50 last, the others at least 95"
    )
    assert few_behind_text(ended_at(100, 99, 101)) is None
    assert few_behind_text(ended_at(100, 87, 60)) is None  # each somewhere else
    assert few_behind_text(ended_at(100)) is None


def test_a_folder_of_logs_with_stamped_steps(tmp_path: Path) -> None:
    for rank, seconds in enumerate((2, 2, 2, 4)):
        lines = [
            f"[2024-05-01 {10 + t // 3600:02d}:{t // 60 % 60:02d}:{t % 60:02d}] epoch: 0, "
            f"step: {step}, loss: 0.5"
            for step in range(300)
            if (t := step * seconds) < 600
        ]
        (tmp_path / f"workerlog.{rank}").write_text("\n".join(lines) + "\n")
    report = pipeline.analyze(tmp_path)
    (found,) = report.stragglers
    assert found.ranks == (3,)
    assert round(found.ratio, 1) == 2.0
    assert any("rank 3 took 2.0× the median step" in note.en for note in report.notes)
    assert report.to_json()["stragglers"] == [
        {
            "ranks": [3],
            "host": None,
            "ratio": 2.0,
            "step_seconds": 4.0,
            "usual_seconds": 2.0,
            "steps": found.steps,
            "seconds": round(found.seconds, 1),
            "confidence": "guess",  # of a small log few lines are looked at
        }
    ]
