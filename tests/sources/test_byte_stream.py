"""Logs whose lines end in carriage returns alone, and those in which a progress bar uses them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from pdtriage.sources import find
from tests.sources.builders import TRACEBACK, content, one, write_tree

OLD_MAC = TRACEBACK.replace(b"\n", b"\r")
BAR = b"".join(b"\r%3d%%|###   | %d/100 [00:01<00:09]" % (n, n) for n in range(100))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_carriage_return_ends_a_line_where_nothing_else_does(tmp_path: Path, pack: type) -> None:
    write_tree(tmp_path, {"log/workerlog.0": pack(OLD_MAC)})
    assert content(one(find([tmp_path]))) == TRACEBACK


@pytest.mark.parametrize(
    "text",
    [
        BAR + b"\nTraceback\n",
        b"hello\n" + BAR,
        BAR * 40 + b"\nend\n",  # longer than the beginning that is looked at
        b"a\r\nb\r\n",
        b"PK\0\1" + OLD_MAC,
    ],
)
def test_a_progress_bar_stays_one_line(tmp_path: Path, text: bytes) -> None:
    write_tree(tmp_path, {"log/workerlog.0": text})
    assert content(one(find([tmp_path]))) == text


def test_a_long_log_is_looked_at_from_both_ends(tmp_path: Path) -> None:
    write_tree(tmp_path, {"log/workerlog.0": OLD_MAC * 4000})
    assert content(one(find([tmp_path]))) == TRACEBACK * 4000


@pytest.mark.parametrize("before", [20, 400, 2000])
def test_how_it_is_read_does_not_matter(tmp_path: Path, before: int) -> None:
    """Line feeds stand behind a short, a long or a very long bar, and another one at the end."""
    text = BAR * before + b"\n" * 9 + BAR * 40
    write_tree(tmp_path, {"log/workerlog.0": text})
    source = one(find([tmp_path]))
    given = {
        b"".join(source.chunks(size)) for size in (1 << 10, 1 << 16, 1 << 18, 1 << 20, 1 << 23)
    }
    assert given == {text.replace(b"\r", b"\n") if before == 2000 else text}
