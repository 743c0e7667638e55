"""Given a console that holds our own printed report, when analysed, then the report is evidence."""

from __future__ import annotations

import io
from pathlib import Path
from typing import get_args

import pytest

import pdtriage
from pdtriage.model import Cause, Language, Report
from pdtriage.report import Options, reporter_named

from ..report import reports

LAUNCHER = (
    "LAUNCH INFO 2026-01-01 00:00:00,000 Job: default, mode collective, replicas 1[1:1], "
    "elastic False\n"
    "LAUNCH INFO 2026-01-01 00:00:00,000 Run Pod: abcdef, replicas 4, status ready\n"
    "epoch 0 step 1 loss 1.0\n"
)


def read_again(report: Report, folder: Path, before: str = "") -> Report:
    """The report on a console that shows nothing but `before` and this report."""
    printed = io.StringIO()
    reporter_named("text").write(report, printed, Options())
    console = folder / "console.log"
    console.write_text(before + printed.getvalue(), encoding="utf-8")
    return pdtriage.analyze(console)


def said(cause: Cause) -> tuple[object, ...]:
    return cause.signature, cause.category, cause.role, cause.ranks, cause.host


@pytest.mark.parametrize("before", ["", LAUNCHER])
@pytest.mark.parametrize("language", get_args(Language))
def test_a_printed_report_names_culprit_and_victims_again(
    tmp_path: Path, before: str, language: Language
) -> None:
    report = reports.failed()._replace(language=language)
    again = read_again(report, tmp_path, before)
    assert (again.verdict, again.job.world_size) == ("failed", report.job.world_size)
    assert said(again.root_causes[0]) == said(report.root_causes[0])
    assert {v.rank for v in again.victims} == {v.rank for v in report.victims}
    stopped = {v.rank for v in report.victims if v.reason == "stopped"}
    assert {v.rank for v in again.victims if v.reason == "stopped"} == stopped


def test_a_launcher_that_was_to_blame(tmp_path: Path) -> None:
    report = reports.failed()
    cause = report.root_causes[0]._replace(
        signature="verdict.launcher-gone", category="external.kill",
        role="launcher", rank=None, ranks=(), local_rank=None, device=None, frame=None,
    )  # fmt: skip
    gone = report._replace(verdict="interrupted", root_causes=(cause,), victims=())
    again = read_again(gone, tmp_path)
    assert again.verdict == "interrupted"
    assert said(again.root_causes[0]) == said(cause)


def test_a_line_like_a_headline_alone_is_no_report(tmp_path: Path) -> None:
    (tmp_path / "console.log").write_text("FAILED: rank 2 of 3, host 10.0.0.7\n")
    report = pdtriage.analyze(tmp_path / "console.log")
    assert (report.verdict, report.root_causes) == ("unknown", ())


FAILED = (
    "LAUNCH INFO 2026-01-01 00:00:00,000 Run Pod: abcdef, replicas 2, status ready\n"
    "LAUNCH ERROR 2026-01-01 00:00:09,000 Container failed !!!\n"
    "Container rank 1 status failed cmd ['python', '-u', 't.py'] code 1 log log/workerlog.1\n"
    "LAUNCH INFO 2026-01-01 00:00:09,000 ------- ERROR LOG DETAIL -------\n"
)
ALIVE = "x.py:712: UserWarning: No ccache found. Please be aware that recompiling all source files"
RAISED = 'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\n    g()\n'


def test_the_first_process_is_shown_late_where_nobody_flushes(tmp_path: Path) -> None:
    """What a launcher streams of it may stand below the announcement of another one's log."""
    console = tmp_path / "console.log"
    lost = "RuntimeError: [/paddle/gloo/pair.cc:598] Connection closed by peer [10.0.0.1]:40111\n"
    first = f"{ALIVE}\nepoch 0 step 1 loss 1.0\n{RAISED}KeyError: 'mask'\n"
    console.write_text(f"{FAILED}{first}{ALIVE}\nepoch 0 step 1 loss 1.0\n{RAISED}{lost}")
    (cause,) = pdtriage.analyze(console).root_causes
    assert (cause.category, cause.rank) == ("code.python", 0)


def test_the_announced_one_alone_is_shown_below(tmp_path: Path) -> None:
    console = tmp_path / "console.log"
    console.write_text(f"{FAILED}{ALIVE}\nepoch 0 step 1 loss 1.0\n{RAISED}KeyError: 'mask'\n")
    (cause,) = pdtriage.analyze(console).root_causes
    assert (cause.category, cause.rank) == ("code.python", 1)


@pytest.mark.parametrize(("pid", "rank"), [(11, 0), (12, None)])
def test_who_speaks_on_a_console_is_known_by_its_pid(
    tmp_path: Path, pid: int, rank: int | None
) -> None:
    """What rank 0 merely caught does not become what rank 1 died of."""
    console = tmp_path / "console.log"
    launch = "launch train in CPU mode\nlaunch proc_id:11 idx:0\nlaunch proc_id:12 idx:1\n"
    stamp = f"I0101 10:00:00.000000 {pid} tcp_utils.cc:132] Successfully connected to 10.0.0.1:1\n"
    caught = (
        'Traceback (most recent call last):\n  File "t.py", line 1, in f\n    g()\nKeyError: 1\n'
    )
    abort = (
        "ERROR 2026-01-01 10:00:09,000 launch_utils.py:622] ABORT!!! Out of all 2 trainers, the "
        "trainer process with rank=[1] was aborted. Please check its log.\n"
    )
    console.write_text(launch + stamp + "epoch 0 step 1 loss 1.0\n" + caught + abort)
    (cause,) = pdtriage.analyze(console).root_causes
    assert cause.rank == 1
    assert (cause.category == "unknown") == (rank == 0)


TORCHRUN = """\
[rank13]: loading
step 1 loss 1.0
[rank13]: KeyError: 'label'
E0304 05:06:07.000000 1400 torch/distributed/elastic/multiprocessing/api.py:869] failed \
(exitcode: {code}) local_rank: 5 (pid: 4243) of binary: /usr/bin/python3
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-03-04_05:06:07
  host      : gpu7
  rank      : 13 (local_rank: 5)
  exitcode  : {code} (pid: 4243)
  error_file: <N/A>
  traceback : <N/A>
============================================================
"""


@pytest.mark.parametrize("code", [-9, 1])
def test_the_table_of_torchrun_says_which_rank_a_process_of_the_node_is(
    tmp_path: Path, code: int
) -> None:
    text = TORCHRUN.format(code=code)
    if code < 0:
        text = text.replace("[rank13]: KeyError: 'label'\n", "").replace("[rank13]: ", "")
    console = tmp_path / "console.log"
    console.write_text(text, encoding="utf-8")
    report = pdtriage.analyze(console)
    assert report.root_causes[0].ranks == (13,)
    ended = [r for r in report.ranks if r.exit_code is not None or r.signal is not None]
    assert [rank.rank for rank in ended] == [13]


STREAMED_LATE = """\
LAUNCH INFO 2026-01-01 00:00:00,000 Job: default, mode collective, replicas {replicas}[1:1], \
elastic False
LAUNCH INFO 2026-01-01 00:00:00,000 Run Pod: abcdef, replicas {replicas}, status ready
LAUNCH ERROR 2026-01-01 00:00:09,000 Container failed !!!
Container rank {failed} status failed cmd ['python', '-u', 'train.py'] code 1 log log/workerlog\
.{failed}
LAUNCH INFO 2026-01-01 00:00:09,000 ------------------------- ERROR LOG DETAIL ---------------------
LAUNCH INFO 2026-01-01 00:00:10,000 Exit code -15
"""
RAISED = 'Traceback (most recent call last):\n  File "t.py", line 9, in train\n    step()\n'
GLOO = "RuntimeError: [/gloo/transport/tcp/pair.cc:584] TIMEOUT self_rank = {0} pair_rank = {1} "
LOST = GLOO + "peer_str = [127.0.0.1]:4501\n"


def test_a_line_that_says_of_which_rank_it_is_parts_two_logs_on_a_console(tmp_path: Path) -> None:
    """The first rank's output is written late; the log below it begins in the midst of a line."""
    console = tmp_path / "console.log"
    first = "epoch 0 step 1 loss 1.0\n" + RAISED + LOST.format(0, 1)
    second = "r 0 step 1 loss 1.0\n" + RAISED + "ValueError: no such stage\n"
    console.write_text(STREAMED_LATE.format(replicas=6, failed=1) + first + second)
    report = pdtriage.analyze(console)
    assert [(cause.rank, cause.category) for cause in report.root_causes] == [(1, "code.python")]
    assert {victim.rank for victim in report.victims} == {0}


def test_ranks_on_the_consoles_of_two_nodes_are_those_of_the_job(tmp_path: Path) -> None:
    """Local numbers count from the first rank of their node."""
    start = "I0101 10:00:00.000000 {0} tcp_utils.cc:132] Successfully connected to 10.0.0.1:1\n"
    missing = "FileNotFoundError: [Errno 2] No such file or directory: '/data/train/7.bin'\n"
    outputs = (
        [(11, LOST.format(0, 2)), (11, LOST.format(0, 2))],
        [(21, missing), (22, LOST.format(3, 2))],
    )
    for node, texts in enumerate(outputs):
        said = "LAUNCH INFO 2026-01-01 00:00:00,000 "
        lines = ("-----------  Configuration  -----------", "nnodes: 2", f"rank: {node}", "-" * 50)
        head = "".join(f"{said}{line}\n" for line in lines)
        head += STREAMED_LATE.format(replicas=2, failed=node).replace("[1:1]", "[2:2]")
        text = "".join(start.format(pid) + RAISED + end for pid, end in texts)
        (tmp_path / f"node{node}").mkdir()
        (tmp_path / f"node{node}" / "console.log").write_text(head + text)
    report = pdtriage.analyze(tmp_path)
    assert report.root_causes[0].rank == 2
    assert {0, 3} <= {victim.rank for victim in report.victims}


def test_what_is_announced_of_the_first_process_is_that_process_once_more(tmp_path: Path) -> None:
    """A launcher streams it, and shows the end of its log again: one rank, which lost another."""
    console = tmp_path / "console.log"
    first = f"{ALIVE}\nepoch 0 step 1 loss 1.0\n" + RAISED + LOST.format(0, 1)
    console.write_text(STREAMED_LATE.format(replicas=3, failed=0) + first + first)
    report = pdtriage.analyze(console)
    assert [(cause.rank, cause.signature) for cause in report.root_causes] == [
        (1, "comm.gloo-pair-lost")
    ]
    assert [rank.rank for rank in report.ranks] == [0]
