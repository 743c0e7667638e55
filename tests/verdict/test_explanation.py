"""Given a verdict, then it can say what decided, what yielded, and what would have changed it."""

from __future__ import annotations

from pdtriage.model import Claim, VerdictExplanation
from pdtriage.record.schema import RunRecord
from pdtriage.verdict.explanation import explain_verdict

from ..scan.builders import engine
from .builders import DISK, ERROR, STEPS, death, last_run, logs, lost, recorded


def explained(*texts: str, records: tuple[RunRecord, ...] = ()) -> VerdictExplanation:
    files = {f"log/workerlog.{rank}": text for rank, text in enumerate(texts)}
    return explain_verdict(
        last_run(files if records else logs(*texts), *records), engine().knowledge
    )


def test_the_rule_and_the_lines_that_decided() -> None:
    told = explained(STEPS + lost(0, 1), STEPS + DISK)
    assert told.rule == "own-cause"
    assert told.claim == Claim("failed", "storage.disk", "worker", (1,), "proven")
    assert [(line.file, line.line) for line in told.evidence][:1] == [("log/workerlog.1", 6)]


def test_rules_that_yielded_say_why() -> None:
    silent = explained(STEPS, STEPS + lost(1, 0), records=(recorded(death(0, 0, None, 9)),))
    assert silent.rule == "first-death"
    others = {other.rule: other for other in silent.others}
    lost_peer = others["lost-peer"]
    assert lost_peer.agrees
    assert lost_peer.yields_to == "first-death"
    assert all(other.yields_to == "first-death" for other in silent.others)


def test_a_line_less_and_another_one_would_be_blamed() -> None:
    told = explained(STEPS + lost(0, 1), STEPS + DISK)
    without = {change.given.en: change.claim for change in told.changes}
    assert without["without log/workerlog.1:6"].category == "unknown"
    assert without["without log/workerlog.1:6"].ranks == (1,)


def test_what_the_parent_saw_may_decide() -> None:
    told = explained(STEPS, STEPS, records=(recorded(death(0, 1, 3, None)),))
    without = {change.given.en: change.claim for change in told.changes}
    assert without["without the run record (who ended when, and how)"] == Claim("unknown")


def test_an_error_that_did_not_count_says_why() -> None:
    told = explained(ERROR + 40 * STEPS + lost(0, 1), STEPS + DISK)
    (aside,) = told.set_aside
    assert (aside.evidence.file, aside.evidence.line) == ("log/workerlog.0", 4)
    assert aside.why.en == "the process went on after it"


def test_a_run_that_went_well_says_by_whose_word() -> None:
    well = recorded(death(0, 0, 0, None), death(1, 1, 0, None))
    told = explained(STEPS, STEPS, records=(well._replace(reason="completed"),))
    assert told.rule is None
    assert told.about.en.endswith("the run record says that it completed")
    assert told.claim == Claim("succeeded")
