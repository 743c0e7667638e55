"""Names of ranks and victims."""

from __future__ import annotations

import pytest

from pdtriage.model import Victim
from pdtriage.report.words import moment_time, numbers, process_phrase, run_time, victims_line


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        ([], ""),
        ([3], "3"),
        ([1, 0], "0, 1"),
        ([0, 1, 2, 3, 5, 7], "0-3, 5, 7"),
        ([7, 7, 6, 5], "5-7"),
    ],
)
def test_numbers_are_compressed(ranks: list[int], text: str) -> None:
    assert numbers(ranks) == text


def test_names() -> None:
    assert process_phrase("worker", 3, 1, "h", "en") == "rank 3"
    assert process_phrase("heter", 1, None, None, "en") == "heter worker 1"
    assert process_phrase("worker", None, 2, None, "en") == "node ?, local 2"
    assert process_phrase("server", None, 2, "h", "en") == "server node h, local 2"
    assert process_phrase("launcher", None, None, None, "zh") == "启动器"
    assert process_phrase("unknown", None, None, None, "en") == "rank unknown"


def test_victims_by_fate_and_role() -> None:
    victims = [
        Victim(4, "worker", None, "peer", 1),
        Victim(5, "worker", None, "peer", 1),
        Victim(6, "worker", None, "peer", 1),
        Victim(0, "server", None, "stopped", 1),
        Victim(None, "worker", None, "stopped", 1, local_rank=0),
        Victim(None, "worker", None, "stopped", 1, local_rank=3),
    ]
    assert victims_line(victims, "en") == (
        "server 0, node ?, local 0, 3 (stopped by the launcher); ranks 4-6 (lost a peer)"
    )
    assert victims_line(victims[:3], "zh") == "rank 4-6（因对端消失而出错）"


def test_times_of_a_run() -> None:
    start = 1_763_250_000.0
    assert run_time(None, None) == ""
    assert run_time(start, None) == "2025-11-15 23:40:00 - ?"
    assert run_time(start, start + 60) == "2025-11-15 23:40:00 - 23:41:00"
    assert run_time(start, start + 3600) == "2025-11-15 23:40:00 - 2025-11-16 00:40:00"


def test_a_stamp_no_calendar_holds_is_no_error() -> None:
    assert moment_time(1e30, with_date=True) == "01-01 00:00:00"
