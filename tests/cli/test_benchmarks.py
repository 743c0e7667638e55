"""The benchmarks themselves, on sizes that take no time: they run and what they say is sound."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def said(script: str, *arguments: str) -> str:
    command = [sys.executable, str(BENCHMARKS / script), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def test_growth_says_whether_the_culprits_were_right() -> None:
    told = json.loads(said("growth.py", "--judge", "24", "two", "host"))
    assert told["right"] is True
    *steps, whole = told["seconds"]
    assert abs(sum(steps) - whole) < 1e-3


def test_following_sees_events_as_tail_sees_lines(tmp_path: Path) -> None:
    results = tmp_path / "results.md"
    wishes = ("--files", "3", "--rate", "300", "--seconds", "2", "--into", str(results))
    said("live.py", "follow", *wishes)
    *_, row = results.read_text(encoding="utf-8").strip().splitlines()
    delay = r"\d+ ms \| \d+ ms \| \d+\.\d %"
    assert re.fullmatch(rf"\| 3 \| {delay} \| {delay} \| \d+ \|", row), row
