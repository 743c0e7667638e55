"""Given logs behind a URL, when they are looked for, then they are found as on a disk, once."""

from __future__ import annotations

import pickle
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from pdtriage.knowledge import load_knowledge
from pdtriage.reading.memory import ContentKeys
from pdtriage.scan import Engine
from pdtriage.sources import SearchResult, Source, find
from pdtriage.sources.remote import backends
from pdtriage.sources.remote import origin as remote_origin
from pdtriage.support.errors import NotAvailableError
from tests.sources.builders import COMPRESSIONS, TWO_NODES, as_tar, as_zip, write_tree
from tests.sources.sftp import PASSWORD, USER, sftp_server
from tests.sources.web import Web, serving

LONG = b"".join(b"line %d of a long log\n" % number for number in range(300_000))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "FIRST_WAIT", 0.01)
    monkeypatch.setenv(backends.TIMEOUT_VARIABLE, "2")


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    storage = fsspec.filesystem("memory")
    yield storage
    storage.store.clear()
    storage.pseudo_dirs[:] = [""]


def told(found: SearchResult, root: str) -> dict[str, tuple[str, str, bytes]]:
    """What every file is and holds, by its path below what was asked for."""
    return {
        source.file.path.removeprefix(root).lstrip("/"): (
            source.file.kind,
            source.file.folder.removeprefix(root).lstrip("/"),
            b"".join(source.chunks()),
        )
        for source in found.sources
    }


def on_disk(tmp_path: Path) -> dict[str, tuple[str, str, bytes]]:
    return told(find([write_tree(tmp_path, TWO_NODES) / "job"]), "job")


def test_a_folder_in_memory(tmp_path: Path, memory: fsspec.AbstractFileSystem) -> None:
    for name, content in TWO_NODES.items():
        memory.pipe_file("/" + name, content)
    found = find(["memory://job"])
    assert told(found, "memory://job") == on_disk(tmp_path)
    assert found.notes == ()


@pytest.mark.parametrize("ranges", [True, False])
def test_a_folder_on_a_web_server(tmp_path: Path, ranges: bool) -> None:
    with serving(Web(TWO_NODES, ranges=ranges)) as web:
        found = find([f"{web.url}/job/"])
        assert told(found, f"{web.url}/job") == on_disk(tmp_path)
        read = {source.file.path.removeprefix(web.url + "/") for source in found.sources}
        assert read, "each of them went out once, and no byte more"
        assert {name: web.sent[name] for name in read} == {n: len(TWO_NODES[n]) for n in read}


def test_a_folder_on_an_sftp_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = on_disk(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv(backends.TIMEOUT_VARIABLE, "20")  # keys take long on a busy machine
    with sftp_server(tmp_path / "here") as (port, key):
        url = f"sftp://{USER}:{PASSWORD}@127.0.0.1:{port}/job"
        stranger = find([url])
        assert stranger.sources == ()
        assert "known_hosts" in stranger.notes[0].en
        known = tmp_path / "home" / ".ssh" / "known_hosts"
        known.parent.mkdir(parents=True)
        known.write_text(f"[127.0.0.1]:{port} {key.get_name()} {key.get_base64()}\n")
        found = find([url])
        assert told(found, f"sftp://127.0.0.1:{port}/job") == expected
        assert PASSWORD not in repr(found)
        refused = find([url.replace(PASSWORD, "wrong-one")])
        assert refused.notes[0].en.startswith("The storage refused access")


@pytest.mark.parametrize("suffix", ["zip", "tar", *("tar" + kind for kind in COMPRESSIONS)])
@pytest.mark.parametrize("prefers_seeking", [True, False])
def test_archives_behave_as_on_a_disk(
    tmp_path: Path,
    memory: fsspec.AbstractFileSystem,
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
    prefers_seeking: bool,
) -> None:
    monkeypatch.setattr(remote_origin, "HOPS", 0 if prefers_seeking else 1 << 40)
    pack = COMPRESSIONS.get(suffix.removeprefix("tar"), bytes)
    content = as_zip(TWO_NODES) if suffix == "zip" else pack(as_tar(TWO_NODES))
    write_tree(tmp_path, {f"a.{suffix}": content})
    memory.pipe_file(f"/b/a.{suffix}", content)
    expected = told(find([tmp_path / f"a.{suffix}"]), f"a.{suffix}")
    assert expected
    assert told(find([f"memory://b/a.{suffix}"]), f"memory://b/a.{suffix}") == expected
    assert told(find(["memory://b"]), f"memory://b/a.{suffix}") == expected, "unasked, too"


@pytest.mark.parametrize("kind", sorted(COMPRESSIONS))
def test_a_compressed_log(memory: fsspec.AbstractFileSystem, kind: str) -> None:
    memory.pipe_file(f"/log/workerlog.0{kind}", COMPRESSIONS[kind](LONG[:400_000]))
    [source] = find(["memory://log"]).sources
    assert b"".join(source.chunks()) == LONG[:400_000]


def test_a_large_zip_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_origin, "HOPS", 1 << 20)
    tree = {"log/workerlog.0": TWO_NODES["job/node0/log/workerlog.0"], "model.bin": LONG * 5}
    archive = as_zip(tree, zipfile.ZIP_STORED)
    with serving(Web({"a.zip": archive})) as web:
        [source] = find([f"{web.url}/a.zip"]).sources
        assert b"".join(source.chunks()) == tree["log/workerlog.0"]
        assert web.sent["a.zip"] < len(archive) / 2, "the model stays where it is"
    with serving(Web({"a.zip": archive}, ranges=False)) as web:
        [source] = find([f"{web.url}/a.zip"]).sources
        assert b"".join(source.chunks()) == tree["log/workerlog.0"]


def test_files_urls_are_local(tmp_path: Path) -> None:
    log = write_tree(tmp_path, {"a log/workerlog.0": b"x\n"})
    [source] = find([f"file://{log}/a%20log/workerlog.0"]).sources
    assert source.plain == str(log / "a log" / "workerlog.0")


def test_a_busy_server_is_asked_again() -> None:
    with serving(Web({"log/workerlog.0": b"step 1\n"}, busy=2)) as web:
        [source] = find([f"{web.url}/log/"]).sources
        assert b"".join(source.chunks()) == b"step 1\n"
        assert source.notes() == ()
        assert web.asked["GET", "/log/workerlog.0"] == 3


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("broken", [1, 3])
def test_an_answer_that_breaks_off_is_gone_on_with(ranges: bool, broken: int) -> None:
    web = Web(
        {"workerlog.0": LONG}, ranges=ranges, breaks={"workerlog.0": 5_000_000}, broken=broken
    )
    if not ranges and broken > 1:
        web.breaks = {"workerlog.0": 6_000_000}  # it has to get further with each try
        web.broken = 1
    with serving(web):
        [source] = find([f"{web.url}/workerlog.0"]).sources
        assert b"".join(source.chunks()) == LONG
        assert source.notes() == ()
        if ranges:
            assert web.begins == sorted(set(web.begins)), "it goes on, and does not go back"
            assert len(web.begins) > 1


def test_what_never_comes_whole_is_used_as_far_as_it_came() -> None:
    web = Web({"workerlog.0": LONG}, breaks={"workerlog.0": 2_000_000}, broken=10**9, ranges=False)
    with serving(web):
        [source] = find([f"{web.url}/workerlog.0"]).sources
        got = b"".join(source.chunks())
    assert got == LONG[: len(got)]
    assert len(got) > 1_000_000
    [note] = source.notes()
    assert "did not answer, or broke off" in note.en


def test_a_silent_server_is_left_alone_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(backends.TIMEOUT_VARIABLE, "0.2")
    monkeypatch.setattr(backends, "TRIES", 2)
    tree = {"log/workerlog.0": b"step 1\n", "log/workerlog.1": b"step 1\n"}
    with serving(Web(tree, delay=5.0)) as web:
        found = find([f"{web.url}/log/"])
        assert [b"".join(source.chunks()) for source in found.sources] == [b"", b""]
        assert all("did not answer" in source.notes()[0].en for source in found.sources)


def test_refusals_and_absences_are_not_asked_again() -> None:
    tree = {"log/workerlog.0": b"step 1\n", "log/workerlog.1": b"step 1\n"}
    with serving(Web(tree, refused=frozenset({"log/workerlog.0"}))) as web:
        found = find([f"{web.url}/log/", f"{web.url}/nowhere"])
        assert [source.file.index for source in found.sources] == [1]
        assert "refused access" in found.notes[0].en
        assert "workerlog.0" in found.notes[0].en
        assert found.missing == (f"{web.url}/nowhere",)
        asked = sum(count for (_, path), count in web.asked.items() if path == "/log/workerlog.0")
        assert asked <= 2, "HEAD, and GET where HEAD is not allowed"


def test_nobody_there() -> None:
    found = find(["http://127.0.0.1:9/log/workerlog.0"])
    assert found.missing == ()
    assert "did not answer" in found.notes[0].en


def test_reading_is_bounded(
    memory: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However large a file, a few blocks of it are in memory."""
    monkeypatch.setattr(remote_origin, "BLOCK", 1000)
    memory.pipe_file("/big/workerlog.0", LONG)
    fetched: list[int] = []
    genuine = type(memory).cat_file

    def counting(self: object, path: str, start: int, end: int) -> bytes:
        fetched.append(start)
        return bytes(genuine(self, path, start=start, end=end))

    monkeypatch.setattr(type(memory), "cat_file", counting)
    [source] = find(["memory://big"]).sources
    pieces = source.chunks()
    got = len(next(pieces))
    for _ in range(50):
        got += len(next(pieces))
        assert max(fetched) <= got + (remote_origin.AHEAD + 1) * 1000 + (64 << 10)
    pieces.close()  # type: ignore[attr-defined]
    assert len(fetched) == len(set(fetched)), "no block twice"


def test_reading_in_small_pieces_keeps_little(memory: fsspec.AbstractFileSystem) -> None:
    memory.pipe_file("/big/workerlog.0", LONG)
    [source] = find(["memory://big"]).sources
    assert b"".join(source.chunks(1000)) == LONG
    origin = source.origin
    assert isinstance(origin, remote_origin.Remote)
    assert sum(map(len, origin.fetched._heads.values())) < 2 * remote_origin.SMALL
    assert b"".join(source.chunks()) == LONG, "and what was kept is where it belongs"


def test_a_file_is_read_as_it_was_when_it_was_found(memory: fsspec.AbstractFileSystem) -> None:
    memory.pipe_file("/log/workerlog.0", b"one\n")
    memory.pipe_file("/log/workerlog.1", b"0123456789\n")
    found = find(["memory://log"])
    memory.pipe_file("/log/workerlog.0", b"one\ntwo\n")
    memory.pipe_file("/log/workerlog.1", b"012\n")
    grown, shrunk = found.sources
    assert b"".join(grown.chunks()) == b"one\n"
    assert b"".join(shrunk.chunks()) == b"012\n"
    assert "incomplete" in shrunk.notes()[0].en


def test_sources_travel_and_credentials_do_not_show() -> None:
    with serving(Web({"log/workerlog.0": b"step 1\n"})) as web:
        url = web.url.replace("//", "//bob:hunter22@") + "/log/workerlog.0?X-Amz-Signature=deadbeef"
        found = find([url])
        assert "hunter22" not in repr(found)
        assert "deadbeef" not in repr(found)
        assert found.sources[0].file.path == f"{web.url}/log/workerlog.0"
        again = pickle.loads(pickle.dumps(found.sources[0]))
        assert b"".join(again.chunks()) == b"step 1\n"


def test_the_same_url_twice_is_one_log() -> None:
    with serving(Web({"log/workerlog.0": b"step 1\n"})) as web:
        assert len(find([f"{web.url}/log/", f"{web.url}/log/workerlog.0"]).sources) == 1


def test_urls_that_differ_in_their_query_are_two_logs() -> None:
    with serving(Web({"get/workerlog.0": b"step 1\n"})) as web:
        urls = [f"{web.url}/get/workerlog.0?job={job}" for job in "778"]
        sources = find(urls).sources
        keys = ContentKeys(Engine(load_knowledge()))
        assert [source.file.path for source in sources] == [
            f"{web.url}/get/workerlog.0",
            f"{web.url}/get/workerlog.0 (2)",
        ]
        alike = [Source(sources[0].file, source.origin) for source in sources]
        assert None not in map(keys.of, alike)
        assert len(set(map(keys.of, alike))) == 2, "nor is one remembered for the other"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("s3://key:secret@bucket/log", "pip install 'pdtriage[s3]'"),
        ("gs://bucket/log", "pip install 'gcsfs'"),
        ("nonsense://x", "no storage of that kind"),
        ("zip://log::s3://key:secret@bucket/a.zip", "give the URL alone"),
        ("simplecache::s3://key:secret@bucket/log", "give the URL alone"),
    ],
)
def test_a_missing_backend_is_named(monkeypatch: pytest.MonkeyPatch, url: str, says: str) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
    with pytest.raises(NotAvailableError) as missing:
        find([url])
    assert says in missing.value.message.en
    assert says.split("'")[0] in missing.value.message.zh or "://" in missing.value.message.zh
    assert "secret" not in missing.value.message.en
