"""Given the facts of files, when they are sent from one process to another, then they arrive."""

from __future__ import annotations

import marshal

from pdtriage.model import (
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
    Stamp,
    Text,
)
from pdtriage.reading.local import Read
from pdtriage.reading.parcels import packed, unpacked
from pdtriage.sources import Source
from pdtriage.sources.byte_stream import Memory

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
)
ALL: list[Read] = [(QUIET, ()), (TALKATIVE, (Text("garbled", "乱码"),)), (QUIET, ())]


def sent(reads: list[Read]) -> list[Read]:
    sources = [Source(facts.file, Memory(b"")) for facts, _ in reads]
    return list(unpacked(marshal.loads(marshal.dumps(packed(reads))), sources))


def test_every_fact_arrives_as_the_noun_it_was() -> None:
    assert all(TALKATIVE), "each kind of fact is there"
    assert repr(sent(ALL)) == repr(ALL)  # to a tuple a noun is equal


def test_files_that_say_little_need_no_pickle() -> None:
    plain = [(FileFacts(QUIET.file, progress=TALKATIVE.progress, tail=("a",)), ())] * 3

    assert not [column for column in packed(plain) if isinstance(column, bytes)]
    assert repr(sent(plain)) == repr(plain)
