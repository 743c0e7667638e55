"""Which of its errors a rank is said to have failed of, and how that is written."""

from __future__ import annotations

import subprocess
import sys
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


SCRIPT = """\
import socket
import sys

def read(rank):
    if rank == 1:
        assert not rank, "label 1000 is out of range"
    socket.create_connection(("127.0.0.1", 1), timeout=30)

def train(rank):
    read(rank)

def main(rank):
    try:
        {tried}
    except Exception:
        {handled}

main(int(sys.argv[1]))
"""


def run_ranks(folder: Path, tried: str, handled: str) -> pdtriage.Report:
    """What two processes print that ended so, and what is found in it."""
    script = folder / "train.py"
    script.write_text(SCRIPT.format(tried=tried, handled=handled))
    (folder / "log").mkdir()
    for rank in range(2):
        with (folder / f"log/workerlog.{rank}").open("wb") as log:
            subprocess.run([sys.executable, script, str(rank)], stderr=log, check=False)
    return pdtriage.analyze(folder / "log")


def test_what_fails_when_the_main_program_cleans_up_is_not_why_it_ended(tmp_path: Path) -> None:
    report = run_ranks(tmp_path, "train(rank)", 'open("/data/train/no.lock")')
    assert [(c.rank, c.category, c.title.en) for c in report.root_causes] == [
        (1, "code.python", "AssertionError: label 1000 is out of range")
    ]
    assert [victim.rank for victim in report.victims] == [0]


def test_the_second_way_that_failed_as_well_is_why_it_ended(tmp_path: Path) -> None:
    """What is looked up at once is no work that was given up."""
    report = run_ranks(tmp_path, '{}["no"]', 'open("/data/train/no.list")')
    assert {c.category for c in report.root_causes} == {"data.io"}


def test_what_a_handler_raises_by_intention_says_why_it_ended(tmp_path: Path) -> None:
    report = run_ranks(tmp_path, "train(rank)", 'raise MemoryError("no room for the next batch")')
    assert {c.category for c in report.root_causes} == {"memory.host"}
