"""Given a log that was rotated at any time, when a record tells sizes, then each run has its own.

What a run wrote is a letter of its own, so that whatever is given to it can be read off.
"""

from __future__ import annotations

import pytest

from pdtriage.model import FileFacts, LogFile
from pdtriage.record.schema import ProcessRecord
from pdtriage.runs.folders import Log
from pdtriage.runs.recorded_parts import process_key, recorded_parts

from .builders import facts_of

STARTED = 1_700_000_000.0


def parts(pieces: list[str], starts: list[tuple[int, int | None]]) -> tuple[list[str], str]:
    """What each run is said to have written, and what nobody was recorded for; `pieces` are the
    files of the log, the oldest first."""
    content = {f"log/workerlog.0.{age}": piece for age, piece in enumerate(pieces)}
    log = Log("worker", 0, [piece_of(path, text) for path, text in content.items()])
    processes = [
        process(offset, end, STARTED + 60 * number) for number, (offset, end) in enumerate(starts)
    ]
    found = recorded_parts(log, processes)
    written = [
        "".join(content[s.facts.file.path][s.begin : s.end] for s in segment)
        for segment in found.segments
    ]
    older = found.before.pieces if found.before else ()
    return written, "".join(content[piece.file.path][: piece.bytes] for piece in older)


def piece_of(path: str, text: str) -> FileFacts:
    return FileFacts(LogFile(path, "worker", "log", 0, modified=STARTED - 1), bytes=len(text))


def process(offset: int, end: int | None, started: float) -> ProcessRecord:
    return ProcessRecord(
        *("worker", 0, 0, None, None, 1, "workerlog.0"), offset, started, 0.0, end_offset=end
    )


@pytest.mark.parametrize(
    "pieces",
    [["xxaaaabb"], ["", "xxaaaabb"], ["xxaaaabb", ""], ["xxaa", "aabb"], ["x", "xaaaab", "b"]],
)
def test_rotated_after_all_runs(pieces: list[str]) -> None:
    assert parts(pieces, [(2, 6), (6, 8)]) == (["aaaa", "bb"], "xx")


def test_rotated_between_two_runs() -> None:
    assert parts(["xxaaaa", "bb"], [(2, 6), (0, 2)]) == (["aaaa", "bb"], "xx")


def test_rotated_between_two_runs_and_again_later() -> None:
    assert parts(["xxaa", "aa", "b", "b"], [(2, 6), (0, 2)]) == (["aaaa", "bb"], "xx")


def test_emptied_while_a_run_wrote() -> None:
    assert parts(["xxxaa", "aa"], [(3, 2)]) == (["aaaa"], "xxx")


def test_renamed_while_somebody_followed_it() -> None:
    assert parts(["xxxaaaa"], [(3, 0)]) == (["aaaa"], "xxx")
    assert parts(["aa"], [(3, 2)]) == (["aa"], "")


def test_renamed_while_a_run_wrote() -> None:
    assert parts(["xxxaaaa", ""], [(3, 0)]) == (["aaaa"], "xxx")
    assert parts(["aaaa", ""], [(0, None)]) == (["aaaa"], "")


def test_a_later_launcher_that_records_nothing_wrote_on() -> None:
    assert parts(["xxaaaayyy"], [(2, 6)]) == (["aaaa"], "xx")
    assert parts(["xx", "aaaayyy"], [(0, 4)]) == (["aaaa"], "xx")


def test_the_oldest_piece_is_lost() -> None:
    assert parts(["bb"], [(0, 4), (0, 2)]) == (["", "bb"], "")
    assert parts(["aabb"], [(2, 6), (6, 8)]) == (["aa", "bb"], "")


def test_a_run_that_goes_on_wrote_all_that_is_new() -> None:
    assert parts(["xxaaaa"], [(2, None)]) == (["aaaa"], "xx")
    assert parts(["xxxx", "aaaa"], [(0, None)]) == (["aaaa"], "xxxx")


def test_a_run_that_wrote_nothing_keeps_its_file() -> None:
    log = Log("worker", 0, [piece_of("log/workerlog.0", "")])
    assert recorded_parts(log, [process(0, 0, STARTED)]).segments[0]


def test_emptied_or_renamed_before_it_had_grown_again() -> None:
    """A record cannot tell it; an older piece that was written to after the start can."""
    pieces = [piece_of(f"log/workerlog.0.{age}", text) for age, text in enumerate(["aaa", "aa"])]
    pieces[0] = pieces[0]._replace(file=pieces[0].file._replace(modified=STARTED + 5))
    found = recorded_parts(Log("worker", 0, pieces), [process(0, 2, STARTED)])
    assert [span.facts for span in found.segments[0]] == pieces
    assert found.before is None


def test_a_log_is_known_by_role_and_number() -> None:
    named = process(0, 0, STARTED)
    assert process_key(named) == ("worker", 0)
    assert process_key(named._replace(log=None)) is None
    assert process_key(named._replace(log="workerlog")) is None


def test_a_log_that_another_system_has_saved_is_longer_in_every_line() -> None:
    first, second = (f"step {n} loss 0.5\nepoch 1 done\n" * 3 for n in (10, 20))
    text = (first + second).replace("\n", "\r\n")
    log = Log("worker", 0, [facts_of("log/workerlog.0", text)])
    ends = (len(first), len(first + second))
    starts = [process(0, ends[0], STARTED), process(ends[0], ends[1], STARTED + 60)]
    steps = [
        [step.step for span in segment for step in span.progress]
        for segment in recorded_parts(log, starts).segments
    ]
    assert steps == [[10, 10, 10], [20, 20, 20]]
