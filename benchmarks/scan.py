"""Measures `pdtriage analyze` end to end against tools that only search.

    python benchmarks/scan.py [a b c d quiet-a quiet-b quiet-c quiet-d small] [--mb 1000]
                              [--rounds 3] [--into FILE]

Makes the logs (benchmarks/logs.py) under --scratch, measures every tool on the same files in the
same run, keeps the best of the rounds, and removes the logs again. `rg` gets the patterns of the
same signatures (literals where a pattern needs look-around) and, because those slow it down, also
the literals alone: the ratio to the latter is the harder one. `grep` gets the literals. `lnav` gets
them, too, in 30 filters (it knows no more than 32) on the first 4 MB of one file: it reads a few
megabytes per second.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from logs import QUIET, SETS, write_set
from results import about

from pdtriage.knowledge import Signature, load_knowledge

OURS = [sys.executable, "-m", "pdtriage"]
MANY_DEAD = ("b", "c")
"""Sets in which it is known who is to be blamed, and by whom: all others died of rank 1."""
LONGEST = 300
"""Seconds; what takes longer is said to."""
SLOW = 20
"""Seconds; what takes longer is measured once."""
LNAV_BYTES, LNAV_FILTERS = 4_000_000, 30
COLUMNS = (
    *("set", "MB", "pdtriage", "peak MB", "not compiled", "rg, patterns", "rg, literals"),
    *("grep -F", "cat", "lnav, first 4 MB"),
    *("to rg, literals", "to rg, patterns", "not compiled, to literals"),
)
"""Of the table of scans; `scripts/readme_benchmarks.py` looks for some of them."""
HELLO = """
import typer
app = typer.Typer(add_completion=False)
@app.command()
def main(name: str = "world") -> None:
    print(f"hello {name}")
app()
"""


@dataclass(frozen=True)
class Taken:
    """Of one command: wall clock, and the peak of memory that is not file mappings."""

    seconds: float | None
    megabytes: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=[*SETS, *QUIET, "small"])
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--into", type=Path, help="append the tables to this file, too")
    parser.add_argument(
        "--wheel", type=Path, help="`pdtriage` of the compiled wheel, measured beside the sources"
    )
    arguments = parser.parse_args()
    installed = [str(arguments.wheel)] if arguments.wheel else OURS
    scratch = Path(tempfile.mkdtemp(prefix="pdtriage-bench-", dir=arguments.scratch))
    try:
        tables = [about()]
        for title, names in (("Jobs that died", SETS), ("Quiet logs", QUIET)):
            if sets := [name for name in arguments.what if name in names]:
                table = scan_table(sets, scratch, arguments.mb, arguments.rounds, installed)
                tables += [f"### {title}", table]
        if "small" in arguments.what:
            tables.append(small_table(scratch, 4 * arguments.rounds, installed))
    finally:
        shutil.rmtree(scratch)
    text = "\n\n".join(tables) + "\n"
    print(text)
    if arguments.into:
        with arguments.into.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def scan_table(
    sets: Sequence[str], scratch: Path, megabytes: int, rounds: int, installed: list[str]
) -> str:
    patterns, literals = _pattern_files(scratch)
    rg = ["rg", "-a", "--no-unicode", "--regex-size-limit=1G", "--dfa-size-limit=1G", "-c"]
    rows = [f"| {' | '.join(COLUMNS)} |", "|---" + "|---:" * (len(COLUMNS) - 1) + "|"]
    for name in sets:
        folder = write_set(name, scratch / name, megabytes)
        if name in MANY_DEAD:
            refuse_wrong(folder, [1])
        size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
        taken = best(
            [
                _analysing(folder, installed),
                _analysing(folder, OURS),
                [*rg, "-f", str(patterns), str(folder)],
                ["rg", "-c", "-a", "-F", "-f", str(literals), str(folder)],
                ["grep", "-r", "-c", "-a", "-F", "-f", str(literals), str(folder)],
                ["sh", "-c", 'cat "$0"/*', str(folder)],
                _lnav(scratch, literals, folder),
            ],
            rounds,
        )
        cells = [_seconds(it) for it in taken]
        cells.insert(1, f"{taken[0].megabytes:.0f}")
        ratios = " | ".join(
            (_ratio(taken[3], taken[0]), _ratio(taken[2], taken[0]), _ratio(taken[3], taken[1]))
        )
        rows.append(f"| {name} | {size:.0f} | {' | '.join(cells)} | {ratios} |")
        shutil.rmtree(folder)
    return "\n".join(rows)


def small_table(scratch: Path, rounds: int, installed: list[str]) -> str:
    folder = write_set("small", scratch / "small", 1)
    hello = scratch / "hello.py"
    hello.write_text(HELLO)
    taken = best(
        [
            [sys.executable, str(hello)],
            _analysing(folder, installed),
            [*installed, "--version"],
        ],
        rounds,
    )
    rows = ["| small folder (8 ranks, 1 MB) | ms | to typer's hello world |", "|---|---:|---:|"]
    names = ("hello world with typer", "pdtriage analyze -f json", "pdtriage --version")
    for name, it in zip(names, taken, strict=True):
        milliseconds = "-" if it.seconds is None else f"{it.seconds * 1000:.0f}"
        rows.append(f"| {name} | {milliseconds} | {_ratio(it, taken[0])} |")
    return "\n".join(rows)


def _analysing(folder: Path, pdtriage: list[str]) -> list[str]:
    """End to end; the second round must not profit from what the first one remembered."""
    flags = ["--exit-zero", "--no-cache", "-f", "json", "-o", os.devnull]
    return [*pdtriage, "analyze", str(folder), *flags]


def refuse_wrong(folder: Path, culprits: Sequence[int]) -> None:
    """A fast wrong answer is not measured."""
    command = [*OURS, "analyze", str(folder), "--exit-zero", "--no-cache", "-f", "json"]
    said = subprocess.run(command, capture_output=True, check=True).stdout
    blamed = [rank for cause in json.loads(said)["root_causes"] for rank in cause["ranks"]]
    if blamed != list(culprits):
        sys.exit(f"{folder}: {blamed} blamed instead of {list(culprits)}")


def _lnav(scratch: Path, literals: Path, folder: Path) -> list[str]:
    """Without a terminal, on the beginning of the first file."""
    piece, script = scratch / f"{folder.name}.lnav.log", scratch / "filters.lnav"
    with min(folder.iterdir()).open("rb") as file:
        piece.write_bytes(file.read(LNAV_BYTES))
    words = [_escaped(word) for word in literals.read_text(encoding="utf-8").splitlines() if word]
    filters = ("|".join(words[part::LNAV_FILTERS]) for part in range(LNAV_FILTERS))
    script.write_text("".join(f":filter-in {it}\n" for it in filters), encoding="utf-8")
    return ["lnav", "-n", "-f", str(script), str(piece)]


def best(commands: Sequence[Sequence[str]], rounds: int) -> list[Taken]:
    """In turn, so that a noisy machine is noisy for all; who is slow is not asked again.

    The memory of the first is taken in a run of its own: to look at it takes time.
    """
    results: list[list[Taken]] = [[] for _ in commands]
    for _ in range(rounds):
        for place, command in enumerate(commands):
            if all(it.seconds and it.seconds < SLOW for it in results[place]):
                results[place].append(measured(command))
    ours, *others = [min(taken, key=lambda it: it.seconds or float("inf")) for taken in results]
    return [Taken(ours.seconds, peak_of(commands[0])), *others]


def measured(command: Sequence[str]) -> Taken:
    """Nobody looks at it while it runs."""
    if shutil.which(command[0]) is None:
        return Taken(None)
    with tempfile.TemporaryFile() as output:  # into /dev/null grep stops at the first match
        began = time.perf_counter()
        process = _started(command, output)
        too_long = threading.Timer(LONGEST, process.kill)
        too_long.start()
        process.wait()
        took = time.perf_counter() - began
        too_long.cancel()
    return Taken(took) if process.returncode in (0, 1) else Taken(None)


def peak_of(command: Sequence[str]) -> float:
    """The most memory it held, looked at every 20 ms; 0 if it was too quick for that."""
    peak = 0.0
    with tempfile.TemporaryFile() as output, _started(command, output) as process:
        while process.poll() is None:
            time.sleep(0.02)
            peak = max(peak, _private_megabytes(process.pid))
    return peak


def _started(command: Sequence[str], output: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, env=_environment())


def _environment() -> dict[str, str]:
    """Python may keep its bytecode, as it does where a package is installed."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def _private_megabytes(pid: int) -> float:
    """Memory of its own of a process and its children."""
    total = 0.0
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for each in (str(pid), *children):
            status = Path(f"/proc/{each}/status").read_text()
            total += int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1000  # type: ignore[index]
    except (OSError, TypeError):
        return total
    return total


def _pattern_files(scratch: Path) -> tuple[Path, Path]:
    signatures = [s for s in load_knowledge().signatures.values() if s.trigger == "literal"]
    patterns, literals = scratch / "patterns", scratch / "literals"
    patterns.write_text("\n".join(it for s in signatures for it in _rust_patterns(s)) + "\n")
    words = dict.fromkeys(literal for s in signatures for literal in s.literals)
    literals.write_text("\n".join(words) + "\n", encoding="utf-8")
    return patterns, literals


def _rust_patterns(signature: Signature) -> list[str]:
    if signature.pattern:
        unnamed = _bytes_of(re.sub(r"\(\?P<\w+>", "(?:", signature.pattern))
        tried = subprocess.run(
            ["rg", "--no-unicode", "-e", unnamed, os.devnull], capture_output=True, check=False
        )
        if tried.returncode != 2:
            return [unnamed]
    return [_bytes_of(_escaped(literal)) for literal in signature.literals]


def _escaped(literal: str) -> str:
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", literal)


def _bytes_of(pattern: str) -> str:
    """Chinese as the bytes of its UTF-8: `--no-unicode` knows no characters."""
    return "".join(
        char if char.isascii() else "(?-u:" + "".join(f"\\x{b:02X}" for b in char.encode()) + ")"
        for char in pattern
    )


def _seconds(taken: Taken) -> str:
    return "-" if taken.seconds is None else f"{taken.seconds:.2f} s"


def _ratio(slow: Taken, fast: Taken) -> str:
    return f"{slow.seconds / fast.seconds:.1f}×" if slow.seconds and fast.seconds else "-"


if __name__ == "__main__":
    main()
