"""Given a run of which a log is gone, then what was reported while it was there still counts."""

from __future__ import annotations

from pdtriage.model import Frame, LiveCause, LiveReport
from pdtriage.record.schema import RunRecord
from pdtriage.verdict import Judgement, judge

from ...scan.builders import engine
from ..builders import DISK, STEPS, death, last_run, lost, recorded

BOTH = frozenset({("worker", 0), ("worker", 1)})
LINE = ("log/workerlog.1", 7, 300, "FileNotFoundError: [Errno 2] No such file: '/data/a.npy'")
MISSING = LiveCause(
    "data.file-missing", "data.io", "proven", "worker", (1,), None, (LINE,), Frame("t.py", 3, "f")
)


def watched(*causes: LiveCause, code: int = 1) -> RunRecord:
    record = recorded(death(0, 1, code, None), death(1, 0, None, 6))
    return record._replace(live=LiveReport(1.0, causes, BOTH))


def kept(record: RunRecord, **texts: str) -> Judgement:
    files = {f"log/workerlog.{name[-1]}": text for name, text in texts.items()}
    return judge(last_run(files, record), engine().knowledge)


def test_the_culprits_log_is_gone_and_the_report_says_what_it_held() -> None:
    found = kept(watched(MISSING), rank0=STEPS + lost(0, 1))
    (cause,) = found.causes
    assert (cause.category, cause.ranks, cause.confidence) == ("data.io", (1,), "likely")
    assert [line.text for line in cause.evidence] == [LINE[3]]
    assert [victim.rank for victim in found.victims] == [0]


def test_a_victim_is_not_named_because_its_log_is_there() -> None:
    (cause,) = kept(watched(MISSING), rank0=STEPS + DISK).causes
    assert cause.ranks == (1,)


def test_a_victims_log_is_gone_and_the_culprit_speaks_for_itself() -> None:
    (cause,) = kept(watched(MISSING), rank1=STEPS + DISK).causes
    assert (cause.category, cause.ranks) == ("storage.disk", (1,))


def test_a_report_is_not_asked_where_all_logs_are_here() -> None:
    (cause,) = kept(watched(MISSING), rank0=STEPS + lost(0, 1), rank1=STEPS + DISK).causes
    assert cause.category == "storage.disk"


def test_words_with_which_a_process_cannot_have_ended_are_not_believed() -> None:
    (cause,) = kept(watched(MISSING, code=2), rank0=STEPS + lost(0, 1)).causes
    assert (cause.category, cause.ranks, cause.confidence) == ("unknown", (1,), "likely")
    killed = recorded(death(0, 1, None, 9), death(1, 0, None, 6))
    record = killed._replace(live=LiveReport(1.0, (MISSING._replace(frame=None),), BOTH))
    (cause,) = kept(record, rank0=STEPS + lost(0, 1)).causes
    assert (cause.category, cause.ranks) == ("external.kill", (1,))


def test_a_guess_stays_one_and_what_nobody_knows_is_not_believed() -> None:
    (cause,) = kept(watched(MISSING._replace(confidence="guess")), rank0=STEPS).causes
    assert cause.confidence == "guess"
    (cause,) = kept(watched(MISSING._replace(signature="no.such")), rank0=STEPS).causes
    assert (cause.category, cause.ranks) == ("unknown", (1,))
