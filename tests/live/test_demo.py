"""`pdtriage demo`, end to end."""

from __future__ import annotations

import json
import shlex

import jsonschema

from .conftest import Desk
from .test_run import SCHEMA


def test_the_demo_blames_the_failing_disk(desk: Desk) -> None:
    demo = desk.run("demo", "--log-dir", "logs")
    assert demo.code == 0
    report = json.loads((desk.folder / "logs" / "pdtriage" / "report.json").read_text())
    jsonschema.validate(report, SCHEMA)
    cause = report["root_causes"][0]
    assert (cause["category"], cause["ranks"], cause["confidence"]) == ("data.io", [2], "proven")
    assert sorted(victim["rank"] for victim in report["victims"]) == [0, 1, 3]
    lines = [line for line in demo.err if "rank 2 on 127.0.0.1:" in line]
    assert len(lines) == 1
    assert demo.said.index(lines[0]) < demo.said.index("exited with code")
    told = [(moment["rank"], moment["kind"]) for moment in report["timeline"]]
    assert told[:2] == [(None, "start"), (2, "error")], "what led to the others stands before them"


def test_the_demo_leaves_its_logs_and_says_where(desk: Desk) -> None:
    demo = desk.run("demo", "--lang", "zh", TMPDIR=str(desk.folder))
    assert demo.code == 0
    assert "失败：rank 2" in demo.said
    (left,) = desk.folder.glob("pdtriage-demo-*")
    assert [entry.name for entry in left.iterdir()] == ["log"]
    command = demo.said.strip().splitlines()[-1].removeprefix("$ ")
    assert shlex.split(command) == ["pdtriage", "analyze", str(left / "log")]
    again = desk.run(*shlex.split(command)[1:], "--quiet")
    assert again.out.startswith(b"failed: rank 2 of 4")
