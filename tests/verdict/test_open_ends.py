"""Given logs that merely stop, then nobody is blamed, and the report says what would tell."""

from __future__ import annotations

import pytest

from pdtriage.model import RunFacts
from pdtriage.verdict import judge

from ..scan.builders import engine
from .builders import STACK, last_run

TWO = (0, 20, 40)
"""Seconds at which steps were told."""
LAST = 1673779240.0
"""2023-01-15 10:40:40."""


def steps(*seconds: int, total: str = "/1000", start: int = 0) -> str:
    return "".join(
        f"[2023-01-15 10:40:{second:02}] epoch: 1, step: {start + 10 * n}{total}, loss: 0.5\n"
        for n, second in enumerate(seconds)
    )


def seen(text: str, silence: float, zone: float = 0.0, **facts: bool) -> RunFacts:
    """A lone log whose file changed with its last line, looked at `silence` seconds later.

    `zone` is what the clock of the log is ahead of UTC.
    """
    run = last_run({"log/workerlog.0": text})
    (rank,) = run.ranks
    assert rank.last_time == LAST
    changed = rank._replace(modified=LAST - zone)
    return run._replace(ranks=(changed,), seen_at=LAST - zone + silence, **facts)


def test_who_reads_the_report_learns_where_when_and_what_would_tell() -> None:
    found = judge(seen(steps(*TWO), 7200.0), engine().knowledge)
    assert (found.verdict, found.causes) == ("unknown", ())
    said, tells = found.notes
    assert said.en == (
        "the logs stop at step 20 of 1000, without an error and without an end; the last time "
        "they tell is 2023-01-15 10:40:40; until then a step was told every 20 s; nothing has "
        "been written for 2 h."
    )
    assert "每 20 秒" in said.zh
    assert "2 小时" in said.zh
    for text in tells:
        assert "pdtriage watch" in text
        assert "pdtriage run" in text


@pytest.mark.parametrize("zone", [0.0, 8 * 3600.0, -5.5 * 3600.0])
@pytest.mark.parametrize(
    ("silence", "verdict"), [(5.0, "running"), (55.0, "running"), (90.0, "unknown")]
)
def test_logs_that_grew_within_their_rhythm_are_of_a_job_that_runs(
    silence: float, verdict: str, zone: float
) -> None:
    assert judge(seen(steps(*TWO), silence, zone), engine().knowledge).verdict == verdict


def test_logs_that_nobody_writes_any_more_are_of_no_job_that_runs() -> None:
    run = seen(steps(*TWO), 1.0, writers_gone=True)
    assert judge(run, engine().knowledge).verdict == "unknown"


def test_a_copy_is_younger_than_its_lines_and_does_not_run() -> None:
    run = last_run({"log/workerlog.0": steps(*TWO)})
    copied = run.ranks[0]._replace(modified=LAST + 40000000.0)
    run = run._replace(ranks=(copied,), seen_at=LAST + 40000001.0)
    found = judge(run, engine().knowledge)
    assert found.verdict == "unknown"
    assert "nothing has been written" not in found.notes[0].en


def test_a_log_without_a_rhythm_may_have_any() -> None:
    assert judge(seen(steps(40), 1.0), engine().knowledge).verdict == "unknown"
    (said, _) = judge(last_run({"log/workerlog.0": "loading data\n"}), engine().knowledge).notes
    assert "tell no step" in said.en


def test_whose_writer_lives_runs_whatever_its_log_says() -> None:
    run = seen(steps(*TWO), 7200.0, running=True)
    assert judge(run, engine().knowledge).verdict == "running"


def test_a_stack_tells_a_hang_from_a_log_that_stops() -> None:
    found = judge(seen(steps(*TWO) + STACK, 5.0), engine().knowledge)
    assert (found.verdict, found.causes[0].signature) == ("hung", "verdict.stuck")
    assert found.notes == ()


@pytest.mark.parametrize(
    ("text", "rhythm"),
    [
        (steps(0, 40), "every 40 s"),
        (steps(40), None),
        (steps(0, 40, total="") + "[2023-01-15 10:40:40] epoch: 2, step: 0, loss: 0.5\n", None),
    ],
)
def test_a_rhythm_needs_two_steps_of_one_epoch(text: str, rhythm: str | None) -> None:
    (said, _) = judge(seen(text, 7200.0), engine().knowledge).notes
    assert ("step was told" in said.en) is (rhythm is not None)
    assert (rhythm or "") in said.en


def in_reader(message: str) -> str:
    return (
        "Exception in thread Thread-3 (_thread_loop):\nTraceback (most recent call last):\n"
        '  File "/opt/paddle/io/dataloader/dataloader_iter.py", line 249, in _thread_loop\n'
        f"    batch = self._dataset_fetcher.fetch(\n{message}\n\n"
    )


def test_an_error_that_only_few_steps_follow_is_pointed_at_and_blamed_for_nothing() -> None:
    """A reader's thread dies, what it had prepared is trained on, and the log stops."""
    error = in_reader("ValueError: all input arrays must have the same shape")
    run = seen(steps(0) + error + steps(20, 40, start=10), 7200.0)
    found = judge(run, engine().knowledge)
    assert (found.verdict, found.causes) == ("unknown", ())
    said, pointed, _ = found.notes
    assert said.en.startswith("the logs stop at step 20 of 1000, without an end;")
    assert "没有报错" not in said.zh
    for text in pointed:
        assert "log/workerlog.0:6" in text
    assert "still made steps: Samples of one batch have different shapes" in pointed.en


def test_a_log_that_breaks_off_within_a_traceback_tells_where_it_was() -> None:
    """On Windows a launcher that ends takes its children along while they still print theirs."""
    begun = (
        "Traceback (most recent call last):\n"
        '  File "D:\\ocr\\train.py", line 272, in <module>\n    main(config)\n'
        '  File "D:\\ocr\\program.py", line 388, in train\n    preds = model(images)\n'
    )
    found = judge(seen(steps(*TWO) + begun, 7200.0), engine().knowledge)
    assert (found.verdict, found.causes) == ("unknown", ())
    said, broken, _ = found.notes
    assert "without an error" not in said.en
    for text in broken:
        assert "D:\\ocr\\program.py:388" in text
