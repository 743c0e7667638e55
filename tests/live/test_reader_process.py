"""The process that reads the logs may hang or die: the job, its end and its report do not."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdtriage.live import wire
from pdtriage.live.judge import LaunchJudge
from pdtriage.live.log_follower import LogFollower
from pdtriage.record import peer_facts, schema
from pdtriage.record.reader import read_records
from pdtriage.record.schema import DeathRecord, ProcessRecord, RunRecord
from pdtriage.support.language import Text

from ..running import is_running, wait_until
from .conftest import Command, Desk

WAITING = """
print("epoch: 0, step: 1, loss: 0.5", flush=True)
if rank == 1:
    while not os.path.exists("go"):
        time.sleep(0.02)
    raise OSError(5, "Input/output error", "/data/part-7")
time.sleep(120)
"""
WHY = "OSError: [Errno 5] Input/output error: '/data/part-7'"
PATIENT = "--analysis-budget=18"
"""A third of it is what a silent reader gets."""


def reader_of(run: Command, besides: int = 0) -> int:
    """The pid of the process that reads, as soon as there is one (another one)."""
    found: list[int] = []

    def is_there() -> bool:
        found[:] = [pid for pid in _readers(run.process.pid) if pid != besides]
        return bool(found)

    assert wait_until(is_there, 30), run.said
    return found[0]


def _name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def started(desk: Desk, *words: str) -> tuple[Command, int]:
    desk.script(WAITING)
    run = desk.launch(PATIENT, *words, ranks=3)
    reader = reader_of(run)
    assert wait_until(lambda: (desk.folder / "log" / "workerlog.1").exists(), 60)
    assert wait_until(lambda: desk.log(1) != b"", 60), run.said
    return run, reader


@pytest.fixture(autouse=True)
def nothing_is_left(desk: Desk) -> Iterator[None]:
    yield
    for command in desk.started:
        assert command.process.poll() is not None
    pids = [process.pid for record in records(desk) for process in record.processes]
    assert wait_until(lambda: not any(map(is_running, pids)))
    assert wait_until(lambda: not _left(desk.folder)), "a reader outlived its launcher"


def records(desk: Desk) -> list[RunRecord]:
    return read_records(desk.folder / "log")


def _left(folder: Path) -> list[int]:
    """Readers without a launcher, of this test alone."""

    def is_here(pid: int) -> bool:
        try:
            return Path(os.readlink(f"/proc/{pid}/cwd")) == folder
        except OSError:
            return False

    return [pid for pid in _readers(1) if is_here(pid)]


def _readers(parent: int) -> list[int]:
    every = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    ours = [pid for pid in every if _name_of(pid) == "pdtriage-reader"]
    return [pid for pid in ours if _parent_of(pid) == parent]


def _parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


@pytest.mark.parametrize("launcher", ["native", pytest.param("paddle", marks=pytest.mark.live)])
def test_a_reader_that_hangs_delays_nothing(desk: Desk, launcher: str) -> None:
    run, reader = started(desk, f"--launcher={launcher}")
    os.kill(reader, signal.SIGSTOP)
    (desk.folder / "go").touch()
    if launcher == "native":
        run.await_line("exited with code 1")
        run.await_line("SIGTERM to rank 0, 2")
    trainers = [p.pid for p in records(desk)[0].processes if p.role == "worker"]
    assert wait_until(lambda: not any(map(is_running, trainers)), 60)
    assert is_running(reader), "it was to hang until all were dead"
    assert run.finish(90).code == 1
    assert run.said.count("the process that reads the logs") == 1
    assert "FAILED: rank 1 of 3" in run.said
    assert WHY in run.said
    assert records(desk)[0].exit_code == 1
    assert not is_running(reader)


def test_a_reader_that_is_killed_is_replaced(desk: Desk) -> None:
    run, reader = started(desk)
    os.kill(reader, signal.SIGKILL)
    run.await_line("another one reads them again")
    again = reader_of(run, besides=reader)
    (desk.folder / "go").touch()
    assert run.finish(90).code == 1
    assert "FAILED: rank 1 of 3" in run.said
    assert WHY in run.said
    assert run.said.count("rank 1 on 127.0.0.1") == 1
    assert not is_running(again)


def test_a_reader_that_cannot_live_costs_the_report_and_not_the_exit_code(desk: Desk) -> None:
    run, reader = started(desk)
    for _ in range(3):
        os.kill(reader, signal.SIGKILL)
        reader = reader_of(run, besides=reader)
    os.kill(reader, signal.SIGKILL)
    run.await_line("logs are no longer followed")
    (desk.folder / "go").touch()
    assert run.finish(90).code == 1
    assert "judging by exit order alone; `pdtriage analyze log` reads them" in run.said
    assert "rank=[1] was aborted" in run.said
    assert records(desk)[0].exit_code == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_who_wants_to_go_during_the_last_analysis_goes(desk: Desk, number: signal.Signals) -> None:
    run, reader = started(desk, "--analysis-budget=600")
    os.kill(reader, signal.SIGSTOP)
    (desk.folder / "go").touch()
    run.await_line("SIGTERM to rank 0, 2")
    assert wait_until(lambda: records(desk)[0].reason == "failed")
    assert records(desk)[0].exit_code is None
    run.stop(number)
    assert run.finish(30).code == 1
    assert "told to stop while the logs were being read" in run.said
    record = records(desk)[0]
    assert (record.reason, record.exit_code) == ("failed", 1)
    assert not is_running(reader)


def test_a_reader_does_not_outlive_a_launcher_that_is_killed(desk: Desk) -> None:
    run, reader = started(desk)
    os.kill(reader, signal.SIGSTOP)  # it cannot even notice
    run.process.kill()
    run.finish()
    assert wait_until(lambda: not is_running(reader))


def test_what_there_is_no_time_to_read_is_named(tmp_path: Path) -> None:
    log = tmp_path / "workerlog.0"
    harmless = b"epoch: 0, step: 1, loss: 0.5\n" * 4000
    log.write_bytes(harmless * 40 + WHY.encode() + b"\n")
    follower = LogFollower(lambda _: None, events=False)
    process = ProcessRecord("worker", 0, 0, None, None, 7, log.name, 0, 0.0, 0.0)
    follower.follow(process, str(tmp_path))
    (facts,) = follower.facts(seconds=0).values()
    assert [event.text for event in facts.events] == [WHY]
    (event,) = facts.events
    assert log.read_bytes()[event.offset :].startswith(WHY.encode())
    (note,) = facts.notes
    assert note.en.startswith("workerlog.0: 3 MB in its middle were not read, for want of time")
    # Given the time, nothing is left out.
    whole = LogFollower(lambda _: None, events=False)
    whole.follow(process, str(tmp_path))
    (facts,) = whole.facts().values()
    assert not facts.notes
    assert facts.events[0].line == 160_001


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_what_was_not_read_may_hold_another_cause(tmp_path: Path, seconds: float) -> None:
    harmless = b"epoch: 0, step: 1, loss: 0.5\n" * 80_000
    where = b'Traceback (most recent call last):\n  File "/job/train.py", line 3, in read\n'
    follower = LogFollower(lambda _: None, events=False)
    processes, deaths = [], []
    for rank, (end, code) in enumerate([(where + WHY.encode() + b"\n", 1), (b"", None)]):
        (tmp_path / f"workerlog.{rank}").write_bytes(harmless + end)
        processes.append(
            ProcessRecord("worker", rank, rank, None, None, 7 + rank, f"workerlog.{rank}", 0, 0, 0)
        )
        signalled = None if code else 15
        deaths.append(
            DeathRecord(
                rank, "worker", rank, rank, 7 + rank, 9, 9, code, signalled, False, code is None
            )
        )
        follower.follow(processes[-1], str(tmp_path))
    judge = LaunchJudge(follower, str(tmp_path), "en")
    record = RunRecord(
        "run-0001.jsonl",
        1,
        started=1.0,
        world_size=2,
        processes=tuple(processes),
        deaths=tuple(deaths),
        ended=10.0,
        reason="failed",
    )
    assert judge.conclude(record, seconds).culprits == (0,)
    (cause,) = judge.report_on_launch(record, {}).root_causes
    assert cause.confidence == ("proven" if seconds else "likely")


@pytest.mark.parametrize("named", ["whole", "from here", "by a link"])
def test_lines_below_an_error_count_however_the_log_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """The file of a log is opened again for them, and by a name without links only."""
    logs = tmp_path / "log"
    logs.mkdir()
    (tmp_path / "link").symlink_to(logs)
    monkeypatch.chdir(tmp_path)
    folder = {"whole": str(logs), "from here": "log", "by a link": str(tmp_path / "link")}[named]
    where = 'Traceback (most recent call last):\n  File "t.py", line 3, in push\n    g()\n'
    died = f"Exception in thread pusher:\n{where}{WHY}\n"
    seen = "".join(f"sample {number} was seen\n" for number in range(9))
    follower = LogFollower(lambda _: None, events=False)
    processes, deaths = [], []
    for rank in range(2):
        (logs / f"workerlog.{rank}").write_text(seen + died + seen)
        processes.append(
            ProcessRecord("worker", rank, rank, None, None, 7 + rank, f"workerlog.{rank}", 0, 0, 0)
        )
        deaths.append(
            DeathRecord(rank, "worker", rank, rank, 7 + rank, 9, 9, None, 15, False, True)
        )
        follower.follow(processes[-1], folder)
    record = RunRecord(
        "run-0001.jsonl",
        1,
        started=1.0,
        world_size=2,
        processes=tuple(processes),
        deaths=tuple(deaths),
        ended=10.0,
        reason="interrupted",
    )
    report = LaunchJudge(follower, folder, "en").report_on_launch(record, {})
    assert report.verdict == "interrupted"


def test_what_is_told_arrives_as_it_was(tmp_path: Path) -> None:
    odd = os.fsdecode(b"log\xff\xfe")
    process = ProcessRecord("worker", 0, 0, "gpu:0", None, 7, "workerlog.0", 0, 0.5, 1.5)
    record = RunRecord(
        str(tmp_path / odd),
        1,
        argv=("run", "a\nb"),
        processes=(process,),
        roles={"server": ("a:1",)},
        notes=(Text("x", "中"),),
    )
    question = wire.Ask(3, "conclude", record, 1.0, {0: (True, Text("a", "b"))})
    line = wire.pack_message(question)
    assert line.count(b"\n") == 1
    assert wire.unpack_message(line) == question
    assert isinstance(wire.unpack_message(line).record.processes[0], ProcessRecord)


def test_every_noun_of_a_record_can_be_told() -> None:
    nouns = {
        name: noun
        for module in (schema, peer_facts)
        for name, noun in vars(module).items()
        if isinstance(noun, type) and hasattr(noun, "_fields")
    }
    assert len(nouns) > 9
    for name, noun in nouns.items():
        values = [None] * len(noun._fields)  # type: ignore[attr-defined]
        assert type(wire.unpack_message(wire.pack_message(noun(*values)))) is noun, name


@pytest.mark.parametrize(
    "line", [b"{", b'{"os.system": ["x"]}', b'{"Text": [1]}', b'{"a":1,"b":2}']
)
def test_what_makes_no_sense_is_no_message(line: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        wire.unpack_message(line)
