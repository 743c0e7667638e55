"""Measures how time and memory grow with bytes and with ranks.

    python benchmarks/growth.py [bytes files facts] [--mb 1000] [--rounds 2] [--full] [--into FILE]

bytes   one log of a tenth of --mb, one of --mb, and ten of --mb; ten are links to one file, with
        --full ten files of their own. Beside pdtriage: `cat`, and `rg` with all literals
files   8, 512, 8,192 and 100,000 ranks, each with a log of a few kilobytes
facts   what comes after reading: 8 to 100,000 ranks put together, judged and written as JSON

`exponent` compares a row with the one above it: 1 is linear, 2 would be the square. Times are wall
clock, the best of the rounds; start-up is part of them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from logs import write_set
from many_ranks import ACCUSE, STORIES, Accuse, ManyRanks, Story
from results import keep
from scan import OURS, Taken, best, refuse_wrong

from pdtriage.analysis.job import Job
from pdtriage.knowledge import load_knowledge
from pdtriage.report import Options, reporter_named
from pdtriage.runs import assemble
from pdtriage.scan import Engine
from pdtriage.scan.detect import literals_of
from pdtriage.support.gc_pause import gc_paused

PARTS = ("bytes", "files", "facts")
FEW, MANY = (8, 512, 8_192), 100_000
LINKS = 10


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", help="bytes, files, facts; all of them if none")
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument(
        "--full", action="store_true", help="real 10 GB, every story with 100,000 ranks"
    )
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--into", type=Path, help="append the tables to this file, too")
    parser.add_argument("--judge", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    wanted = asked.what or PARTS
    if asked.judge:
        ranks, story, accuse = asked.judge
        print(json.dumps(judged(int(ranks), story, accuse)))
        return
    scratch = Path(tempfile.mkdtemp(prefix="pdtriage-bench-", dir=asked.scratch))
    try:
        if "bytes" in wanted:
            text = bytes_table(scratch, asked.mb, asked.rounds, asked.full)
            keep("Growth with bytes", text, asked.into)
        if "facts" in wanted:  # before this process grows: a child's peak begins with its parent's
            keep("Growth with ranks", facts_table(asked.rounds, asked.full), asked.into)
        if "files" in wanted:
            keep("Growth with files", files_table(scratch, asked.rounds), asked.into)
    finally:
        shutil.rmtree(scratch)


def bytes_table(scratch: Path, megabytes: int, rounds: int, full: bool) -> str:
    literals = scratch / "literals"
    words = [word for word in literals_of(load_knowledge()) if "\0" not in word]
    literals.write_text("\n".join(words) + "\n", encoding="utf-8")
    rows = Rows("MB", "pdtriage", "peak MB", "cat", "rg, literals", "to cat", "to rg", "exponent")
    small = write_set("a", scratch / "small", max(1, megabytes // 10))
    rows.add_bytes(small, literals, rounds)
    shutil.rmtree(small)
    one = write_set("a", scratch / "one", megabytes)
    rows.add_bytes(one, literals, rounds)
    need = (LINKS - 1) * megabytes * 1_000_000
    if full and shutil.disk_usage(scratch).free < 2 * need:
        rows.note(f"no room for {LINKS} files of {megabytes} MB here")
        full = False
    for number in range(1, LINKS):
        source, target = one / "workerlog.0", one / f"workerlog.{number}"
        shutil.copyfile(source, target) if full else os.link(source, target)
    if not full:
        rows.note(f"The last row is {LINKS} links to one file of {megabytes} MB.")
    rows.add_bytes(one, literals, 1)
    shutil.rmtree(one)
    return rows.table()


def files_table(scratch: Path, rounds: int) -> str:
    rows = Rows("ranks", "MB", "pdtriage", "ms a file", "peak MB", "cat", "exponent")
    for ranks in (*FEW, MANY):
        job = ManyRanks(ranks)
        folder = job.write(scratch / f"ranks{ranks}")
        refuse_wrong(folder, job.culprits)
        rows.add_files(folder, ranks, 1 if ranks == MANY else rounds)
        shutil.rmtree(folder)
    return rows.table()


def facts_table(rounds: int, full: bool) -> str:
    """Each in a process of its own, so that its peak of memory is its own, too."""
    rows = Rows(
        *("ranks", "story", "named by", "jobs", "verdict", "report", "JSON", "all", "peak MB"),
        *("culprits", "exponent"),
    )
    for ranks in (*FEW, MANY):
        rows.add_judged(ranks, "one", "rank", rounds if ranks < MANY else 1)
    for story in STORIES:
        for accuse in ACCUSE if story in ("silent", "two") else ACCUSE[1:2]:
            rows.add_judged(MANY if full else FEW[-1], story, accuse, 1)
    return rows.table()


def judged(ranks: int, story: Story, accuse: Accuse) -> dict[str, object]:
    """From facts to JSON; the seconds of every step."""
    engine = Engine(load_knowledge())
    job = ManyRanks(ranks, story, accuse)
    with gc_paused():
        facts = job.facts(engine)
        before = _peak()
        began = time.perf_counter()
        runs = assemble(facts)
    put_together = time.perf_counter()
    verdict = Job(runs, engine.knowledge)
    reached = time.perf_counter()
    report = verdict.report("last", "en")
    told = time.perf_counter()
    with open(os.devnull, "w", encoding="utf-8") as nowhere, gc_paused():
        reporter_named("json").write(report, nowhere, Options())
    written = time.perf_counter()
    blamed = {rank for cause in report.root_causes for rank in cause.ranks}
    return {
        "seconds": [
            put_together - began,
            reached - put_together,
            told - reached,
            written - told,
            written - began,
        ],
        "megabytes": [before, _peak()],
        "right": blamed == set(job.culprits),
    }


def _peak_of(taken: Taken) -> str:
    """Nothing where it was over before anybody looked."""
    return f"{taken.megabytes:.0f}" if taken.megabytes else "-"


class Rows:
    """A table that grows, and what is to be said below it."""

    def __init__(self, *head: str) -> None:
        self._head = head
        self._rows: list[Sequence[str]] = []
        self._notes: list[str] = []
        self._last: tuple[float, float] | None = None

    def note(self, text: str) -> None:
        self._notes.append(text)

    def table(self) -> str:
        line = "|" + "---:|" * len(self._head)
        rows = [f"| {' | '.join(row)} |" for row in (self._head, *self._rows)]
        return "\n".join([rows[0], line, *rows[1:], *(f"\n{note}" for note in self._notes)])

    def add_bytes(self, folder: Path, literals: Path, rounds: int) -> None:
        size = _size(folder) / 1e6
        ours, cat, rg = best(
            [
                _analyse(folder),
                _cat(folder),
                ["rg", "-c", "-a", "-F", "-f", str(literals), str(folder)],
            ],
            rounds,
        )
        self._rows.append(
            (
                *(f"{size:.0f}", _seconds(ours), _peak_of(ours), _seconds(cat)),
                *(_seconds(rg), _ratio(ours, cat), _ratio(ours, rg), self._exponent(size, ours)),
            )
        )

    def add_files(self, folder: Path, ranks: int, rounds: int) -> None:
        ours, cat = best([_analyse(folder), _cat(folder)], rounds)
        each = "-" if ours.seconds is None else f"{ours.seconds * 1000 / ranks:.2f}"
        self._rows.append(
            (
                *(f"{ranks:,}", f"{_size(folder) / 1e6:.1f}", _seconds(ours), each),
                *(_peak_of(ours), _seconds(cat), self._exponent(ranks, ours)),
            )
        )

    def add_judged(self, ranks: int, story: Story, accuse: Accuse, rounds: int) -> None:
        command = [sys.executable, __file__, "--judge", str(ranks), story, accuse]
        tries = [
            json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            for _ in range(rounds)
        ]
        least = min(tries, key=lambda it: it["seconds"][-1])
        self._rows.append(
            (
                *(f"{ranks:,}", story, accuse),
                *(f"{seconds:.2f} s" for seconds in least["seconds"]),
                f"{least['megabytes'][1]:.0f}",
                "right" if all(it["right"] for it in tries) else "WRONG",
                self._exponent(ranks, Taken(least["seconds"][-1])),
            )
        )

    def _exponent(self, size: float, taken: Taken) -> str:
        if taken.seconds is None:
            return "-"
        last, self._last = self._last, (size, taken.seconds)
        if last is None or size <= last[0] * 1.5:
            return "-"
        return f"{math.log(taken.seconds / last[1]) / math.log(size / last[0]):.2f}"


def _analyse(folder: Path) -> list[str]:
    flags = ["--exit-zero", "--no-cache", "-f", "json", "-o", os.devnull]
    return [*OURS, "analyze", str(folder), *flags]


def _cat(folder: Path) -> list[str]:
    return ["sh", "-c", 'find "$0" -type f -print0 | xargs -0 cat > /dev/null', str(folder)]


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in _files(folder))


def _files(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _seconds(taken: Taken) -> str:
    return "-" if taken.seconds is None else f"{taken.seconds:.2f} s"


def _ratio(ours: Taken, theirs: Taken) -> str:
    if not (ours.seconds and theirs.seconds):
        return "-"
    return f"{ours.seconds / theirs.seconds:.2f}×"


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    main()
