"""Given the job of Paddle's documentation, however its files were kept, then rank 4 is blamed.

Two hosts with four cards each: node 0's processes were stopped with SIGTERM, the DataLoader of
rank 4 could not read. The documentation numbers logs by rank, real launchers by local rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import pdtriage
from pdtriage.model import Report

FIRST, SECOND = "10.20.0.1", "10.20.0.2"
PORTS = (3128, 5762, 6213, 6170)
ENDPOINTS = [f"{host}:{port}" for host in (FIRST, SECOND) for port in PORTS]
EIGHT, NODE_0, NODE_1 = range(8), range(4), range(4, 8)
READ_ERROR = """\
2023-05-04 05:08:55,091 - ERROR - DataLoader reader thread raised an exception!      
Error: [Errno 5] Input/output error      
Traceback (most recent call last):
   File "/srv/train/reader.py", line 218, in __next__
      data = next(self.loader)
   File "/usr/local/lib/python3.7/site-packages/paddle/fluid/dataloader/dataloader_iter.py", line 779, in __next__
      data = self._reader.read_next_var_list()
SystemError: (Fatal) Blocking queue is killed because the data reader raises an exception.
[Hint: Expected killed_ != true, but received killed_:1 == true:1.] (at /paddle/paddle/fluid/operators/reader/blocking_queue.h:158)
"""  # noqa: E501, W291


def test_as_it_is_printed(tmp_path: Path) -> None:
    report = analyzed(tmp_path, {**logs(EIGHT), **listed(ENDPOINTS)})
    blames_rank_4(report, SECOND)
    assert {v.rank for v in report.victims} == {0, 1, 2, 3, 5, 6, 7}
    assert [(node.rank, node.host) for node in report.job.nodes] == [(0, FIRST), (1, SECOND)]
    assert not report.notes


@pytest.mark.parametrize("ranks", ["4", "0, 1, 2, 3", "2,3", "0, 4"])
@pytest.mark.parametrize("kept", [ENDPOINTS, None], ids=["endpoints", "none"])
def test_with_the_console(ranks: str, kept: list[str] | None, tmp_path: Path) -> None:
    files = {**logs(EIGHT), **listed(kept), "console.log": aborted(ranks)}
    blames_rank_4(analyzed(tmp_path, files), SECOND if kept else None)


@pytest.mark.parametrize("console", ["", "4"])
def test_three_runs_appended(console: str, tmp_path: Path) -> None:
    files = {**listed(ENDPOINTS), **({"console.log": aborted(console)} if console else {})}
    for rank, log in zip(EIGHT, logs(EIGHT).values(), strict=True):
        older = started(rank, 1) + steps(1) + stopped(rank, 1, 55)
        done = started(rank, 3) + steps(3)
        files[f"log/workerlog.{rank}"] = older + done + log
    report = analyzed(tmp_path, files)
    blames_rank_4(report, SECOND)
    assert len(report.runs) == 3


def test_only_the_words_the_documentation_shows(tmp_path: Path) -> None:
    signalled = (
        "  [SignalInfo: *** SIGTERM (@0x3fe) received by PID 64 (TID 0x7f) from PID 22 ***]\n"
    )
    files = {f"log/workerlog.{rank}": steps(5) for rank in EIGHT}
    files |= {"log/workerlog.0": steps(5) + signalled, "log/workerlog.4": READ_ERROR}
    blames_rank_4(analyzed(tmp_path, {**files, **listed(ENDPOINTS)}), SECOND)


@pytest.mark.parametrize("order", [ENDPOINTS[4:] + ENDPOINTS[:4], ENDPOINTS[::2] + ENDPOINTS[1::2]])
def test_the_order_of_endpoints_is_that_of_ranks(order: list[str], tmp_path: Path) -> None:
    report = analyzed(tmp_path, {**logs(EIGHT), **listed(order)})
    host = order[4].partition(":")[0]
    blames_rank_4(report, host)
    of_host = [rank for rank in EIGHT if order[rank].startswith(host)]
    assert report.root_causes[0].local_rank == of_host.index(4)


@pytest.mark.parametrize("many", [2, 4])
def test_endpoints_of_an_older_run_place_nobody(many: int, tmp_path: Path) -> None:
    report = analyzed(tmp_path, {**logs(EIGHT), **listed(ENDPOINTS[:many])})
    blames_rank_4(report, None)
    assert len(report.runs) == 1
    assert f"lists {many} endpoints and is not of this run" in str(report.notes)


def test_endpoints_of_a_bigger_run_are_seen_by_what_the_launcher_counts(tmp_path: Path) -> None:
    more = [*ENDPOINTS, *(f"10.20.0.3:{port}" for port in PORTS)]
    files = {**logs(EIGHT), **listed(more), "console.log": aborted("4")}
    blames_rank_4(analyzed(tmp_path, files), None)


@pytest.mark.parametrize("ranks", ["0, 1, 2, 3", "0"])
@pytest.mark.parametrize("kept", [ENDPOINTS, None], ids=["endpoints", "none"])
def test_node_0_and_its_console_were_not_interrupted(
    ranks: str, kept: list[str] | None, tmp_path: Path
) -> None:
    report = analyzed(tmp_path, {**logs(NODE_0), **listed(kept), "console.log": aborted(ranks)})
    assert report.verdict == "failed"
    assert not {0, 1, 2, 3} & {rank for cause in report.root_causes for rank in cause.ranks}
    if kept:
        assert f"ranks 4-7 on {SECOND}" in str(report.root_causes[0].why)
        assert {row.rank: row.host for row in report.ranks}[3] == FIRST


def test_node_0_alone_may_be_either_node(tmp_path: Path) -> None:
    report = analyzed(tmp_path, {**logs(NODE_0), **listed(ENDPOINTS)})
    assert report.verdict == "failed"
    assert {row.rank for row in report.ranks} == {None}
    assert f"of {FIRST} (ranks 0-3) or of {SECOND} (ranks 4-7)" in str(report.notes)


@pytest.mark.parametrize("kept", [ENDPOINTS, None], ids=["endpoints", "none"])
def test_the_launcher_names_a_rank_of_the_other_node(
    kept: list[str] | None, tmp_path: Path
) -> None:
    report = analyzed(tmp_path, {**logs(NODE_0), **listed(kept), "console.log": aborted("4")})
    assert report.verdict == "failed"
    cause = report.root_causes[0]
    assert (cause.rank, cause.host) == (4, SECOND if kept else None)
    assert {row.rank for row in report.ranks if row.files} == {0, 1, 2, 3}


@pytest.mark.parametrize("kept", [ENDPOINTS, None], ids=["endpoints", "none"])
def test_node_1_numbered_by_rank(kept: list[str] | None, tmp_path: Path) -> None:
    report = analyzed(tmp_path, {**logs(NODE_1), **listed(kept)})
    blames_rank_4(report, SECOND if kept else None)
    assert report.root_causes[0].local_rank == (0 if kept else None)


@pytest.mark.parametrize("kept", [ENDPOINTS, None], ids=["endpoints", "none"])
def test_node_1_numbered_by_local_rank(kept: list[str] | None, tmp_path: Path) -> None:
    files = {**logs(NODE_1, first=4), **listed(kept), "console.log": aborted("4")}
    report = analyzed(tmp_path, files)
    blames_rank_4(report, SECOND if kept else None)
    assert report.root_causes[0].local_rank == 0


def test_node_1_by_local_rank_says_nothing_of_its_rank(tmp_path: Path) -> None:
    report = analyzed(tmp_path, {**logs(NODE_1, first=4), **listed(ENDPOINTS)})
    cause = report.root_causes[0]
    assert (cause.category, cause.rank, cause.local_rank) == ("data.io", None, 0)
    assert f"of {FIRST} (ranks 0-3) or of {SECOND} (ranks 4-7)" in str(report.notes)


@pytest.mark.parametrize("index", [4, 0])
def test_a_process_that_names_its_rank_places_the_others(index: int, tmp_path: Path) -> None:
    files = {**logs(NODE_1, first=4 - index), **listed(ENDPOINTS)}
    told = (
        "I0504 05:00:09.2 76 nccl_context.cc:189] init nccl context nranks: 8 local rank: 6 "
        "gpu id: 2\n"
    )
    files[f"log/workerlog.{index + 2}"] = told + files[f"log/workerlog.{index + 2}"]
    blames_rank_4(analyzed(tmp_path, files), SECOND)


@pytest.mark.parametrize("folders", [("a/log", "b/log"), ("node0/log", "node1/log")])
def test_a_folder_for_each_node_numbered_by_rank(folders: tuple[str, str], tmp_path: Path) -> None:
    files = {}
    for folder, ranks in zip(folders, (NODE_0, NODE_1), strict=True):
        files |= {**logs(ranks, folder=folder), **listed(ENDPOINTS, folder)}
    report = analyzed(tmp_path, files)
    blames_rank_4(report, SECOND)
    assert sorted(row.rank or 0 for row in report.ranks) == list(EIGHT)


def test_a_folder_for_each_node_numbered_by_local_rank(tmp_path: Path) -> None:
    files = {**logs(NODE_0, folder="node0/log"), **listed(ENDPOINTS, "node0/log")}
    files |= {**logs(NODE_1, 4, "node1/log"), **listed(ENDPOINTS, "node1/log")}
    blames_rank_4(analyzed(tmp_path, files), SECOND)


def blames_rank_4(report: Report, host: str | None) -> None:
    assert report.verdict == "failed"
    cause = report.root_causes[0]
    assert (cause.category, cause.ranks, cause.host) == ("data.io", (4,), host)
    assert "[Errno 5]" in cause.evidence[0].text


def analyzed(tmp_path: Path, files: Mapping[str, str]) -> Report:
    for name, text in files.items():
        path = tmp_path / "job" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return pdtriage.analyze(tmp_path / "job")


def logs(ranks: range, first: int = 0, folder: str = "log") -> dict[str, str]:
    """Of these ranks, numbered from `first` on: the launchers have the pids 1022 and 2044."""
    return {f"{folder}/workerlog.{rank - first}": log(rank) for rank in ranks}


def log(rank: int) -> str:
    launcher = 1022 if rank < 4 else 2044
    end = READ_ERROR if rank == 4 else stopped(rank, 5, launcher)
    return started(rank, 5) + steps(5) + end


def listed(endpoints: list[str] | None, folder: str = "log") -> dict[str, str]:
    """As the legacy launcher writes it: a space behind the colon, no line end at the end."""
    if endpoints is None:
        return {}
    return {f"{folder}/endpoints.log": "\n".join(["PADDLE_TRAINER_ENDPOINTS: ", *endpoints])}


def aborted(ranks: str) -> str:
    return (
        f"ABORT!!! Out of all 8 trainers, the trainer process with rank=[{ranks}] was aborted. "
        "Please check its log.\n"
    )


def pid_of(rank: int, hour: int) -> int:
    return 1000 * (hour + 1) + 100 * (rank > 3) + rank


def started(rank: int, hour: int) -> str:
    return (
        f"W0504 {hour:02}:00:10.123456 {pid_of(rank, hour):5} device_context.cc:404] Please NOTE: "
        "device: 0, GPU Compute Capability: 7.0, Driver API Version: 11.0, "
        "Runtime API Version: 10.2\n"
    )


def steps(hour: int) -> str:
    return "".join(
        f"2023-05-04 {hour:02}:0{minute}:10,000 - INFO - epoch 0 step {10 * minute} loss 0.5\n"
        for minute in range(1, 8)
    )


def stopped(rank: int, hour: int, launcher: int) -> str:
    time = 1683158400 + hour * 3600 + 538
    return f"""\


--------------------------------------
C++ Traceback (most recent call last):
--------------------------------------
0   paddle::framework::SignalHandle(char const*, int)
1   paddle::platform::GetCurrentTraceBackString[abi:cxx11]()

----------------------
Error Message Summary:
----------------------
FatalError: `Termination signal` is detected by the operating system.
  [TimeInfo: *** Aborted at {time} (unix time) try "date -d @{time}" if you are using GNU date ***]
  [SignalInfo: *** SIGTERM (@0x3fe) received by PID {pid_of(rank, hour)} (TID 0x7f6c) from PID {launcher} ***]
"""  # noqa: E501
