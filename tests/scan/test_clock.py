"""Given the stamps of many loggers, when read, then they are the same moment."""

from __future__ import annotations

import calendar

import pytest

from pdtriage.scan.clock import Clock

from .builders import engine

MOMENT = calendar.timegm((2023, 11, 14, 22, 13, 20))


@pytest.mark.parametrize(
    "line",
    [
        "LAUNCH INFO 2023-11-14 22:13:20,000 Pod failed",
        "2023-11-14 22:13:20,000 - ERROR - reader thread raised",
        "[2023/11/14 22:13:20] ppcls INFO: epoch 1",
        "[2023-11-14 22:13:20,000] [    INFO] - Saving model",
        "I1114 22:13:20.000000  7628 tcp_utils.cc:132] connected",
        '  [TimeInfo: *** Aborted at 1700000000 (unix time) try "date -d @1700000000" ***]',
        'time="2023-11-14T22:13:20Z" level=info msg="waiting"',
    ],
)
def test_formats(line: str) -> None:
    found = Clock(engine().clocks, MOMENT + 60.0).read(line)
    assert found is not None
    assert found[0] == MOMENT


def test_glog_names_the_process() -> None:
    clock = Clock(engine().clocks, MOMENT + 60.0)
    assert clock.read("W1114 22:13:20.000000  7628 backward.cc:697] x") == (MOMENT, 7628)


def test_december_in_a_file_of_january() -> None:
    january = float(calendar.timegm((2024, 1, 2, 0, 0, 0)))
    found = Clock(engine().clocks, january).read("I1231 23:59:59.000000 1 a.cc:1] x")
    assert found is not None
    assert found[0] == calendar.timegm((2023, 12, 31, 23, 59, 59))


@pytest.mark.parametrize("line", ["no stamp at all", "2023-99-99 99:99:99 odd", "loss: 0.25"])
def test_no_stamp(line: str) -> None:
    found = Clock(engine().clocks, MOMENT).read(line)
    assert found is None or isinstance(found[0], float)


def test_every_month_begins_where_the_calendar_says() -> None:
    clock = Clock(engine().clocks, None)
    for year in (1, 4, 100, 400, 1900, 1969, 1970, 1999, 2000, 2024, 2100, 9999):
        for month in range(1, 13):
            expected = float(calendar.timegm((year, month, 1, 0, 0, 0)))
            assert clock.read(f"{year:04}-{month:02}-01 00:00:00 x") == (expected, None)
    assert clock.read("0000-01-01 00:00:00 x") is None


@pytest.mark.parametrize("modified", [1e18, -1e17, float("inf"), float("nan")])
def test_an_archive_may_tell_of_any_time(modified: float) -> None:
    clock = Clock(engine().clocks, modified)
    assert clock.read("[2023-11-14 22:13:20,000] x") == (MOMENT, None)
    assert clock.read("I0101 00:00:01.000000 5 a.cc:1] x") == (1.0, 5)


@pytest.mark.parametrize(("day", "year"), [("0425", 2023), ("1109", 2023), ("1228", 2022)])
def test_what_stands_above_the_first_year_is_older(day: str, year: int) -> None:
    stamp = f"W{day} 13:39:00.000000 7 a.cc:1] x"
    head = f"starts\n{stamp}\nends\n[2023-11-10 11:06:34,000] [    INFO] - starts\n"
    clock = Clock(engine().clocks, MOMENT)
    clock.learn_year(head.encode())
    for read in (stamp, "W1110 11:06:30.000000 9 a.cc:1] x"):
        found = clock.read(read)
        assert found is not None
        assert found[0] <= calendar.timegm((2023, 11, 10, 23, 59, 59))
    older = clock.read(stamp)
    assert older is not None
    assert older[0] == calendar.timegm((year, int(day[:2]), int(day[2:]), 13, 39, 0))
