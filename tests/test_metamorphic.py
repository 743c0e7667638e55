"""Given the same failure told differently, when analysed, then the verdict is the same."""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import pdtriage
from pdtriage.knowledge import load_knowledge
from pdtriage.model import Report
from pdtriage.reading.local import read_sources
from pdtriage.runs import assemble
from pdtriage.scan import Engine
from pdtriage.sources import find
from pdtriage.verdict import judge
from pdtriage.verdict.rank_rows import rank_rows

SCENARIOS = Path(__file__).parent / "fixtures" / "scenarios"
STORIES = (
    "crash-segfault",
    "data-errno5-worker",
    "data-missing-file",
    "exit-zero-early",
    "hang-timeout",
    "key-error",
    "memory-error",
    "nodes-errno5",
    "nodes-segfault",
    "runs-success-then-failure",
    "silent-sigkill",
    "silent-sigkill-legacy",
)
TWO_RANKS = ("crash-segfault", "exit-zero-early", "memory-error", "silent-sigkill")
NOT_LOGS = shutil.ignore_patterns("label.json", "cmd.txt", "mtimes.json")

each_story = pytest.mark.parametrize("story", STORIES)


def test_stories_differ() -> None:
    assert len({outcome(pdtriage.analyze(SCENARIOS / name)) for name in STORIES}) >= 8


@each_story
def test_windows_line_ends(story: str, tmp_path: Path) -> None:
    changed = rewritten(story, tmp_path, lambda raw: raw.replace(b"\n", b"\r\n"))
    assert outcome(pdtriage.analyze(changed)) == expected(story)


@each_story
def test_every_log_compressed(story: str, tmp_path: Path) -> None:
    folder = copied(story, tmp_path)
    for log in logs_of(folder):
        log.with_name(log.name + ".gz").write_bytes(gzip.compress(log.read_bytes()))
        log.unlink()
    assert outcome(pdtriage.analyze(folder)) == expected(story)


@pytest.mark.parametrize("story", [name for name in STORIES if not name.startswith("runs-")])
def test_the_head_of_the_logs_is_lost(story: str, tmp_path: Path) -> None:
    changed = rewritten(story, tmp_path, lambda raw: b"".join(raw.splitlines(True)[6:]))
    assert outcome(pdtriage.analyze(changed)) == expected(story)


@each_story
@pytest.mark.parametrize("every", [2, 7])
def test_other_writers_in_between(story: str, every: int, tmp_path: Path) -> None:
    changed = rewritten(story, tmp_path, lambda raw: with_noise(raw, every))
    assert outcome(pdtriage.analyze(changed)) == expected(story)


@each_story
def test_files_in_any_order(story: str) -> None:
    knowledge = load_knowledge()
    facts, records, _ = read_sources(find([SCENARIOS / story]), Engine(knowledge))
    straight = judge(assemble(facts, records)[-1], knowledge)
    for seed in range(5):
        shuffled = list(facts)
        random.Random(seed).shuffle(shuffled)
        judgement = judge(assemble(shuffled, records)[-1], knowledge)
        assert judgement == straight
        assert rank_rows(judgement) == rank_rows(straight)


@pytest.mark.parametrize("seconds", [600, -600])
@pytest.mark.parametrize("story", ["nodes-errno5", "nodes-segfault", "nodes-sigkill"])
@pytest.mark.parametrize("node", ["node0", "node1"])
def test_one_clock_is_wrong(story: str, node: str, seconds: int, tmp_path: Path) -> None:
    folder = copied(story, tmp_path)
    files = [path for path in (folder / node).rglob("*") if path.is_file()]
    changed = 0
    for path in files:
        raw = path.read_bytes()
        shifted = with_shifted_clock(raw, seconds)
        changed += shifted != raw
        path.write_bytes(shifted)
    assert changed
    assert outcome(pdtriage.analyze(folder)) == expected(story)


@pytest.mark.parametrize("story", TWO_RANKS)
def test_ranks_swapped(story: str, tmp_path: Path) -> None:
    folder = swapped(copied(story, tmp_path))
    verdict, category, signature, ranks, victims = outcome(pdtriage.analyze(folder))
    was = expected(story)
    swap = {0: 1, 1: 0}
    assert (verdict, category, signature) == was[:3]
    assert ranks == tuple(sorted(swap[rank] for rank in was[3]))
    assert victims == tuple(sorted(swap[rank] for rank in was[4]))


Outcome = tuple[str, str, str, tuple[int, ...], tuple[int, ...]]


def outcome(report: Report) -> Outcome:
    cause = report.root_causes[0]
    victims = tuple(sorted(v.rank for v in report.victims if v.rank is not None))
    return report.verdict, cause.category, cause.signature, cause.ranks, victims


def expected(story: str) -> Outcome:
    found = outcome(pdtriage.analyze(SCENARIOS / story))
    label = json.loads((SCENARIOS / story / "label.json").read_text())
    assert set(found[3]) <= set(label["culprit_ranks"])
    return found


def copied(story: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(SCENARIOS / story, tmp_path / "artifact", ignore=NOT_LOGS))


def logs_of(folder: Path) -> list[Path]:
    return sorted([*folder.rglob("workerlog.*"), *folder.rglob("console.log")])


def rewritten(story: str, tmp_path: Path, change: Callable[[bytes], bytes]) -> Path:
    folder = copied(story, tmp_path)
    for log in logs_of(folder):
        log.write_bytes(change(log.read_bytes()))
    return folder


def with_noise(raw: bytes, every: int) -> bytes:
    """Lines of a monitor that shares the log, between the lines of the job."""
    lines = []
    for number, line in enumerate(raw.splitlines(True)):
        lines.append(line)
        if number % every == 0 and line.endswith(b"\n"):
            lines.append(b"monitor: gpu util 97%%, host memory 41%%, beat %d\n" % number)
    return b"".join(lines)


def with_shifted_clock(raw: bytes, seconds: int) -> bytes:
    def unix(found: re.Match[bytes]) -> bytes:
        return b"%d" % (int(found[0]) + seconds)

    def glog(found: re.Match[bytes]) -> bytes:
        total = (int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3]) + seconds) % 86400
        return b" %02d:%02d:%02d" % (total // 3600, total // 60 % 60, total % 60)

    raw = re.sub(rb"\b17\d{8}\b", unix, raw)
    return re.sub(rb" (\d\d):(\d\d):(\d\d)(?=[.,])", glog, raw)


def swapped(folder: Path) -> Path:
    """Ranks 0 and 1 change places, in file names and in everything that names them."""
    for stem in ("workerlog.{}", "envlog.{}", "backup_env.{}.json"):
        for log in folder.rglob(stem.format(0)):
            other = log.with_name(stem.format(1))
            first, second = log.read_bytes(), other.read_bytes()
            log.write_bytes(renamed(second))
            other.write_bytes(renamed(first))
    for console in folder.rglob("console.log"):
        console.write_bytes(renamed(console.read_bytes()))
    return folder


def renamed(raw: bytes) -> bytes:
    names = (
        rb'((?:PADDLE_(?:GLOBAL_RANK|LOCAL_RANK|RANK_IN_NODE|TRAINER_ID)"?[=:] ?"?)'
        rb"|(?:self_rank|pair_rank) = |Container rank |workerlog\.|rank=\[)([01])"
    )
    return re.sub(names, lambda found: found[1] + (b"1" if found[2] == b"0" else b"0"), raw)
