"""The benchmarks themselves, on sizes that take no time: they run and what they say is sound."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.running import script_named

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


def test_the_readmes_find_what_the_scan_measures() -> None:
    ask = [sys.executable, "-c", "import json, scan; print(json.dumps(scan.COLUMNS))"]
    columns = json.loads(subprocess.check_output(ask, cwd=BENCHMARKS, timeout=120))
    rows = [[name, *(f"<{column}>" for column in columns[1:])] for name in ("c", "quiet-c")]
    table = "\n".join(f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *rows))
    shown = script_named("readme_benchmarks").block(f"# Benchmarks\n\nA\n\n{table}\n", "en")
    assert shown.count("<pdtriage>, <to rg, literals> as fast as `rg -F`") == len(rows)


def test_all_ranks_of_a_dead_job_end_with_words_of_their_own(tmp_path: Path) -> None:
    said("logs.py", str(tmp_path), "c", "quiet-c", "--mb", "1")
    for name in ("c", "quiet-c"):
        ends = {log.name: log.read_bytes()[-2000:] for log in (tmp_path / name).iterdir()}
        own = {log: end for log, end in ends.items() if b"Error: " in end}
        assert len(own) == (len(ends) if name == "c" else 1)
        assert b"[Errno 5]" in ends["workerlog.1"]
