"""Given the steps a log tells, when a row is made of them, then it shows their pace and losses."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path

import pytest

from pdtriage.analysis.pipeline import analyze
from pdtriage.model import Progress
from pdtriage.verdict.rank_rows import losses_of, pace_of


def steps(*told: tuple[int, float | None, float | None]) -> list[Progress]:
    return [
        Progress(line=n + 1, offset=100 * n, step=step, loss=loss, time=time)
        for n, (step, time, loss) in enumerate(told)
    ]


def test_pace_is_steps_by_seconds_between_times_that_are_told() -> None:
    assert pace_of(steps((0, 100.0, None), (10, 105.0, None), (20, 125.0, None)), 60) == (
        (105.0, 2.0),
        (125.0, 0.5),
    )


def test_stamps_of_whole_seconds_hide_no_steps() -> None:
    told = steps(*((n, float(n // 4), None) for n in range(17)))
    assert {rate for _, rate in pace_of(told, 60)} == {4.0}


def test_a_step_without_a_time_tells_no_pace() -> None:
    assert pace_of(steps((0, None, None), (10, None, None), (20, 125.0, None)), 60) == ()


def test_a_counter_that_begins_anew_tells_no_pace_unless_epochs_do() -> None:
    assert pace_of(steps((90, 100.0, None), (10, 110.0, None)), 60) == ()
    earlier = Progress(1, 0, 90, epoch=0, total=100, time=100.0)
    later = Progress(2, 50, 10, epoch=1, total=100, time=110.0)
    assert pace_of([earlier, later], 60) == ((110.0, 2.0),)


def test_points_are_bounded_and_keep_both_ends() -> None:
    many = steps(*((n, float(n), 1.0 / (n + 1)) for n in range(1000)))
    assert len(pace_of(many, 60)) <= 60
    losses = losses_of(many, 60)
    assert len(losses) <= 60
    assert losses[0] == (0.0, 0, 1.0)
    assert losses[-1][1] == 999


@pytest.mark.parametrize("most", [-1, 0, 1])
@pytest.mark.parametrize("number", [0, 1, 2, 1000])
def test_where_more_ranks_than_points_have_room_the_ends_are_kept(most: int, number: int) -> None:
    course = steps(*((n, float(n), 0.5) for n in range(number)))
    assert len(losses_of(course, most)) == min(number, 2)
    assert len(pace_of(course, most)) == min(max(0, number - 1), 1)


def test_the_first_loss_that_is_no_number_is_among_them() -> None:
    many = [(n, float(n), nan if n > 500 else inf if n == 500 else 1.0) for n in range(1000)]
    losses = losses_of(steps(*many), 8)
    assert (500.0, 500, None) in losses
    assert len(losses) <= 8
    assert losses_of(steps((1, 2.0, None)), 60) == ()


def test_cards_come_from_the_log_beside_the_newest_run(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    (log / "workerlog.0").write_text("epoch: 0, step: 1, loss: 0.5\nKilled\n")
    (log / "default.gpu.log").write_text(
        "index,uuid,driver_version,name,gpu_serial,display_active,display_mode\n\n"
        "0,97,40960,31000,9960,2024/01/01 12:00:00.123\n"
        "0,0,40960,12,40948,2024/01/01 12:00:05.123\n"
    )
    (card,) = analyze(log).cards
    assert (card.device, card.total_mb) == ("gpu:0", 40960)
    assert card.samples == ((1704110400.0, 97, 31000), (1704110405.0, 0, 12))
