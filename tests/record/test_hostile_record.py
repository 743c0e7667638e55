"""A record with what no text holds, and no one counted: it costs a value, never the report."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

from pdtriage.analysis.bundle import write_bundle
from pdtriage.analysis.pipeline import analyze_all_runs
from pdtriage.report import FORMATS, Options, reporter_named
from pdtriage.support.errors import UserError

ODD = ("\ud800", "x\udfff", "\udc80y", "\x1b[31m", 10**400, -1, 1e308, None, [], {}, True, 1 << 62)
ENTRIES: list[dict[str, object]] = [
    {
        "kind": "launch",
        "schema": "pdtriage.run/1",
        "launch": "a",
        "started": 1.0,
        "argv": ["run", "a.py"],
        "cwd": "/x",
        "host": "h",
        "pod": "p",
        "job": "default",
        "world_size": 2,
        "endpoints": ["10.0.0.1:1", "10.0.0.1:2"],
        "versions": {"paddle": "3"},
    },
    {
        "kind": "start",
        "role": "worker",
        "rank": 0,
        "local_rank": 0,
        "pid": 11,
        "time": 1.0,
        "log": "workerlog.0",
        "offset": 0,
        "device": "0",
        "endpoint": "10.0.0.1:1",
    },
    {"kind": "death", "role": "worker", "rank": 0, "pid": 11, "order": 0, "code": 1, "time": 2.0},
    {"kind": "signal", "pid": 12, "rank": 1, "signal": 15, "reason": "failed", "time": 2.0},
    {"kind": "peer", "node": 1, "what": "silent", "silent_seconds": 9.0, "time": 2.0},
    {"kind": "note", "text": "one", "zh": "一"},
    {"kind": "silence", "text": "none wrote", "zh": "无"},
    {"kind": "restart", "again": True, "why": {"en": "it may pass", "zh": "可能"}},
    {"kind": "end", "reason": "failed", "exit_code": 1, "time": 3.0},
]


def test_every_value_may_be_anything(tmp_path: Path) -> None:
    (tmp_path / "pdtriage").mkdir()
    (tmp_path / "workerlog.0").write_text("step 1\nOSError: [Errno 5] Input/output error\n")
    chance = random.Random(15)
    for share in (1.0, *[0.2] * 12):
        lines = [json.dumps(_spoilt(entry, share, chance)) for entry in ENTRIES]
        (tmp_path / "pdtriage/run-0001.jsonl").write_text("\n".join(lines))
        try:
            reports = analyze_all_runs(tmp_path)
        except UserError:
            continue
        for name in FORMATS:
            stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace")
            reporter_named(name).write(reports[-1], stream, Options())
            stream.flush()
        write_bundle([tmp_path], tmp_path.parent / "made.tar")


def _spoilt(value: object, share: float, chance: random.Random) -> object:
    if isinstance(value, dict):
        return {
            key: item if key in ("kind", "what") else _spoilt(item, share, chance)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_spoilt(item, share, chance) for item in value]
    return chance.choice(ODD) if chance.random() < share else value
