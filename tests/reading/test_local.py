"""Given a folder, when its files are read by several processes, then the facts are the same."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pdtriage import analyze
from pdtriage.knowledge import load_knowledge
from pdtriage.reading import local
from pdtriage.scan import Engine
from pdtriage.sources import find

SCENARIOS = Path(__file__).parents[1] / "fixtures" / "scenarios"
ENGINE = Engine(load_knowledge())
HERE = os.getpid()
on_two_cores = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")


@pytest.mark.parametrize("story", ["data-errno5-worker", "nodes-segfault", "ps-server-dies"])
@on_two_cores
def test_spread_over_processes(story: str) -> None:
    """In a process of its own: beside the threads of other tests nothing would be forked."""
    subprocess.run([sys.executable, "-c", SPREAD, str(SCENARIOS / story)], check=True, timeout=60)


@on_two_cores
def test_what_cannot_be_sent_is_read_by_the_parent(tmp_path: Path) -> None:
    line = b"I1114 22:13:20.114021  %d tcp_utils.cc:181] The server starts to listen\n"
    for rank, pid in enumerate([8805, 10**30, 8807]):
        (tmp_path / f"workerlog.{rank}").write_bytes(line % pid)
    subprocess.run([sys.executable, "-c", SPREAD, str(tmp_path)], check=True, timeout=60)


SPREAD = """
import sys
from pdtriage.reading import forked, local
from pdtriage.scan import Engine
from pdtriage import analyze
from pdtriage.knowledge import load_knowledge
from pdtriage.sources import find

local.WORTH_READERS, local.BATCH = 0, 1
calls, spread = [], forked.spread
forked.spread = lambda *given: calls.append(1) or spread(*given)
engine = Engine(load_knowledge())
spread_out = local.read_sources(find([sys.argv[1]]), engine)[0]
assert calls == [1], calls
local._may_fork = lambda: False
alone = local.read_sources(find([sys.argv[1]]), engine)[0]
assert repr(alone) == repr(spread_out) and calls == [1]
"""


@pytest.mark.parametrize("flags", [[], ["--no-cache"]])
@on_two_cores
def test_the_parent_has_something_to_do_meanwhile(flags: list[str], tmp_path: Path) -> None:
    words = [str(SCENARIOS / "nodes-segfault"), "-q", "--exit-zero", *flags]
    told = subprocess.run(
        [sys.executable, "-c", MEANWHILE, *words],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert told.stderr == "", told.stderr
    assert told.stdout.startswith("the readers end, judging is imported: True\n")


MEANWHILE = """
import sys
from pdtriage.reading import forked, local
from pdtriage.__main__ import main

local.WORTH_READERS, local.BATCH = 0, 1
end = forked._Children.end

def watched_end(self):
    print("the readers end, judging is imported:", "pdtriage.analysis.job" in sys.modules)
    end(self)

forked._Children.end = watched_end
main(["analyze", *sys.argv[1:]])
"""


@on_two_cores
def test_what_others_have_frozen_stays_frozen() -> None:
    story = str(SCENARIOS / "nodes-segfault")
    subprocess.run([sys.executable, "-c", FREEZING + SPREAD + FROZEN, story], check=True)


FREEZING = """
import gc

gc.collect()
gc.freeze()
frozen = gc.get_freeze_count()
"""
FROZEN = """
assert gc.isenabled() and gc.get_freeze_count() > frozen // 2, (frozen, gc.get_freeze_count())
"""


@pytest.mark.parametrize("story", ["data-errno5-worker", "nodes-segfault"])
@on_two_cores
def test_a_reader_that_is_killed_costs_time_only(story: str) -> None:
    """The one that is about to give the facts of the second file: the parent reads that again."""
    subprocess.run([sys.executable, "-c", KILLED, str(SCENARIOS / story)], check=True, timeout=60)


KILLED = """
import os, signal, sys
from pdtriage.reading import local
from pdtriage.scan import Engine
from pdtriage import analyze
from pdtriage.knowledge import load_knowledge
from pdtriage.sources import find

local.WORTH_READERS, local.BATCH = 0, 1
engine, parent = Engine(load_knowledge()), os.getpid()
ends = []
sources = find([sys.argv[1]])
fatal = [source for source in sources.sources if source.file.kind == "worker"][1].file.path
begin_scan = local.begin_scan

def die_in_a_child(file, *given):
    if file.path == fatal and os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    return begin_scan(file, *given)

def wait_for(pid, flags):
    ended = waitpid(pid, flags)
    ends.append(os.waitstatus_to_exitcode(ended[1]))
    return ended

waitpid, os.waitpid = os.waitpid, wait_for
local.begin_scan = die_in_a_child
with_a_death = local.read_sources(sources, engine)[0]
assert -signal.SIGKILL in ends, ends
local._may_fork = lambda: False
local.begin_scan = begin_scan
assert repr(local.read_sources(sources, engine)[0]) == repr(with_a_death)
"""


def test_beside_other_threads_nothing_is_forked() -> None:
    release = threading.Event()
    other = threading.Thread(target=release.wait)
    other.start()
    try:
        assert not local._may_fork()
    finally:
        release.set()
        other.join()


def test_a_file_that_is_truncated_while_it_is_read_just_ends(tmp_path: Path) -> None:
    log = tmp_path / "workerlog.0"
    log.write_bytes(b"a line of no interest at all\n" * 200_000)
    (source,) = find([tmp_path]).sources
    chunks = source.chunks(local.CHUNK)
    read = len(next(chunks))
    os.truncate(log, read + 1000)
    assert sum(map(len, chunks)) == 1000
    assert source.notes() == ()


def test_of_packed_files_fewer_are_read_together(tmp_path: Path) -> None:
    """What they unpack to is held until all of them are read."""
    for number in range(40):
        (tmp_path / f"workerlog.{number}").write_bytes(b"step: 1, loss: 0.5\n")
        (tmp_path / f"workerlog.{number + 40}.gz").write_bytes(gzip.compress(b"step: 1\n"))
    sources = find([tmp_path]).sources
    plain = [source for source in sources if source.file.size is not None]
    packed = [source for source in sources if source.file.size is None]
    assert len(plain) == len(packed) == 40
    sizes = [[*map(len, local._batches(some, local.BATCH))] for some in (plain, packed)]
    assert max(sizes[0]) == 32
    assert max(sizes[1]) == 4


def test_many_damaged_logs_are_one_note(tmp_path: Path) -> None:
    """Copied while they were written, say: three are named, and how many more there are."""
    packed = gzip.compress(b"epoch 0 step 1 loss 0.5\n" * 2000)
    for rank in range(40):
        (tmp_path / f"workerlog.{rank}.gz").write_bytes(packed[: len(packed) // 2])
    notes = [note.en for note in analyze(tmp_path).notes if "Damaged" in note.en]
    assert [note.rpartition(" and ")[2] for note in notes] == ["37 more."]
