"""Given the facts of files, when they go through bytes, then they come back as they were."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from pdtriage.knowledge import load_knowledge
from pdtriage.model import (
    CardSample,
    Echo,
    EnvBlock,
    Event,
    FileFacts,
    Frame,
    Life,
    LogFile,
    Pod,
    PodJob,
    Progress,
    Seam,
    Stamp,
    Text,
)
from pdtriage.reading.codec import pack_facts, unpack_facts
from pdtriage.reading.local import Read, read_here
from pdtriage.scan import Engine
from pdtriage.sources import Source, find
from pdtriage.sources.byte_stream import Memory

SCENARIOS = Path(__file__).parents[1] / "fixtures" / "scenarios"
QUIET = FileFacts(LogFile("log/workerlog.0", "worker", "log", 0, 0, 7, 1.5))
TALKATIVE = FileFacts(
    LogFile("log/workerlog.1", "worker", "log", 1),
    events=(
        Event("data.errno5", "cause", "data.io", 2, 3, "错误", fields={"path": "/d"}),
        Event("code.python", "cause", None, 3, 9, "x", frame=Frame("a.py", 3), before=("y",)),
    ),
    progress=(Progress(4, 50, 6), Progress(5, 60, 7, 1, 9, 0.5, 1.7e9)),
    stamps=(Stamp(1, 0, 1.7e9), Stamp(3, 30, 1.8e9, 77), Stamp(4, 40, 1.9e9, 77)),
    echoes=(Echo(3, 30, 2),),
    environments=(EnvBlock(1, {"PADDLE_TRAINER_ID": "1"}, 5),),
    endpoints=("10.0.0.1:6070",),
    lines=6,
    bytes=1 << 40,
    tail=("the end", "结束"),
    last_line=6,
    last_offset=70,
    notes=(Text("too many", "太多"),),
    pods=(Pod("p-0", "worker", 0, lives=(Life(1.0, 2.0, 137, "OOMKilled"),)),),
    pod_jobs=(PodJob("p", "Failed", {"worker": 2}),),
    seams=(Seam("log/workerlog.1.1", 0, 0, 1.5), Seam("log/workerlog.1", 3, 40)),
    cards=(CardSample(1.7e9, 2, 98, 70_000, 81_920),),
    undated=True,
    last_dated=1.8e9,
    unix_times=(1.7e9, 1.8e9),
)
ALL: list[Read] = [(QUIET, ()), (TALKATIVE, (("garbled", "log/workerlog.0"),)), (QUIET, ())]


def sent(reads: list[Read]) -> list[Read]:
    body = pack_facts(reads)
    assert body is not None
    return list(unpack_facts(body, [Source(facts.file, Memory(b"")) for facts, _ in reads]))


def test_every_fact_arrives_as_the_noun_it_was() -> None:
    assert all(TALKATIVE), "each kind of fact is there"
    assert repr(sent(ALL)) == repr(ALL)  # to a tuple a noun is equal


def test_all_facts_of_all_scenarios_come_back_as_they_were() -> None:
    found = find(sorted(SCENARIOS.iterdir())).sources
    reads = list(read_here(found, Engine(load_knowledge()), lambda *_: None))
    assert len(reads) > 300
    assert repr(sent(reads)) == repr(reads)


@pytest.mark.parametrize(
    "odd",
    [
        QUIET._replace(notes=(Text("workerlog.\udcff", ""),)),
        QUIET._replace(stamps=(Stamp(1, 0, 1.5, pid=1 << 64),)),
    ],
    ids=["a name that is not UTF-8", "a number too large"],
)
def test_what_cannot_be_sent_is_said_to_be(odd: FileFacts) -> None:
    assert pack_facts([(QUIET, ()), (odd, ())]) is None


NOTHING = msgspec.to_builtins(QUIET[1:])
"""What a file told of which there is nothing to tell: all fields of the facts but the file."""


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {},
        ["path"],
        [[NOTHING]],
        [[NOTHING, []], [NOTHING, []]],
        [[[*NOTHING, []], []]],
        [[["x", *NOTHING[1:]], []]],
        [[[*NOTHING[:6], "0", *NOTHING[7:]], []]],
        [[[[["a.b", "no role", None, 1, 0, "x"]], *NOTHING[1:]], []]],
    ],
)
def test_what_has_another_shape_is_refused(wrong: object) -> None:
    source = Source(QUIET.file, Memory(b""))
    right = msgspec.msgpack.encode([[NOTHING, []]])
    assert [facts.file for facts, _ in unpack_facts(right, [source])] == [QUIET.file]
    with pytest.raises(ValueError, match=r"\w"):
        list(unpack_facts(msgspec.msgpack.encode(wrong), [source]))


def test_bytes_of_anything_else_are_refused() -> None:
    for body in (
        b"",
        b"\xc1",
        b"[[1]]",
        (pack_facts(ALL) or b"")[:-1],
        (pack_facts(ALL) or b"") + b"x",
    ):
        with pytest.raises(ValueError, match=r"\w"):
            list(unpack_facts(body, [Source(QUIET.file, Memory(b""))] * 3))
