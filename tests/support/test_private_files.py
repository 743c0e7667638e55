"""Links that others put into a log folder are not followed when something is written there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pdtriage.support.private_files import (
    make_own_folder,
    open_through_own_links,
    private_opener,
    unlinked_opener,
)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine").write_text("precious")
    return tmp_path / "mine"


@pytest.mark.parametrize(("opener", "rights"), [(private_opener, 0), (unlinked_opener, 0o044)])
@pytest.mark.parametrize("mode", ["w", "a"])
def test_a_symbolic_link_makes_way_for_a_file(
    mine: Path, mode: str, opener: Callable[[str, int], int], rights: int
) -> None:
    place = mine.with_name("endpoints.log")
    place.symlink_to("mine")
    umask = os.umask(0o022)
    try:
        with open(place, mode, opener=opener) as stream:
            stream.write("10.0.0.1:6070")
    finally:
        os.umask(umask)
    assert mine.read_text() == "precious"
    assert not place.is_symlink()
    assert place.read_text() == "10.0.0.1:6070"
    assert place.stat().st_mode & 0o777 == 0o600 | rights


def test_a_second_name_of_a_file_is_not_emptied(mine: Path) -> None:
    place = mine.with_name("endpoints.log")
    os.link(mine, place)
    with open(place, "w", opener=private_opener) as stream:
        stream.write("new")
    assert (mine.read_text(), place.read_text()) == ("precious", "new")


def test_what_is_appended_to_keeps_its_content(mine: Path) -> None:
    os.link(mine, mine.with_name("copy"))
    with open(mine, "a", opener=private_opener) as stream:
        stream.write(", and more")
    assert mine.read_text() == "precious, and more"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock")
    for flags in (os.O_WRONLY, os.O_RDWR | os.O_CREAT):
        with pytest.raises(OSError, match="lock"):
            private_opener(str(tmp_path / "lock"), flags)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make what another user owns")
@pytest.mark.root
def test_a_folder_that_another_user_links_to_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "pdtriage"
    link.symlink_to("real")
    make_own_folder(str(link))
    os.chown(link, 12345, 12345, follow_symlinks=False)
    with pytest.raises(OSError, match="symbolic links"):
        make_own_folder(str(link))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make what another user owns")
@pytest.mark.root
def test_a_log_is_written_through_links_of_our_own_only(mine: Path) -> None:
    link = mine.with_name("workerlog.0")
    link.symlink_to("mine")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    os.chown(link, 12345, 12345, follow_symlinks=False)
    with pytest.raises(OSError, match="symbolic links"):
        open_through_own_links(str(link), flags, 0o666)
    assert mine.read_text() == "precious"
    os.chown(link, 0, 0, follow_symlinks=False)
    os.close(open_through_own_links(str(link), flags, 0o666))
    assert mine.read_text() == ""
