"""The timeline holds what the report blames, and calls it by the same name."""

from __future__ import annotations

from pathlib import Path

import pdtriage

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
