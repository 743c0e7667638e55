"""The timeline holds what the report blames, and calls it by the same name."""

from __future__ import annotations

from pathlib import Path

import pytest

import pdtriage
from pdtriage.verdict import judge
from pdtriage.verdict.timeline import timeline_of

from ..scan.builders import engine
from .builders import DISK, death, last_run, process, recorded

SCENARIOS = Path(__file__).parents[1] / "fixtures" / "scenarios"


NO_PORT = """\
INFO 2021-06-25 09:11:40,220 launch.py:357] Run parallel process
can't find avilable port and use the specified static port now!
Traceback (most recent call last):
  File "/opt/py/lib/python3.7/site-packages/paddle/distributed/fleet/launch.py", line 214, in main
    for port in ports:
TypeError: 'NoneType' object is not iterable
"""


def test_an_error_that_the_rank_outlived_for_some_steps_is_told_before_what_it_led_to() -> None:
    told = pdtriage.analyze(SCENARIOS / "thread-exception").timeline
    errors = [(m.rank, m.kind) for m in told if m.kind in ("error", "symptom")]
    assert errors[0] == (1, "error")
    assert (0, "symptom") in errors


def test_what_the_launcher_says_of_itself_is_no_ranks(tmp_path: Path) -> None:
    (tmp_path / "console.log").write_text(NO_PORT)
    report = pdtriage.analyze(tmp_path)
    assert report.root_causes[0].role == "launcher"
    assert {(m.role, m.rank) for m in report.timeline} == {("launcher", None)}


BEGAN = 1672628640.0
"""2023-01-02 03:04:00 UTC."""


@pytest.mark.parametrize("clock", ["2023-01-02 03:04:10 ", ""], ids=["with its time", "without"])
def test_who_was_done_before_another_failed_did_not_end_because_of_that(clock: str) -> None:
    first = f"{clock and '2023-01-02 03:04:01 '}epoch 0 step 0 loss 1.5\n"
    files = {
        "log/workerlog.0": first,
        "log/workerlog.1": f"{first}{clock}ERROR reading failed\n{DISK}",
    }
    done = death(0, 0, 0, None)._replace(time=BEGAN + 2)
    failed = death(1, 1, 1, None)._replace(time=BEGAN + 10.5)
    processes = tuple(process(rank)._replace(started=BEGAN) for rank in (0, 1))
    record = recorded(done, failed)._replace(processes=processes, ended=BEGAN + 11)
    facts = last_run(files, record)
    told = timeline_of(facts, judge(facts, engine().knowledge), engine().knowledge)
    seen = [(m.kind, m.rank, m.t and m.t - BEGAN, m.about) for m in told if m.rank is not None]
    error = ("error", 1, 10.0 if clock else None, False)
    assert seen == [("exit", 0, 2.0, False), error, ("exit", 1, 10.5, False)]
