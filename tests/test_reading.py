"""Given a folder, when its files are read by several processes, then the facts are the same."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from pdtriage import reading
from pdtriage.events import Engine
from pdtriage.knowledge import load_knowledge
from pdtriage.model import FileFacts
from pdtriage.sources import Source, find

SCENARIOS = Path(__file__).parent / "fixtures" / "scenarios"
ENGINE = Engine(load_knowledge())
on_two_cores = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")


@pytest.fixture
def spread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is a batch of its own, however small."""
    monkeypatch.setattr(reading, "WORTH_A_POOL", 0)
    monkeypatch.setattr(reading, "BATCH", 1)


def facts(story: str) -> list[FileFacts]:
    return reading.read_sources(find([SCENARIOS / story]), ENGINE)[0]


@pytest.mark.usefixtures("spread")
@pytest.mark.parametrize("story", ["data-errno5-worker", "nodes-segfault", "ps-server-dies"])
@on_two_cores
def test_spread_over_processes(story: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pools = []
    make_pool = reading._pool
    monkeypatch.setattr(reading, "_pool", lambda engine: pools.append(1) or make_pool(engine))
    spread_out = facts(story)
    assert pools == [1]
    monkeypatch.setattr(reading, "_may_fork", lambda: False)
    assert facts(story) == spread_out
    assert pools == [1]


@pytest.mark.usefixtures("spread")
@on_two_cores
def test_a_reader_that_is_killed_costs_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = facts("data-errno5-worker")
    monkeypatch.setattr(reading, "_read_batch", _die)
    assert facts("data-errno5-worker") == expected


def test_beside_other_threads_nothing_is_forked() -> None:
    release = threading.Event()
    other = threading.Thread(target=release.wait)
    other.start()
    try:
        assert not reading._may_fork()
    finally:
        release.set()
        other.join()


def _die(_sources: list[Source]) -> list[reading.Read]:
    os.kill(os.getpid(), signal.SIGKILL)
    return []
