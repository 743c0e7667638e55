"""Files that may be logs: below a folder, named by a user, or out of a pipe."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import BinaryIO

from pdtriage.model import KINDS
from pdtriage.sources.archives.compressed import pack
from pdtriage.sources.byte_stream import Disk, Layer, Memory, Origin, Unpacked
from pdtriage.sources.display_path import join_display, printable
from pdtriage.sources.find.recognise import NameFacts, is_text
from pdtriage.sources.limits import HEAD, Limits
from pdtriage.sources.notes import Notes
from pdtriage.sources.source import Source
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.lazy_regex import lazy_compile
from pdtriage.support.regular_files import open_binary

NEVER_LOGS = frozenset(
    {".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules", "site-packages"}
)
MOST_LOOKED_AT = 32
_HEAD = 4096
_NO_LOGS = lazy_compile(
    r"\..*|.*\.(?:py|pyc|sh|json|jsonl|ya?ml|toml|ini|cfg|conf|md|html?|xml|csv|tsv|pid|lock|proto"
    r"|pd\w+|pkl|pickle|npy|npz|pth?|onnx|bin|h5|ckpt|so|prof|pb|db|png|jpe?g|gif|pdf|ipynb)"
    r"|.*(?:tfevents|vdlrecords).*|readme|license|makefile|dockerfile|\w*requirements\w*\.txt"
    r"|notes?\.txt",
    re.IGNORECASE,
)


class Candidate(NamedTuple):
    """What was seen, and how to open it."""

    name: str
    """Its own name, printable."""
    folder: str
    """The folder it lies in, as shown to people; "" for the current one."""
    origin: Origin
    layers: tuple[Layer, ...] = ()
    size: int | None = None
    modified: float | None = None
    real: str | None = None
    """The resolved path on disk: a file reached in two ways is one file."""
    asked: bool = False
    """Named by the user, not found in a folder or an archive."""
    inside: int = 0
    """How many archives it lies in."""

    @property
    def path(self) -> str:
        return join_display(self.folder, self.name)


def files_below(root: str, shown: str, limits: Limits, notes: Notes) -> Iterator[Candidate]:
    """Files below a folder; links count only to files inside `root` with another name there."""
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
                    notes.add("special", _path_of(entry, folder_shown))
                elif depth >= limits.depth:
                    notes.add("depth", _path_of(entry, folder_shown))
                elif entry.name not in NEVER_LOGS:
                    below.append((entry.path, _path_of(entry, folder_shown), depth + 1))
            except OSError:
                notes.add("unreadable", _path_of(entry, folder_shown))
        folders.extend(reversed(below))
    for entry, folder_shown in links:
        yield from _through_link(entry, folder_shown, real_root, notes)


def named_file(path: str, shown: str) -> Candidate:
    """A file the user named; raises OSError if it cannot be looked at."""
    found, real = os.stat(path), os.path.realpath(path)
    folder, _, name = shown.rpartition("/")
    return Candidate(
        name=name,
        folder=folder,
        origin=Disk(real),
        size=found.st_size if stat.S_ISREG(found.st_mode) else None,
        modified=found.st_mtime,
        real=real,
        asked=True,
    )


def _entries(folder: str, shown: str, notes: Notes) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listing:
            return sorted(listing, key=attrgetter("name"))
    except OSError:
        notes.add("unreadable", shown or ".")
        return []


def _through_link(
    entry: os.DirEntry[str], folder_shown: str, root: str, notes: Notes
) -> Iterator[Candidate]:
    try:
        target = os.path.realpath(entry.path, strict=True)
        found = os.stat(target)
    except OSError:
        return  # leads nowhere, or in a circle
    if os.path.commonpath([root, target]) != root:
        notes.add("outside", _path_of(entry, folder_shown))
    elif stat.S_ISREG(found.st_mode):
        yield _candidate(entry, folder_shown, found, target)
    # A linked folder inside the root is walked where it really lies.


def _path_of(entry: os.DirEntry[str], folder_shown: str) -> str:
    return join_display(folder_shown, printable(entry.name))


def _candidate(entry: os.DirEntry[str], folder: str, found: os.stat_result, real: str) -> Candidate:
    name, size, modified = printable(entry.name), found.st_size, found.st_mtime
    return Candidate(name, folder, Disk(real), (), size, modified, real)


def read_pipe(stream: BinaryIO, shown: str, limits: Limits, notes: Notes) -> Candidate:
    """Everything `stream` gives until it ends, or until there is no memory for more."""
    content, complete = pack(_pieces(stream, shown, notes), limits.held)
    if not complete:
        notes.add("pipe", shown)
    return Candidate(name=shown, folder="", origin=Memory(content), layers=("held",), asked=True)


def _pieces(stream: BinaryIO, shown: str, notes: Notes) -> Iterator[bytes]:
    try:
        while piece := stream.read(1 << 20):
            yield piece
    except OSError:
        notes.add("unreadable", shown)


def packed_copies(pieces: Sequence[tuple[Candidate, NameFacts]], limits: Limits) -> set[Candidate]:
    """Pieces of one log that only repeat, packed, what another holds unpacked.

    Equal names prove nothing: `workerlog.0.gz` may as well be what was saved before the last run.
    """
    copies: set[Candidate] = set()
    for packed, told in pieces:
        if not told.packed:
            continue
        for other, other_told in pieces:
            if other_told.packed or other_told.piece != told.piece:
                continue
            if _same_beginning(packed, other, limits):
                copies.add(packed)
    return copies


def _same_beginning(packed: Candidate, other: Candidate, limits: Limits) -> bool:
    there = Unpacked(packed.origin, packed.layers, limits).head(HEAD)
    here = Unpacked(other.origin, other.layers, limits).head(HEAD)
    return bool(there) and here.startswith(there)  # the unpacked file may have grown since


def unread_beside(candidates: Sequence[Candidate], sources: Iterable[Source]) -> Iterator[str]:
    """Files beside the log of a process that hold text and are not read."""
    if not candidates:
        return
    folders = {source.file.folder for source in sources if KINDS[source.file.kind].role}
    looked_at = 0
    for candidate in candidates:
        beside = (candidate.folder or ".") in folders and not candidate.inside
        if not beside or _NO_LOGS.fullmatch(candidate.name) or looked_at >= MOST_LOOKED_AT:
            continue
        if isinstance(candidate.origin, Disk) and candidate.size:
            looked_at += 1
            if _is_text_file(candidate.origin.path):
                yield candidate.path


def _is_text_file(path: str) -> bool:
    try:
        with open_binary(path) as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return bool(head.strip(b"\0")) and is_text(head)
