"""Given any log, when it is scanned by any engine, then the facts are the same."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdtriage.knowledge import load_knowledge
from pdtriage.model import FileFacts
from pdtriage.scan import Engine, FileScanner
from pdtriage.scan.lines import Lines
from pdtriage.sources import Source, find
from pdtriage.support.multi_pattern import ENVIRONMENT_VARIABLE, EngineName, chosen_engine

FIXTURES = Path(__file__).parents[1] / "fixtures"
FOLDERS = sorted(
    entry
    for kind in ("scenarios", "healthy")
    for entry in (FIXTURES / kind).iterdir()
    if entry.is_dir()
)
OTHERS: tuple[EngineName, ...] = ("re2", "python")


@cache
def engine(name: EngineName) -> Engine:
    if name == "re2":
        pytest.importorskip("re2")
    return Engine(load_knowledge(), name)


def facts(source: Source, name: EngineName) -> FileFacts:
    scanner = FileScanner(source.file, engine(name))
    for chunk in source.chunks():
        scanner.feed(chunk)
    return scanner.facts()


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_engine_finds_the_same(folder: Path, other: EngineName) -> None:
    logs = [s for s in find([folder]).sources if s.file.kind in ("worker", "server", "console")]
    for source in logs:
        assert facts(source, other) == facts(source, "hyperscan"), source.file.path


PARTS = st.sampled_from(
    [
        b"OSError: [Errno 5] Input/output error\n",
        b"F0101 10:00:00.000001 12 a.cc:1] Check failed: x\n",
        b"I0101 10:00:00.000001  345 a.cc:1] listening\n",
        b"Traceback (most recent call last):\nTraceback (most recent call last)",
        b"epoch 1 step 20 loss 0.5\n",
        b"epoch 1 step 20 loss",
        b"\r 40%|####      | 40/100 [00:01<00:02, 30.1it/s]",
        b"loss: nan, learning_rate: 0.1, global_step: 7",
        b"\n",
        b"\r\n",
        b"SIGSEGV \xe6\xae\xb5\xe9\x94\x99\xe8\xaf\xaf\n",
        b"ErrorError: KilledKilled",
        b"\xff\x00",
    ]
)


@pytest.mark.parametrize("other", OTHERS)
@settings(max_examples=60, deadline=None)
@given(parts=st.lists(PARTS, max_size=30))
def test_every_engine_hits_the_same_places(parts: list[bytes], other: EngineName) -> None:
    raw = b"".join(parts)
    assert engine(other).detector.find(raw) == engine("hyperscan").detector.find(raw)
    marks, expected = (
        engine(name).step_lines.find(Lines(raw, 1), 0, len(raw)) for name in (other, "hyperscan")
    )
    lines, candidates = ({mark[0] for mark in it.counters} for it in (marks, expected))
    assert lines <= candidates, "what is no exact match may be a candidate, never more"
    assert [mark[:3] for mark in marks.glog] == [mark[:3] for mark in expected.glog]


def test_the_environment_may_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "python")
    assert chosen_engine() == "python"
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "nonsense")
    assert chosen_engine() == "hyperscan"


def test_without_hyperscan_another_one_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setattr("pdtriage.support.multi_pattern.find_spec", lambda _name: None)
    assert chosen_engine() == "python"
