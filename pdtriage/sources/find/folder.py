"""Folders: every file below, in the same order whatever the file system says."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from operator import attrgetter

from pdtriage.sources.byte_stream import Disk
from pdtriage.sources.display_path import joined, printable
from pdtriage.sources.find.candidate import Candidate
from pdtriage.sources.limits import Limits
from pdtriage.sources.notes import Notes

NEVER_LOGS = frozenset(
    {".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules", "site-packages"}
)


def files_below(root: str, shown: str, limits: Limits, notes: Notes) -> Iterator[Candidate]:
    """Real files first; then links to files inside `root` that have another name there."""
    real_root = os.path.realpath(root)
    links: list[tuple[os.DirEntry[str], str]] = []
    folders = [(real_root, shown, 0)]
    seen = 0
    while folders:
        folder, folder_shown, depth = folders.pop()
        below: list[tuple[str, str, int]] = []
        for entry in _entries(folder, folder_shown, notes):
            seen += 1
            if seen > limits.entries:
                notes.add("entries", shown or ".")
                return
            try:
                if entry.is_file(follow_symlinks=False):
                    # Not by the entry, which would hold on to all that is told of it.
                    found = os.lstat(entry.path)
                    yield _candidate(entry, folder_shown, found, entry.path)
                elif entry.is_symlink():
                    links.append((entry, folder_shown))
                elif not entry.is_dir(follow_symlinks=False):
                    notes.add("special", _shown(entry, folder_shown))
                elif depth >= limits.depth:
                    notes.add("depth", _shown(entry, folder_shown))
                elif entry.name not in NEVER_LOGS:
                    below.append((entry.path, _shown(entry, folder_shown), depth + 1))
            except OSError:
                notes.add("unreadable", _shown(entry, folder_shown))
        folders.extend(reversed(below))
    for entry, folder_shown in links:
        yield from _linked(entry, folder_shown, real_root, notes)


def named_file(path: str, shown: str) -> Candidate:
    """A file the user named; raises OSError if it cannot be looked at."""
    found = os.stat(path)
    folder, _, name = shown.rpartition("/")
    return Candidate(
        name=name,
        folder=folder,
        origin=Disk(os.path.abspath(path)),
        size=found.st_size if stat.S_ISREG(found.st_mode) else None,
        modified=found.st_mtime,
        real=os.path.realpath(path),
        asked=True,
    )


def _entries(folder: str, shown: str, notes: Notes) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listing:
            return sorted(listing, key=attrgetter("name"))
    except OSError:
        notes.add("unreadable", shown or ".")
        return []


def _linked(
    entry: os.DirEntry[str], folder_shown: str, root: str, notes: Notes
) -> Iterator[Candidate]:
    try:
        target = os.path.realpath(entry.path, strict=True)
        found = os.stat(target)
    except OSError:
        return  # leads nowhere, or in a circle
    if os.path.commonpath([root, target]) != root:
        notes.add("outside", _shown(entry, folder_shown))
    elif stat.S_ISREG(found.st_mode):
        yield _candidate(entry, folder_shown, found, target)
    # A linked folder inside the root is walked where it really lies.


def _shown(entry: os.DirEntry[str], folder_shown: str) -> str:
    return joined(folder_shown, printable(entry.name))


def _candidate(entry: os.DirEntry[str], folder: str, found: os.stat_result, real: str) -> Candidate:
    name, size, modified = printable(entry.name), found.st_size, found.st_mtime
    return Candidate(name, folder, Disk(real), (), size, modified, real)
