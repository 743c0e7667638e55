"""A folder in, the logs in it out."""

from __future__ import annotations

import gzip
import os
import pickle
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import pdtriage
from pdtriage.sources import Limits, find
from tests.sources.builders import (
    LOGS_OF_TWO_NODES,
    TRACEBACK,
    TWO_NODES,
    content,
    one,
    paths,
    told,
    write_tree,
)


def test_the_files_of_a_launcher_are_known_by_name(tmp_path: Path) -> None:
    names = ("workerlog.10", "workerlog.2", "serverlog.0", "heterlog.1", "coordinator.0")
    write_tree(tmp_path / "log", dict.fromkeys(names, b"text\n"))

    found = find([tmp_path / "log"])

    assert [(s.file.path, s.file.kind, s.file.index) for s in found.sources] == [
        ("log/coordinator.0", "coordinator", 0),
        ("log/heterlog.1", "heter", 1),
        ("log/serverlog.0", "server", 0),
        ("log/workerlog.2", "worker", 2),
        ("log/workerlog.10", "worker", 10),
    ]
    assert {s.file.folder for s in found.sources} == {"log"}
    assert found.notes == ()


def test_an_artifact_of_two_nodes(tmp_path: Path) -> None:
    write_tree(tmp_path, TWO_NODES)

    found = find([tmp_path / "job"])

    kinds = {s.file.path: (s.file.kind, s.file.folder) for s in found.sources}
    assert len(kinds) == LOGS_OF_TWO_NODES
    assert kinds["job/node0/log/workerlog.0"] == ("worker", "job/node0/log")
    assert kinds["job/node1/log/workerlog.0"] == ("worker", "job/node1/log")
    assert kinds["job/node0/log/default.abcdef.log"] == ("pod", "job/node0/log")
    assert kinds["job/node1/log/dmesg.txt"] == ("kernel", "job/node1/log")
    assert kinds["job/console.log"] == ("console", "job")
    assert found.notes == ()


def test_the_run_record_belongs_to_its_log_folder_and_reports_are_no_logs(tmp_path: Path) -> None:
    write_tree(tmp_path, TWO_NODES)

    found = find([tmp_path / "job" / "node0"])

    record = next(s.file for s in found.sources if s.file.kind == "record")
    assert (record.path, record.folder, record.index) == (
        "node0/log/pdtriage/run-0001.jsonl",
        "node0/log",
        1,
    )
    assert not any("report" in path for path in paths(found))


def test_empty_logs_stay_because_a_silent_rank_matters(tmp_path: Path) -> None:
    write_tree(tmp_path, {"workerlog.0": b""})

    source = one(find([tmp_path]))

    assert (source.file.size, content(source), source.notes()) == (0, b"", ())


def test_size_and_time_come_from_the_file(tmp_path: Path) -> None:
    write_tree(tmp_path, {"workerlog.0": b"12345"})
    os.utime(tmp_path / "workerlog.0", (1_600_000_000, 1_600_000_000))

    file = one(find([tmp_path])).file

    assert (file.size, file.modified) == (5, 1_600_000_000)


def test_relative_paths_are_shown_as_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(tmp_path, {"a/log/workerlog.0": b"x", "b/log/workerlog.0": b"y"})
    monkeypatch.chdir(tmp_path)

    assert paths(find(["./a/log/", "b/log"])) == ["a/log/workerlog.0", "b/log/workerlog.0"]
    assert paths(find(["."])) == ["a/log/workerlog.0", "b/log/workerlog.0"]
    monkeypatch.chdir(tmp_path / "a" / "log")
    assert one(find(["."])).file.folder == "."


def test_absolute_paths_of_two_nodes_stay_apart(tmp_path: Path) -> None:
    write_tree(tmp_path, {"n0/log/workerlog.0": b"x", "n1/log/workerlog.1": b"y"})

    found = find([tmp_path / "n0/log/workerlog.0", tmp_path / "n1/log/workerlog.1"])

    assert [s.file.folder for s in found.sources] == ["n0/log", "n1/log"]


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    write_tree(tmp_path, {"log/workerlog.0": b"x"})

    assert len(find([tmp_path / "log", tmp_path / "log" / "workerlog.0"]).sources) == 1


def test_any_file_the_user_names_is_read(tmp_path: Path) -> None:
    write_tree(tmp_path, {"odd.name": b"nothing known\n", "err.dat": b"[ 1.000000] oops\n" * 3})

    assert one(find([tmp_path / "odd.name"])).file.kind == "console"
    assert one(find([tmp_path / "err.dat"])).file.kind == "kernel"


def test_of_several_named_files_what_is_not_text_is_left_out_with_a_note(tmp_path: Path) -> None:
    write_tree(tmp_path, TWO_NODES)

    found = find([tmp_path / "job/train.py", tmp_path / "job/model.pdparams"])

    assert paths(found) == ["train.py"]
    assert "Not a text file" in told(found)
    assert "model.pdparams" in told(found)


def test_what_does_not_exist_is_told_and_does_not_raise(tmp_path: Path) -> None:
    found = find([tmp_path / "no", "nul\0byte"])

    assert found.missing == (str(tmp_path / "no"),)
    assert found.sources == ()
    assert "Could not be read" in told(found)


def test_links_inside_are_followed_once_and_links_out_are_not(tmp_path: Path) -> None:
    write_tree(tmp_path, {"log/run/workerlog.0": b"x", "log/blob": b"y", "else/workerlog.9": b"z"})
    log = tmp_path / "log"
    (log / "loop").symlink_to(log)
    (log / "latest").symlink_to(log / "run")
    (log / "workerlog.1").symlink_to(log / "blob")
    (log / "workerlog.2").symlink_to(log / "blob")
    (log / "out").symlink_to(tmp_path / "else")
    (log / "dangling").symlink_to(log / "gone")

    found = find([log])

    assert paths(found) == ["log/run/workerlog.0", "log/workerlog.1"]
    assert "log/out" in told(found)
    assert "latest" not in told(found)


def test_a_root_that_is_a_link_is_followed(tmp_path: Path) -> None:
    write_tree(tmp_path, {"real/workerlog.0": b"x"})
    (tmp_path / "latest").symlink_to(tmp_path / "real")

    assert paths(find([tmp_path / "latest"])) == ["latest/workerlog.0"]


def test_sockets_and_pipes_are_skipped_with_a_note(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "workerlog.0")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "s"))

        found = find([tmp_path, tmp_path / "workerlog.0"])

    assert found.sources == ()
    assert "workerlog.0" in told(found)
    assert "socket" in told(found)


def test_what_may_not_be_read_is_a_note(tmp_path: Path) -> None:
    write_tree(tmp_path, {"log/workerlog.0": b"x", "log/train.log": b"y", "log/shut/a": b"z"})
    for name in ("workerlog.0", "train.log", "shut"):
        (tmp_path / "log" / name).chmod(0)
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & 0o001:
            folder.chmod(0o755)
    with _without_privileges():
        found = find([tmp_path / "log"])
        source = one(found)
        assert content(source) == b""
    (tmp_path / "log" / "shut").chmod(0o755)

    assert "log/shut" in told(found)
    assert "log/train.log" in told(found)
    assert "Could not be read" in source.notes()[0].en
    assert "无法读取" in source.notes()[0].zh


def test_depth_and_number_of_entries_are_bounded(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a/b/c/workerlog.0": b"x", "a/workerlog.1": b"y"})
    assert paths(deep := find([tmp_path / "a"], limits=Limits(depth=1))) == ["a/workerlog.1"]
    assert "a/b/c" in told(deep)

    write_tree(tmp_path, {f"many/workerlog.{n}": b"" for n in range(20)})
    many = find([tmp_path / "many"], limits=Limits(entries=10))
    assert len(many.sources) == 10
    assert "Too many entries" in told(many)


def test_the_default_depth_reaches_twelve_folders_down(tmp_path: Path) -> None:
    deepest = "/".join("d" * 12)
    write_tree(tmp_path, {f"r/{deepest}/workerlog.0": b"x", f"r/{deepest}/d/workerlog.1": b"x"})

    assert [s.file.index for s in find([tmp_path / "r"]).sources] == [0]


def test_names_that_are_not_utf8_or_not_printable(tmp_path: Path) -> None:
    for name in (b"console-\xff.log", b"console-\x1b[31m.log", "控制台.log".encode()):
        (Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))).write_bytes(TRACEBACK)

    found = find([tmp_path])

    names = sorted(path.rpartition("/")[2] for path in paths(found))
    assert names == ["console-\\x1b[31m.log", "console-\\xff.log", "控制台.log"]
    assert all(content(s) == TRACEBACK for s in found.sources)


def test_the_order_does_not_depend_on_the_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tmp_path, TWO_NODES)
    before = paths(find([tmp_path / "job"]))
    few = Limits(entries=9)
    before_cut = paths(find([tmp_path / "job"], limits=few))
    listed = os.scandir

    @contextmanager
    def backwards(path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        with listed(path) as entries:
            yield reversed(list(entries))

    monkeypatch.setattr(os, "scandir", backwards)
    assert paths(find([tmp_path / "job"])) == before
    assert paths(find([tmp_path / "job"], limits=few)) == before_cut != before


def test_what_was_written_since_it_was_found_is_read_as_well(tmp_path: Path) -> None:
    log = tmp_path / "workerlog.0"
    for now in (b"one\n" * 9 + b"two\n", b"one\n", b""):
        log.write_bytes(b"one\n" * 9)
        source = one(find([tmp_path]))
        log.write_bytes(now)

        assert content(source) == now


def test_a_file_that_vanishes_before_it_is_read(tmp_path: Path) -> None:
    write_tree(tmp_path, {"workerlog.0": b"x"})
    source = one(find([tmp_path]))
    (tmp_path / "workerlog.0").unlink()

    assert content(source) == b""
    assert "Vanished" in source.notes()[0].en


def test_a_source_travels_to_another_process(tmp_path: Path) -> None:
    write_tree(tmp_path, {"workerlog.0": b"abc" * 1000})
    source = pickle.loads(pickle.dumps(one(find([tmp_path]))))

    assert content(source, 7) == b"abc" * 1000
    assert max(len(piece) for piece in source.chunks(7)) == 7
    assert source.read_small(5) == b"abcab"
    assert source.read_small(0) == b""
    assert source.plain == str(tmp_path / "workerlog.0")


def test_a_plain_folder_needs_no_archive_library(tmp_path: Path) -> None:
    write_tree(tmp_path, TWO_NODES)
    script = (
        "import sys; from pdtriage.sources import find; "
        f"assert all(sum(map(len, s.chunks())) >= 0 for s in find([{str(tmp_path)!r}]).sources); "
        "names = {'zipfile', 'tarfile', 'lzma', 'bz2', 'backports.zstd', 'tempfile'}; "
        "print(names & set(sys.modules))"
    )

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ran.stdout == "set()\n"


@contextmanager
def _without_privileges() -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_files_nothing_marks_as_logs_are_mentioned_not_read(tmp_path: Path) -> None:
    tree = {
        "log/workerlog.0": b"x",
        "log/mystery": b"words\n",
        "log/rank-one": b"words\n",
        "log/weights": bytes(range(1, 32)) * 40,
        "log/train.py": b"raise OSError\n",
        "log/nothing": b"",
        "log/model/other": b"words\n",
        "elsewhere/mystery": b"words\n",
    }
    write_tree(tmp_path, tree)

    found = find([tmp_path])

    assert [source.file.kind for source in found.sources] == ["worker"]
    assert "name them on the command line to include them: " in told(found)
    assert re.search(r"them: \S+/log/mystery, \S+/log/rank-one\.$", told(found))
    assert "log/mystery" in paths(find([tmp_path / "log" / "mystery", tmp_path / "log"]))[0]


def test_what_is_no_text_or_only_named_as_packed_is_said(tmp_path: Path) -> None:
    write_tree(tmp_path, {"log/workerlog.0.gz": TRACEBACK})

    odd = bytes(range(1, 32)) * 40
    for name in ("odd.zst", "job/workerlog.0"):
        write_tree(tmp_path, {name: odd})
        source = one(find([tmp_path / name]))
        assert content(source) == odd
        assert f"Does not look like text; it was read all the same: {source.file.path}." in [
            note.en for note in source.notes()
        ]
    source = one(find([tmp_path / "log"]))
    assert content(source) == TRACEBACK
    assert [note.en for note in source.notes()] == [
        "Named as if it were compressed, and is not; it was read as it is: log/workerlog.0.gz."
    ]


def test_where_nothing_is_known_what_is_called_a_log_is_read(tmp_path: Path) -> None:
    write_tree(tmp_path, {"run/trainer.log": b"waiting for pods\n", "run/notes.txt": b"by hand\n"})
    assert [source.file.kind for source in find([tmp_path]).sources] == ["console"]
    write_tree(tmp_path, {"run/workerlog.0": b"step 1\n"})
    assert [source.file.kind for source in find([tmp_path]).sources] == ["worker"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_log_that_begins_with_much_of_something_else_is_one(tmp_path: Path, packed: bool) -> None:
    (tmp_path / "workerlog.0").write_bytes(b"")
    text = b"loading shard\n" * 20_000
    for name, raw in (("train.log", text + TRACEBACK), ("words.txt", text)):
        path = tmp_path / (name + ".gz" * packed)
        path.write_bytes(gzip.compress(raw) if packed else raw)
    kinds = {Path(s.file.path).name.split(".")[0]: s.file.kind for s in find([tmp_path]).sources}
    assert kinds == {"workerlog": "worker", "train": "console"}


def test_logs_called_after_their_launch_are_of_workers(tmp_path: Path) -> None:
    for name in ("default.abcdef.1.log", "mine.abcdef.log", "mine.abcdef.0.log", "my.models.7.log"):
        (tmp_path / name).write_bytes(TRACEBACK)
    found = {Path(s.file.path).name: (s.file.kind, s.file.index) for s in find([tmp_path]).sources}
    assert found == {
        "default.abcdef.1.log": ("worker", 1),
        "mine.abcdef.log": ("console", None),
        "mine.abcdef.0.log": ("worker", 0),
        "my.models.7.log": ("console", None),
    }


def test_folders_called_after_their_ranks_hold_their_logs(tmp_path: Path) -> None:
    """Unless a launcher speaks in them: then each may be all of a node."""
    tree = {f"job/trainer-{n}/stdout.log": b"hello\n" + n * TRACEBACK for n in (0, 1)}
    write_tree(tmp_path, tree)
    assert [(s.file.path, s.file.kind, s.file.index) for s in find([tmp_path / "job"]).sources] == [
        (f"job/trainer-{n}/stdout.log", "worker", n) for n in (0, 1)
    ]
    assert [cause.rank for cause in pdtriage.analyze(tmp_path / "job").root_causes] == [1]
    write_tree(tmp_path, {"job/trainer-0/stdout.log": b"LAUNCH INFO 2024-01-01 00:00:00,000 x\n"})
    assert {s.file.kind for s in find([tmp_path / "job"]).sources} == {"console"}
