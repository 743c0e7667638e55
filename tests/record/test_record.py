"""Run records are read whatever state they are in, and say what was written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdtriage.record.peer_facts import PeerRank
from pdtriage.record.reader import parse_record, read_records
from pdtriage.record.schema import (
    DeathRecord,
    PeerFacts,
    PeerRecord,
    ProcessRecord,
    RestartRecord,
    SignalRecord,
)
from pdtriage.record.writer import Recorder, amend
from pdtriage.support.language import Text

LINES = [
    {"kind": "launch", "launch": "ab", "pid": 1, "argv": ["pdtriage"], "world_size": 2},
    {"kind": "start", "rank": 0, "local_rank": 0, "pid": 10, "log": "workerlog.0", "offset": 5},
    {"kind": "start", "rank": 1, "local_rank": 1, "pid": 11, "log": "workerlog.1", "offset": 0},
    {"kind": "death", "order": 0, "rank": 1, "pid": 11, "code": 3, "time": 2.5},
    {"kind": "signal", "rank": 0, "pid": 10, "signal": 15, "reason": "failure"},
    {"kind": "death", "order": 1, "rank": 0, "pid": 10, "signal": 15, "stopped": True},
    {"kind": "end", "reason": "failed", "time": 9.0, "exit_code": 3},
]
WHOLE = b"".join(json.dumps(line).encode() + b"\n" for line in LINES)


def write(folder: Path, name: str, content: bytes) -> None:
    (folder / "pdtriage").mkdir(exist_ok=True)
    (folder / "pdtriage" / name).write_bytes(content)


def test_a_whole_record(tmp_path: Path) -> None:
    write(tmp_path, "run-0003.jsonl", WHOLE)
    (record,) = read_records(tmp_path)
    assert (record.number, record.launch, record.exit_code) == (3, "ab", 3)
    assert [death.rank for death in record.deaths] == [1, 0]
    assert record.processes[0].offset == 5
    assert record.notes == ()
    assert read_records(tmp_path / "pdtriage") == [record]


@pytest.mark.parametrize("cut", [20, 200, 500, len(WHOLE) - 3])
def test_a_torn_record_keeps_what_was_written(tmp_path: Path, cut: int) -> None:
    write(tmp_path, "run-0001.jsonl", WHOLE[:cut])
    records = read_records(tmp_path)
    complete = WHOLE[:cut].count(b"\n")
    if complete == 0:
        assert records == []
        return
    (record,) = records
    assert record.launch == "ab"
    assert record.ended is None
    assert len(record.processes) + len(record.deaths) + len(record.signals) == complete - 1
    assert "could not be read" in record.notes[0].en


def test_notes_are_in_both_languages_and_old_ones_in_one(tmp_path: Path) -> None:
    notes = (
        b'{"kind": "note", "text": "told to stop", "zh": "\xe5\x81\x9c\xe6\xad\xa2"}\n'
        b'{"kind": "note", "text": "as before"}\n'
    )
    write(tmp_path, "run-0001.jsonl", WHOLE + notes)
    (record,) = read_records(tmp_path)
    assert record.notes == (Text("told to stop", "停止"), Text("as before", "as before"))


def test_foreign_files_and_folders_are_passed_over(tmp_path: Path) -> None:
    assert read_records(tmp_path) == []
    assert read_records(tmp_path / "nowhere") == []
    write(tmp_path, "run-0001.jsonl", b"\x00\xff\x00 garbage\n[1, 2]\n12\n")
    write(tmp_path, "run-x.jsonl", WHOLE)
    write(tmp_path, "report.json", b"{}")
    assert read_records(tmp_path) == []
    (tmp_path / "pdtriage" / "run-0002.jsonl").mkdir()
    (record,) = read_records(tmp_path)
    assert record.notes
    assert record.processes == ()


def test_attempts_are_in_order(tmp_path: Path) -> None:
    for number in (10, 9, 2):
        write(tmp_path, f"run-{number:04d}.jsonl", WHOLE)
    assert [record.number for record in read_records(tmp_path)] == [2, 9, 10]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        *("kind", "pid", "rank", "order", "code", "signal", "offset", "time", "argv"),
        *("endpoints", "versions", "log", "facts", "node"),
    ]
)
KINDS = st.sampled_from(
    ["launch", "start", "death", "signal", "peer", "note", "size", "end", "guardian", "other"]
)


@given(st.lists(st.tuples(KINDS, st.dictionaries(KEYS, JSON, max_size=6)), max_size=6))
@settings(max_examples=150, deadline=None)
def test_wrong_types_never_raise(entries: list[tuple[str, dict[str, object]]]) -> None:
    content = b"".join(
        json.dumps({**fields, "kind": kind}).encode() + b"\n" for kind, fields in entries
    )
    parse_record(content, "run-0001.jsonl")


def test_a_number_beyond_any_float_is_no_number() -> None:
    content = b'{"kind": "end", "time": 1' + b"0" * 400 + b"}\n"
    record = parse_record(content, "run-0001.jsonl")
    assert record is not None
    assert record.ended is None


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1", "1" + 99 * "0"])
def test_numbers_that_count_nothing_are_none(number: str) -> None:
    """Of any of them the report would be no JSON, or not as its schema has it, or none at all."""
    lines = [
        '{"kind": "launch", "launch": "ab", "pid": 1, "world_size": %s}',
        '{"kind": "start", "pid": 7, "rank": %s, "local_rank": %s, "attempt": %s}',
        '{"kind": "end", "last_step": %s, "last_epoch": %s}',
    ]
    record = parse_record("\n".join(lines).replace("%s", number).encode(), "run-0001.jsonl")
    assert record is not None
    assert (record.world_size, record.last_step, record.last_epoch) == (None, None, None)
    assert [(p.rank, p.local_rank, p.attempt) for p in record.processes] == [(None, None, 0)]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_a_time_is_finite(number: str) -> None:
    head = f'{{"kind": "launch", "launch": "ab", "pid": 1, "started": {number}}}'
    record = parse_record(head.encode(), "run-0001.jsonl")
    assert record is not None
    assert record.started is None


def test_what_the_launcher_holds_is_what_anyone_reads(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path / "pdtriage"))
    recorder.launch({"launch": "ab", "pid": 1, "argv": ["pdtriage"], "started": 1.5})
    recorder.launch({"world_size": 2, "roles": {"server": ["h:1"]}, "versions": {"python": "3"}})
    for pid in (10, 11):
        recorder.start(ProcessRecord("worker", pid - 10, 0, None, "h:2", pid, "w", 5, 2.5, 3.5))
    recorder.death(DeathRecord(0, "worker", 1, 1, 11, 4.5, 5.5, 3, None, False, False, 0.5, 0.5, 9))
    recorder.signal(SignalRecord(10, 0, 15, "failure", 6.5, 7.5))
    facts = PeerFacts("failed", "worker", 3, 1, ranks=(PeerRank("worker", 3, pids=(7,)),))
    recorder.peer(PeerRecord(1, "facts", 8.5, facts=facts))
    recorder.peer(PeerRecord(1, "silent", 9.5, 3.5))
    recorder.peer(PeerRecord(1, "back", 10.5))
    recorder.note(Text("odd", "怪"))
    recorder.silence(Text("quiet", "静"))
    recorder.silence(Text("quiet again", "又静"))
    recorder.size(10, 99)
    recorder.end({"reason": "failed", "interrupted_by": None, "time": 11.5})
    recorder.end({"reason": "failed", "time": 11.5, "exit_code": 3, "last_step": 4})
    recorder.restart(RestartRecord(True, Text("worth it", "值得")))
    recorder.close()
    recorder.silence(Text("too late", "太晚"))
    (read,) = read_records(tmp_path)
    assert read._replace(size=0) == recorder.record()
    assert read.size == os.stat(read.file).st_size
    assert [note.en for note in read.notes] == ["odd", "quiet again"]
    assert (read.processes[0].end_offset, read.peers[0].facts) == (99, facts)
    amended = amend(read, RestartRecord(False, Text("no", "不")), 7, "failed")
    (again,) = read_records(tmp_path)
    assert again._replace(size=read.size) == amended
    assert (amended.exit_code, amended.last_step) == (7, 4)
