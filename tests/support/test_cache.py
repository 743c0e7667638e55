"""What is kept in the cache folder is never trusted blindly."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from pdtriage.support import cache

KEY = cache.key_of(b"x")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def test_what_was_stored_is_loaded(folder: Path) -> None:
    cache.store_atomically("thing", KEY, b"body")
    assert cache.load("thing", KEY) == b"body"
    assert [path.name for path in folder.iterdir()] == [f"thing-{KEY}.bin"]


def test_what_another_user_wrote_is_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store_atomically("thing", KEY, b"body")
    owner = next(folder.iterdir()).stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert cache.load("thing", KEY) == (b"body" if owner == 0 else None)
    fstat = os.fstat

    def of_a_stranger(file: int) -> os.stat_result:
        found = list(fstat(file))
        found[4] = owner + 2
        return os.stat_result(found)

    monkeypatch.setattr(os, "fstat", of_a_stranger)
    assert cache.load("thing", KEY) is None


def test_what_others_may_write_is_not(folder: Path) -> None:
    cache.store_atomically("thing", KEY, b"body")
    next(folder.iterdir()).chmod(0o620)
    assert cache.load("thing", KEY) is None


def test_owner_and_content_are_those_of_one_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who may rename files in a shared folder puts another one there in between."""
    cache.store_atomically("thing", KEY, b"body")
    path = next(folder.iterdir())
    other = folder / "other"
    other.write_bytes(cache.seal(b"theirs", KEY))
    is_trusted = cache.is_trusted

    def swap(found: os.stat_result) -> bool:
        other.replace(path)
        return is_trusted(found)

    monkeypatch.setattr(cache, "is_trusted", swap)
    assert cache.load("thing", KEY) == b"body"


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    cache.store_atomically("thing", KEY, b"body")
    path = next(folder.iterdir())
    path.rename(tmp_path / "elsewhere")
    path.symlink_to("elsewhere")
    assert cache.load("thing", KEY) is None


def test_what_is_no_file_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / f"thing-{KEY}.bin")
    assert cache.load("thing", KEY) is None


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (cache.FOLDER_VARIABLE, "XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.delenv(name, raising=False)

    def unknown(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    cache.store_atomically("thing", KEY, b"body")
    assert cache.load("thing", KEY) is None
