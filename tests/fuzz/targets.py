"""Every reader and parser as a function of bytes that must not raise, and what to begin with."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from pdtriage.analysis.bundle import write_bundle
from pdtriage.analysis.pipeline import analyze_all_runs
from pdtriage.knowledge import load_knowledge
from pdtriage.knowledge.parsers_file import read_tested
from pdtriage.launch.options.parse import parse_flags
from pdtriage.launch.rendezvous.announcements import parse_peer
from pdtriage.masking.secrets import masked_text
from pdtriage.model import FileKind, LogFile
from pdtriage.model.report_json import as_json
from pdtriage.reading.codec import unpack_facts
from pdtriage.record.fields import decode_message
from pdtriage.record.peer_facts import decode_facts
from pdtriage.record.reader import parse_record
from pdtriage.report import FORMATS, Options, reporter_named
from pdtriage.report.sanitise import inert, inert_json, inert_line, without_commands
from pdtriage.scan import Engine, scan, side_facts
from pdtriage.scan.kubernetes import reduced_documents
from pdtriage.scan.launcher_output import console_blocks
from pdtriage.sources import Limits, find
from pdtriage.sources.find.recognise import archive_by_content, recognise
from pdtriage.sources.source import Source
from pdtriage.support import cache
from pdtriage.support.errors import UserError
from tests.sources.builders import COMPRESSIONS, TWO_NODES, as_tar, as_zip

FIXTURES = Path(__file__).parents[1] / "fixtures"
SMALL = Limits(expanded=1 << 18, ratio=5, held=1 << 18, in_memory=1 << 20, entries=200)
LONGEST = 4096
TREE = {name: text[-1500:] for name, text in TWO_NODES.items()}
RECORD = b"""{"kind":"launch","schema":"pdtriage.run/1","launch":"a","started":1.0,"world_size":2}
{"kind":"start","role":"worker","rank":0,"local_rank":0,"pid":1,"log":"workerlog.0","time":1.0}
{"kind":"death","role":"worker","rank":0,"pid":1,"order":0,"code":1,"signal":null,"time":2.0}
{"kind":"peer","node":1,"what":"facts","facts":{"deaths":[],"ranks":[]},"time":2.0}
{"kind":"restart","again":true,"why":{"en":"x","zh":"y"}}
{"kind":"end","reason":"failed","exit_code":1,"time":3.0}
"""
SIGNATURE = b"""[[signature]]
id = "own.thing"
role = "cause"
category = "data.io"
title = { en = "Thing", zh = "\xe4\xb8\x9c\xe8\xa5\xbf" }
literals = ["broken thing"]
pattern = "broken thing (?P<what>\\\\w+)"
samples = ["a broken thing x"]
advice = [{ en = "Mend it", zh = "\xe4\xbf\xae" }]
"""


def side_file(kind: FileKind) -> Callable[[bytes], object]:
    return lambda raw: side_facts(LogFile("x", kind, "log", 0), raw)


def scanned(kind: FileKind) -> Callable[[bytes], object]:
    return lambda raw: scan(LogFile("x", kind, "log", 0), [raw], engine())


def archive(raw: bytes) -> None:
    with folder_with({"download": raw}) as folder:
        for source in find([folder / "download"], limits=SMALL).sources:
            given = sum(len(piece) for piece in source.chunks(4096))
            assert given <= max(SMALL.expanded, len(raw) * SMALL.ratio)


def names(raw: bytes) -> None:
    name, _, head = raw.partition(b"\0")
    recognise(os.fsdecode(name), head, "log", asked=True)
    archive_by_content(head, head)


def own_signatures(raw: bytes) -> None:
    with folder_with({"own.toml": raw}) as folder, contextlib.suppress(UserError):
        read_tested(folder / "own.toml")


def command_line(raw: bytes) -> None:
    words = [os.fsdecode(word) for word in raw.split(b"\0")]
    with contextlib.suppress(UserError):
        parse_flags(words, {})


def messages(raw: bytes) -> None:
    text = raw.decode("utf-8", "surrogateescape")
    decode_facts(decode_message(text) or {})
    with contextlib.suppress(UserError, ValueError):
        parse_peer("/rank/0", text)


def remembered(raw: bytes) -> None:
    source = Source(LogFile("workerlog.0", "worker", "log", 0), None)  # type: ignore[arg-type]
    with contextlib.suppress(ValueError):
        list(unpack_facts(raw, [source]))
    cache.unseal(raw, "0" * 32)


def words(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    masked_text(text)
    for act in (inert, inert_line, inert_json, without_commands):
        act(text)
    json.loads(inert_json(json.dumps(text)))


def whole_job(raw: bytes) -> None:
    """Parts between NUL bytes are the files of a folder; all formats are written."""
    parts = [*raw.split(b"\0"), b"", b"", b"", b"", b"", b""]
    own = ("workerlog.0", "workerlog.1", "console.log", "envlog.0", "default.ab.log")
    tree = dict(zip((*own, "pdtriage/run-0001.jsonl"), parts, strict=False))
    with folder_with(tree) as folder, contextlib.suppress(UserError):
        for report in analyze_all_runs(folder):
            as_json(report)
            for name in FORMATS:
                stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace")
                reporter_named(name).write(report, stream, Options())
        write_bundle([folder], folder / "made.tar")


TARGETS: dict[str, Callable[[bytes], object]] = {
    "env": side_file("env"),
    "backup_env": side_file("backup_env"),
    "pod": side_file("pod"),
    "endpoints": side_file("endpoints"),
    "k8s": side_file("k8s"),
    "reduced": reduced_documents,
    "tables": console_blocks,
    "record": lambda raw: parse_record(raw, "run-0001.jsonl"),
    "worker": scanned("worker"),
    "console": scanned("console"),
    "kernel": scanned("kernel"),
    "archive": archive,
    "names": names,
    "signatures": own_signatures,
    "flags": command_line,
    "messages": messages,
    "remembered": remembered,
    "words": words,
    "job": whole_job,
}


def seeds_of(target: str) -> list[bytes]:
    """Small honest inputs; mutations of them get further than noise does."""
    if target == "archive":
        packed = [pack(as_tar(TREE)) for pack in COMPRESSIONS.values()]
        return [as_zip(TREE), as_tar(TREE), *packed]
    if target == "signatures":
        return [SIGNATURE]
    if target == "flags":
        return [b"--nproc_per_node=2\0--master\0etcd://a:1\0--nnodes=2:4\0train.py\0--lr\0001"]
    if target in ("record", "messages", "remembered"):
        return [RECORD, *RECORD.splitlines()]
    texts = list(_fixture_texts())
    side = [TREE[name] for name in TREE if "log/" in name]
    joined = b"\0".join([*texts[:2], b"", *side[2:5], RECORD])
    return [*side, RECORD, *texts, joined]


@lru_cache(maxsize=1)
def _fixture_texts() -> tuple[bytes, ...]:
    found = []
    for folder in sorted((FIXTURES / "scenarios").iterdir())[::6]:
        for path in sorted(folder.rglob("*log*"))[:4]:
            if path.is_file():
                found.append(path.read_bytes()[-LONGEST:])
    return tuple(found)


@lru_cache(maxsize=1)
def engine() -> Engine:
    return Engine(load_knowledge())


@contextlib.contextmanager
def folder_with(tree: dict[str, bytes]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as made:
        for name, content in tree.items():
            path = Path(made) / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        yield Path(made)
