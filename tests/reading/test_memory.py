"""Given a log that was read before, when it is read again, then it is not, unless it changed."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import pdtriage
from pdtriage.knowledge import load_knowledge
from pdtriage.reading import memory
from pdtriage.reading.local import Read, Tick, read_here
from pdtriage.reading.memory import read_or_remember
from pdtriage.scan import Engine
from pdtriage.sources import Source, find
from pdtriage.sources.remote import backends
from pdtriage.support import cache
from pdtriage.support.zstd import zstd
from tests.sources.builders import as_tar, write_tree
from tests.sources.web import Web, serving

SCENARIOS = Path(__file__).parents[1] / "fixtures" / "scenarios"
ENGINE = Engine(load_knowledge())
OTHER_ENGINE = Engine(load_knowledge([Path(__file__).parent / "other.toml"]))
ERROR = b"OSError: [Errno 5] Input/output error: '/data/part-1'\n"
LOG = b"step 1 loss 0.5\n" * 500 + b"Traceback (most recent call last):\n" + ERROR


@pytest.mark.parametrize("told", ["inf", "1e400", "nan", "-1", "much"])
def test_numbers_nobody_means(monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    monkeypatch.setenv(memory.SIZE_VARIABLE, told)
    monkeypatch.setenv(backends.TIMEOUT_VARIABLE, told)
    assert memory._room() >= 0
    assert backends.wait_for(backends.submit(lambda: 7)) == 7


@pytest.fixture(autouse=True)
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PDTRIAGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(memory, "WORTH_KEEPING", 1000)
    return tmp_path / "cache" / "results"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = write_tree(tmp_path, {"log/workerlog.0": LOG}) / "log" / "workerlog.0"
    return aged(path)


def aged(path: Path, seconds: int = 1_700_000_000) -> Path:
    os.utime(path, (seconds, seconds))
    return path


class Reader:
    """Reads as always, and counts."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, sources: Sequence[Source], engine: Engine, tick: Tick) -> Iterator[Read]:
        self.read += [source.file.path.rpartition("/")[2] for source in sources]
        return read_here(sources, engine, tick)


def look(*paths: Path | str, engine: Engine = ENGINE) -> tuple[list[Read], list[str]]:
    """What is known of the logs, and which of them had to be read for it."""
    reader = Reader()
    sources = find(list(paths)).sources
    return list(read_or_remember(sources, engine, lambda *_: None, reader)), reader.read


def entries(shelf: Path) -> list[Path]:
    return sorted(shelf.glob("*/*"))


def test_the_second_look_reads_nothing(log: Path) -> None:
    first, read = look(log)
    assert read == ["workerlog.0"]
    assert first[0][0].events
    second, read = look(log)
    assert read == []
    assert second == first


def test_a_log_that_grows_is_read_again(log: Path) -> None:
    look(log)
    with log.open("ab") as file:
        file.write(ERROR)
    aged(log)
    grown, read = look(log)
    assert read == ["workerlog.0"]
    assert grown[0][0].bytes == len(LOG) + len(ERROR)


def test_a_log_rewritten_in_place_is_read_again(log: Path) -> None:
    look(log)
    log.write_bytes(LOG.replace(b"Errno 5", b"Errno 2"))
    aged(log)
    changed, read = look(log)
    assert read == ["workerlog.0"]
    assert "Errno 2" in changed[0][0].events[-1].text


def test_a_log_that_was_just_written_is_not_kept(log: Path, shelf: Path) -> None:
    os.utime(log)
    look(log)
    assert entries(shelf) == []


def test_a_log_that_changes_while_it_is_read_is_not_kept(log: Path, shelf: Path) -> None:
    def reading(sources: Sequence[Source], engine: Engine, tick: Tick) -> Iterator[Read]:
        for read in read_here(sources, engine, tick):
            aged(log, 1_700_000_001)
            yield read

    list(read_or_remember(find([log]).sources, ENGINE, lambda *_: None, reading))
    assert entries(shelf) == []


def test_other_signatures_and_other_versions_read_again(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look(log)
    assert look(log, engine=OTHER_ENGINE)[1] == ["workerlog.0"]
    monkeypatch.setattr(memory, "_tool", lambda: b"another version")
    assert look(log)[1] == ["workerlog.0"]


def test_the_same_log_under_another_name_is_read_again(log: Path) -> None:
    """Facts carry the name; they must not speak of a file that is gone."""
    look(log)
    renamed = log.rename(log.with_name("workerlog.7"))
    known, read = look(renamed)
    assert read == ["workerlog.7"]
    assert known[0][0].file.index == 7


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other", "altered", "shape"])
def test_a_damaged_entry_is_read_anew(log: Path, shelf: Path, damage: str) -> None:
    first, _ = look(log)
    [entry] = entries(shelf)
    whole = entry.read_bytes()
    if damage == "cut":
        entry.write_bytes(whole[: len(whole) // 2])
    elif damage == "flipped":
        entry.write_bytes(whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:])
    elif damage == "empty":
        entry.write_bytes(b"")
    elif damage == "other":
        entry.write_bytes(whole.replace(entry.stem.encode(), b"0" * 32))
    elif damage == "altered":
        body = cache.unseal(whole, entry.stem) or b""
        text = zstd().decompress(body).replace(b"Errno 5", b"Errno 7")
        entry.write_bytes(whole[: -len(body)] + zstd().compress(text))
    else:
        body = zstd().compress(b"\x91\x92\x91\xa1x\x90")
        entry.write_bytes(cache.seal(body, entry.stem))
    again, read = look(log)
    assert read == ["workerlog.0"]
    assert again == first
    assert look(log)[1] == [], "and is whole again"


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to give a file away")
def test_an_entry_of_somebody_else_is_not_believed(log: Path, shelf: Path) -> None:
    look(log)
    os.chown(entries(shelf)[0], 12345, 12345)
    assert look(log)[1] == ["workerlog.0"]


def test_a_folder_that_cannot_be_written_costs_time_only(
    log: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("PDTRIAGE_CACHE", str(tmp_path / "file"))
    assert look(log)[1] == look(log)[1] == ["workerlog.0"]


def test_nobody_else_may_look_into_it(log: Path, shelf: Path) -> None:
    before = os.umask(0)
    try:
        look(log)
    finally:
        os.umask(before)
    assert stat.S_IMODE(shelf.stat().st_mode) == 0o700
    assert stat.S_IMODE(entries(shelf)[0].stat().st_mode) == 0o600
    assert not [path for path in shelf.rglob("*") if path.name.startswith(".new")]


def test_it_does_not_grow_without_end(
    tmp_path: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = {f"log/workerlog.{n}": LOG + b"%d\n" % n for n in range(6)}
    write_tree(tmp_path, tree)
    logs = [aged(tmp_path / name) for name in tree]
    for age, log in enumerate(logs):
        before = set(entries(shelf))
        look(log)
        [entry] = set(entries(shelf)) - before
        os.utime(entry, (1_600_000_000 + age, 1_600_000_000 + age))
    assert look(logs[0])[1] == [], "used again, so it is no longer the oldest"
    largest = max(entry.stat().st_size for entry in entries(shelf))
    monkeypatch.setenv("PDTRIAGE_CACHE_MB", str(3.5 * largest / 1e6))
    extra = aged(write_tree(tmp_path, {"log/workerlog.9": LOG + b"9\n"}) / "log/workerlog.9")
    look(extra)
    assert len(entries(shelf)) == 3
    assert look(logs[0])[1] == look(logs[5])[1] == look(extra)[1] == []
    assert look(logs[4])[1] == ["workerlog.4"]


def test_nothing_is_kept_where_that_is_wished(
    log: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(memory.SIZE_VARIABLE, "0")
    assert look(log)[1] == look(log)[1] == ["workerlog.0"]
    assert not shelf.exists()


def test_small_local_logs_are_not_worth_it(
    log: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "WORTH_KEEPING", 8 << 20)
    look(log)
    assert entries(shelf) == []
    assert "pdtriage.reading.codec" in sys.modules


def test_members_of_an_archive(tmp_path: Path) -> None:
    tree = {"log/workerlog.0": LOG, "log/workerlog.1": LOG + ERROR}
    archive = aged(write_tree(tmp_path, {"a.tar": as_tar(tree)}) / "a.tar")
    first, read = look(archive)
    assert read == ["workerlog.0", "workerlog.1"]
    assert look(archive) == (first, [])


def test_behind_a_url_the_etag_tells() -> None:
    tree = {"log/workerlog.0": LOG, "log/workerlog.1": b"x\n"}
    with serving(Web(tree)) as web:
        first, read = look(f"{web.url}/log/")
        assert read == ["workerlog.0", "workerlog.1"], "small ones, too: the way is long"
        sent = web.sent.copy()
        assert look(f"{web.url}/log/") == (first, [])
        assert web.sent == sent, "not a byte of them went out again"
        web.tree = {**tree, "log/workerlog.1": b"y\n"}
        assert look(f"{web.url}/log/")[1] == ["workerlog.1"]


def test_what_was_read_with_difficulty_is_read_again(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "FIRST_WAIT", 0.01)
    web = Web({"workerlog.0": LOG * 700}, breaks={"workerlog.0": 9000}, broken=99, ranges=False)
    with serving(web):
        [(_, notes)], _ = look(f"{web.url}/workerlog.0")
        assert notes
    assert entries(shelf) == []


def test_the_rooms_that_facts_depend_on_exist() -> None:
    package = Path(pdtriage.__file__).parent
    assert [room for room in memory.CODE if not [*(package / room).rglob("*.py")]] == []
