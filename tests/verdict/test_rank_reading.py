"""Which of its errors a rank is said to have failed of, and how that is written."""

from __future__ import annotations

from pathlib import Path

import pdtriage
from pdtriage.verdict.wording import accused_by

SCENARIOS = Path(__file__).parents[1] / "fixtures" / "scenarios"


def test_a_member_of_an_exception_group_says_more_than_its_head() -> None:
    cause = pdtriage.analyze(SCENARIOS / "exception-group").root_causes[0]
    assert cause.title.en.endswith("ValueError: shard 2 has no manifest")
    assert cause.frame is not None
    assert cause.frame.function == "fetch"


def test_two_ranks_are_listed_as_everywhere_in_the_report() -> None:
    assert accused_by([0, 1]).en.startswith("ranks 0, 1 name")
    assert accused_by([0, 1, 2, 5]).en.startswith("ranks 0-2, 5 name")


def test_workers_that_died_say_more_than_the_batch_that_did_not_come(tmp_path: Path) -> None:
    loader = "/opt/py/lib/python3.8/site-packages/paddle/io/dataloader/dataloader_iter.py"
    (tmp_path / "workerlog.0").write_text(
        f"""\
Exception in thread Thread-1:
Traceback (most recent call last):
  File "{loader}", line 620, in _get_data
    data = self._data_queue.get(timeout=self._timeout)
  File "/opt/py/lib/python3.8/multiprocessing/queues.py", line 108, in get
    raise Empty
_queue.Empty

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "{loader}", line 549, in _thread_loop
    batch = self._get_data()
  File "{loader}", line 635, in _get_data
    raise RuntimeError("DataLoader {{}} workers exit unexpectedly, " \\
RuntimeError: DataLoader 2 workers exit unexpectedly, pids: 411, 412
"""
    )
    cause = pdtriage.analyze(tmp_path).root_causes[0]
    assert cause.signature == "data.workers-exit"
    assert cause.why[0].en == "its log is the only one here"


def test_who_is_known_from_a_launcher_alone_is_named_with_a_reason(tmp_path: Path) -> None:
    said = "mpirun noticed that process rank 7 with PID 2241 on node n07 exited on signal 9"
    (tmp_path / "console.log").write_text(f"{said} (Killed).\n")
    cause = pdtriage.analyze(tmp_path).root_causes[0]
    assert cause.rank == 7
    assert [why.en for why in cause.why] == ["the launcher names it as failed"]
