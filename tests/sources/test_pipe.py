"""What comes through a pipe."""

from __future__ import annotations

import gzip
import io
import os
import pickle
from pathlib import Path
from typing import BinaryIO, cast

from pdtriage.sources import Limits, find
from tests.sources.builders import TRACEBACK, as_tar, as_zip, content, one, paths, told, write_tree


def test_text_is_a_console_and_can_be_read_again() -> None:
    source = pickle.loads(pickle.dumps(one(find(["-"], io.BytesIO(b"whatever\n" * 9999)))))

    assert (source.file.path, source.file.kind, source.file.folder) == ("<stdin>", "console", ".")
    assert content(source) == content(source) == b"whatever\n" * 9999
    assert source.plain is None


def test_a_log_that_repeats_itself_is_no_bomb() -> None:
    text = b"x" * (3 << 20)

    source = one(find(["-"], io.BytesIO(text), limits=Limits(expanded=1 << 20, ratio=10)))

    assert content(source) == text
    assert source.notes() == ()


def test_packed_input_is_unpacked() -> None:
    assert content(one(find(["-"], io.BytesIO(gzip.compress(TRACEBACK))))) == TRACEBACK
    tree = {"log/workerlog.0": b"a", "log/workerlog.1": b"b"}
    for archive in (as_zip(tree), as_tar(tree), gzip.compress(as_tar(tree))):
        found = find(["-"], io.BytesIO(archive))
        assert paths(found) == ["<stdin>/log/workerlog.0", "<stdin>/log/workerlog.1"]
        assert [content(s) for s in found.sources] == [b"a", b"b"]


def test_an_archive_that_stops_in_a_member() -> None:
    whole = as_tar({"workerlog.0": b"a" * 600, "workerlog.1": b"b" * 5000})

    found = find(["-"], io.BytesIO(whole[: 512 + 1024 + 512 + 1000]))

    assert [content(s) for s in found.sources] == [b"a" * 600, b"b" * 1000]
    assert "Damaged or incomplete archive" in told(found)


def test_pipe_and_folder_together(tmp_path: Path) -> None:
    write_tree(tmp_path, {"log/workerlog.0": b"x"})

    found = find(["-", tmp_path / "log"], io.BytesIO(TRACEBACK))

    assert paths(found) == ["<stdin>", "log/workerlog.0"]


def test_more_than_memory_holds_is_cut_with_a_note() -> None:
    text = os.urandom(1 << 16) * 64

    found = find(["-"], io.BytesIO(b"text\n" + text.hex().encode()), limits=Limits(held=1 << 16))

    assert 0 < len(content(one(found))) < len(text)
    assert "only its beginning" in told(found)


def test_a_pipe_that_breaks_gives_what_came() -> None:
    class Broken(io.RawIOBase):
        calls = 0

        def read(self, _size: int = -1) -> bytes:
            self.calls += 1
            if self.calls > 1:
                raise OSError(5, "Input/output error")
            return TRACEBACK

    found = find(["-"], cast(BinaryIO, Broken()))

    assert content(one(found)) == TRACEBACK
    assert "Could not be read" in told(found)


def test_what_the_shell_passes_for_a_command() -> None:
    reading, writing = os.pipe()
    os.write(writing, TRACEBACK)
    os.close(writing)

    source = one(find([f"/dev/fd/{reading}"]))
    os.close(reading)

    assert content(source) == TRACEBACK


def test_nothing_at_all() -> None:
    assert find([]).sources == ()
    assert find(["-"]).sources == ()
    assert content(one(find(["-"], io.BytesIO(b"")))) == b""


def test_pipes_of_the_shell_have_names(tmp_path: Path) -> None:
    write_tree(tmp_path, {"log/workerlog.0": b"x"})
    ends = [os.pipe(), os.pipe()]
    try:
        for _, writing in ends:
            os.write(writing, TRACEBACK)
            os.close(writing)
        found = find([*(f"/dev/fd/{reading}" for reading, _ in ends), "log"])
    finally:
        for reading, _ in ends:
            os.close(reading)

    assert paths(found) == ["<pipe 2>", "<pipe>"]
    assert found.missing == ("log",)
