"""Given jobs of any size that went wrong in a known way, when judged, then the culprits are named.

The jobs are those of the growth benchmark: trees of victims on hosts whose clocks differ by up to
ten minutes, each naming the one above it.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import pytest

from pdtriage.analysis.job import Job
from pdtriage.analysis.pipeline import analyze
from pdtriage.model import Report
from pdtriage.report import Options, reporter_named
from pdtriage.runs import assemble
from pdtriage.support.gc_pause import gc_paused

from ..scan.builders import engine

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from many_ranks import ACCUSE, STORIES, Accuse, Known, ManyRanks, Story

SHORT = ("markdown", "github", "junit")
SCREEN = 50
"""Lines of a report that a person reads."""


def judged(job: ManyRanks) -> Report:
    with gc_paused():
        runs = assemble(job.facts(engine()))
    return Job(runs, engine().knowledge).report("last", "en")


def written(report: Report, name: str) -> str:
    stream = io.StringIO()
    reporter_named(name).write(report, stream, Options())
    return stream.getvalue()


def blamed(report: Report) -> set[int]:
    return {rank for cause in report.root_causes for rank in cause.ranks}


@pytest.mark.parametrize("known", ["endpoints", "environment"])
@pytest.mark.parametrize("accuse", ACCUSE)
@pytest.mark.parametrize("story", STORIES)
def test_the_culprits_and_nobody_else(story: Story, accuse: Accuse, known: Known) -> None:
    job = ManyRanks(480, story, accuse, known)
    report = judged(job)
    assert report.verdict == "failed"
    assert blamed(report) == set(job.culprits)
    assert len(report.root_causes) == (2 if story == "two" else 1)
    assert {victim.rank for victim in report.victims} == set(range(480)) - set(job.culprits)
    assert {row.rank for row in report.ranks} == set(range(480))


@pytest.mark.parametrize("story", STORIES)
def test_files_tell_what_the_facts_tell(story: Story, tmp_path: Path) -> None:
    job = ManyRanks(16, story, "endpoint")
    read, made = analyze(job.write(tmp_path / "log")), judged(job)
    assert blamed(read) == blamed(made) == set(job.culprits)
    assert [(v.rank, v.reason, v.host) for v in read.victims] == [
        (v.rank, v.reason, v.host) for v in made.victims
    ]
    assert [(r.rank, r.status, r.last_step, r.last_seen) for r in read.ranks] == [
        (r.rank, r.status, r.last_step, r.last_seen) for r in made.ranks
    ]


def test_launchers_of_other_nodes_are_no_outsiders() -> None:
    """Without an environment nothing numbers the nodes; each has a launcher of its own."""
    report = judged(ManyRanks(160, "silent", "rank", "endpoints"))
    assert {v.reason for v in report.victims} == {"peer", "stopped"}
    assert {c.signature for c in report.root_causes} == {"verdict.silent"}


@pytest.mark.parametrize(
    ("accuse", "known", "formats", "sizes"),
    [
        ("rank", "environment", (), (48, 96, 384)),
        ("endpoint", "endpoints", (), (48, 96, 384)),
        ("host", "endpoints", (), (48, 96, 384)),
        ("rank", "endpoints", ("text", "markdown", "junit", "html", "json"), (32, 64, 192)),
    ],
)
def test_work_grows_with_the_ranks_not_with_their_square(
    accuse: Accuse, known: Known, formats: tuple[str, ...], sizes: tuple[int, int, int]
) -> None:
    """Counted in steps of the interpreter, which no other load on the machine changes."""
    jobs = [ManyRanks(n, "silent", accuse, known, most_hosts=max(2, n // 8)) for n in (8, *sizes)]
    _, few, more, most = (_steps(job, formats) for job in jobs)  # the first pays for what is cached
    first = (more - few) / (sizes[1] - sizes[0])
    later = (most - more) / (sizes[2] - sizes[1])
    assert later < 1.1 * first


@gc_paused()
def test_a_hundred_thousand_ranks() -> None:
    job = ManyRanks(100_000, accuse="endpoint")
    report = judged(job)
    assert blamed(report) == set(job.culprits)
    assert len(report.victims) == 99_999
    text = written(report, "text")
    assert len(text.splitlines()) < SCREEN
    assert "(lost a peer)" in text
    for name in SHORT:
        assert len(written(report, name)) < 1 << 12, name
    page = written(report, "html")
    assert len(page) < 1_000_000
    assert "more ranks of this kind are not drawn" in page
    assert len(report.to_json()["ranks"]) == 100_000  # type: ignore[arg-type]


def _steps(job: ManyRanks, formats: Sequence[str]) -> int:
    """The work of putting together, judging and writing, to the single instruction."""
    facts = job.facts(engine())
    count = 0

    def step(frame: FrameType, event: str, _: object) -> object:
        nonlocal count
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        count += event == "opcode"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        report = Job(assemble(facts), engine().knowledge).report("last", "en")
        for name in formats:
            written(report, name)
    finally:
        sys.settrace(before)
    return count
