"""Brings the kinds of source together: from the paths a user names to the logs worth reading."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from pdtriage.model import KINDS, RECORD_FOLDER, FileKind, LogFile
from pdtriage.model.kinds import launch_of_log
from pdtriage.sources.archives.compressed import DamagedError, TooMuchError
from pdtriage.sources.byte_stream import Disk, Memory, Unpacked
from pdtriage.sources.display_path import display_roots, join_display, natural_key
from pdtriage.sources.find.candidates import (
    Candidate,
    files_below,
    named_file,
    packed_copies,
    read_pipe,
    unread_beside,
)
from pdtriage.sources.find.recognise import (
    ArchiveKind,
    NameFacts,
    archive_by_content,
    archive_by_name,
    as_worker_log,
    begins_headed,
    begins_labelled,
    is_by_a_launcher,
    is_text,
    kind_of_text,
    process_of,
    read_name,
    recognise,
)
from pdtriage.sources.find.rotation import rotation_of, rotations
from pdtriage.sources.limits import FURTHER, HEAD, LIMITS, Limits, Room
from pdtriage.sources.notes import Notes, Reason
from pdtriage.sources.remote.url import is_url, local_path, public_url
from pdtriage.sources.source import SearchResult, Source
from pdtriage.support.gc_pause import gc_paused

_SHELL_PIPES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""What `analyze <(command)` passes; any other pipe might have no writer and never end."""
_UNREAD: tuple[Reason, ...] = ("unreadable", "denied", "stranger", "unanswered")
_LOG_ENDINGS = (".log", ".out", ".err")
MOST_UNKNOWN = 8
_Taken = tuple[Candidate, NameFacts, FileKind]


@gc_paused()
def find(
    paths: Sequence[str | Path],
    stdin: BinaryIO | None = None,
    *,
    limits: Limits = LIMITS,
    tick: Callable[[], None] = lambda: None,
) -> SearchResult:
    """All logs below `paths`, in an order that depends on their names alone.

    A path may be a folder, a file, an archive, a URL, or `-` for `stdin`. Nothing that lies there
    makes this raise; what was skipped is in `notes`, what does not exist in `missing`. `tick` is
    called now and then while a storage is listed. NotAvailableError says which backend is missing.
    """
    search = _Search(limits, several=len(paths) > 1)
    named_paths = [os.fspath(path) for path in paths]
    asked = [local_path(path) or path for path in named_paths]
    if "-" in asked and stdin is not None:
        search.offer([read_pipe(stdin, "<stdin>", limits, search.notes)])
    on_disk = [path for path in asked if path != "-" and not is_url(path) and not _is_pipe(path)]
    for number, path in enumerate([path for path in asked if _is_pipe(path)], 1):
        search.pipe(path, "<pipe>" if number == 1 else f"<pipe {number}>")
    for path, shown in zip(on_disk, display_roots(on_disk), strict=True):
        search.root(path, shown)
    search.urls([path for path in asked if is_url(path)], tick)
    return search.result()


class _Search:
    def __init__(self, limits: Limits, several: bool) -> None:
        self.limits = limits
        self.several = several
        self.room = Room(limits)
        self.limits_inside = limits
        """For what lies packed in archives."""
        self.notes = Notes()
        self.missing: list[str] = []
        self.logs: dict[str, _Taken] = {}
        """The first piece of each, by its folder and the name its pieces share."""
        self.further: dict[str, list[_Taken]] = {}
        self.real_paths: set[str | None] = set()
        self.unread: list[Candidate] = []

    def root(self, path: str, shown: str) -> None:
        try:
            kind = os.stat(path).st_mode
            real = os.path.realpath(path)  # fails in a working folder that was removed
            is_there = not stat.S_ISREG(kind) or os.path.exists(real)
            named = named_file(path, shown) if stat.S_ISREG(kind) and is_there else None
        except (FileNotFoundError, NotADirectoryError):
            self.missing.append(path)
        except (OSError, ValueError):
            self.notes.add("unreadable", shown or ".")
        else:
            if named is not None:
                self.offer([named])
            elif not is_there:  # /dev/stdin, of a file that was removed
                self.pipe(path, shown)
            elif stat.S_ISDIR(kind):
                self.offer(files_below(path, shown, self.limits, self.notes))
            else:
                self.notes.add("special", shown)

    def pipe(self, path: str, shown: str) -> None:
        try:
            with open(path, "rb") as stream:
                self.offer([read_pipe(stream, shown, self.limits, self.notes)])
        except OSError:
            self.notes.add("unreadable", shown)

    def urls(self, urls: Sequence[str], tick: Callable[[], None]) -> None:
        if not urls:
            return
        from pdtriage.sources.remote.listing import remote_files
        from pdtriage.sources.remote.origin import FetchCache  # local logs do not wait for this

        fetched = FetchCache()
        for url in urls:
            try:
                self.offer(remote_files(url, self.limits, self.notes, fetched, tick))
            except FileNotFoundError:
                self.missing.append(public_url(url))

    def offer(self, candidates: Iterable[Candidate]) -> None:
        """Make logs of them, or of what is in them, unless they were reached before."""
        real_paths = self.real_paths
        for candidate in candidates:
            real = candidate.real
            if real in real_paths:
                continue
            # Only then: a link may give a name that tells to a file whose own name does not.
            if self._take_if_log(candidate) and real is not None:
                real_paths.add(real)

    def result(self) -> SearchResult:
        doubtful = not self.logs
        if doubtful:
            self._last_resort()
        self._know_by_their_launch()
        self._know_by_their_likes()
        self._share_what_is_left()
        sources = tuple(self._sources())
        for path in unread_beside(self.unread, sources):
            self.notes.add("unfamiliar", path)
        return SearchResult(sources, self.notes.texts(), tuple(self.missing), doubtful)

    def _share_what_is_left(self) -> None:
        """Logs in archives may be packed themselves, which only those who read them will see."""
        pieces = [*self.logs.values(), *itertools.chain(*self.further.values())]
        inside = [_length(candidate) for candidate, _, _ in pieces if candidate.inside]
        self.limits_inside = self.limits.shared(self.room.unpacked, len(inside), sum(inside))

    def _last_resort(self) -> None:
        """Where nothing is known, what is called a log may be one that says little."""
        called_so = [c for c in self.unread if not c.inside and c.name.endswith(_LOG_ENDINGS)]
        for candidate in called_so[:MOST_UNKNOWN]:
            head = self._head(candidate)
            if head.strip() and is_text(head):
                self._take(candidate, read_name(candidate.name, candidate.folder), "console")

    def _know_by_their_launch(self) -> None:
        """Logs of processes that are called after the launch whose own file lies beside them."""
        unread = {candidate.path for candidate in self.unread}
        for log, (candidate, told, kind) in self.logs.items():
            launch = launch_of_log(told.stem)
            beside = join_display(candidate.folder, f"{launch}.log")
            if launch and kind == "console" and (beside in self.logs or beside in unread):
                self.logs[log] = candidate, as_worker_log(told), "worker"

    def _know_by_their_likes(self) -> None:
        """Logs that people called after the ranks, as `rank_0.log`, `rank_1.log`, … or, each in a
        folder of its own, `rank_0/stdout.log`, `rank_1/stdout.log`, …

        There are several in one folder, numbered from 0 or 1, none by the name that a launcher
        gives to logs of trainers, and no launcher speaks in them: `worker-0.log` may be all of a
        node. One that says little is known by the others.
        """
        by_launcher = {of[0].folder for of in self.logs.values() if of[2] == "worker"}
        telling = [of[:2] for of in self.logs.values() if of[2] == "console"]
        silent = [(c, read_name(c.name, c.folder)) for c in self.unread]
        folders: dict[str, dict[str, dict[int, tuple[Candidate, NameFacts]]]] = {}
        for candidate, told in [*silent, *telling]:
            lies = _among_its_likes(candidate, told)
            process = process_of(told.stem) or process_of(lies.name.partition("/")[0])
            if process and lies.folder not in by_launcher:
                name = process[0] + told.stem * (lies is not candidate)
                numbered = folders.setdefault(lies.folder, {}).setdefault(name, {})
                numbered[process[1]] = candidate, told
        known = {candidate.path for candidate, _ in telling}
        for names in folders.values():
            numbered = next(iter(names.values()))
            paths = {candidate.path for candidate, _ in numbered.values()}
            if len(names) > 1 or len(numbered) < 2 or min(numbered) > 1 or not paths & known:
                continue
            heads = [self._head(candidate) for candidate, _ in numbered.values()]
            if not all(map(is_text, heads)) or any(map(is_by_a_launcher, heads)):
                continue
            for index, (candidate, told) in numbered.items():
                log = join_display(candidate.folder, told.stem)
                of_process = told._replace(kind="worker", index=index)
                self.logs[log] = _among_its_likes(candidate, told), of_process, "worker"
            self.unread = [candidate for candidate in self.unread if candidate.path not in paths]

    def _take_if_log(self, candidate: Candidate) -> bool:
        told = read_name(candidate.name, candidate.folder)
        if told.kind is not None:
            self._take(candidate, told, told.kind)
            return True
        by_name = archive_by_name(candidate.name)
        if not (by_name or told.promising or candidate.asked):
            self.unread.append(candidate)
            return False
        head = self._head(candidate)
        several = begins_headed(head) or begins_labelled(head)
        if (by_name or candidate.asked or several) and self._open_archive(candidate, by_name, head):
            return True
        if candidate.asked and self.several and not is_text(head):
            self.notes.add("binary", candidate.path)
            return False
        recognised = recognise(candidate.name, head, candidate.folder, candidate.asked)
        kind = recognised.kind if recognised is not None else self._kind_further_on(candidate, head)
        if kind is not None:
            self._take(candidate, told, kind)
        else:
            self.unread.append(candidate)
        return kind is not None

    def _kind_further_on(self, candidate: Candidate, head: bytes) -> FileKind | None:
        """What a long text is that begins with nothing known, by how it ends or goes on."""
        if len(head) < HEAD or not is_text(head):
            return None
        origin, size = candidate.origin, candidate.size
        if isinstance(origin, Disk) and size and not candidate.layers and origin.is_unpacked():
            last = origin.part(max(0, size - HEAD), min(size, HEAD))
            further = Unpacked(last, (), self.limits).head(HEAD)
        else:
            further = self._content(candidate).head(FURTHER)
        return "console" if kind_of_text(further) == "console" else None

    def _open_archive(self, candidate: Candidate, by_name: ArchiveKind | None, head: bytes) -> bool:
        """Whether it is an archive; if so its members have been offered."""
        kind = archive_by_content(self._packed_head(candidate), head)
        if kind is None and by_name == "tar" and head and not head.strip(b"\0"):
            kind = "tar"  # nothing was put into it, only the end is marked
        if kind is None and (by_name is None or (candidate.asked and head and is_text(head))):
            return False
        if not candidate.inside:
            self.room.admit(_length(candidate), self.limits)
        if candidate.inside > 1:
            self.notes.add("nested", candidate.path)
        elif kind == "foreign" or (kind is None and by_name == "foreign"):
            self.notes.add("method", candidate.path)
        elif kind == "zip":
            from pdtriage.sources.archives.zip import zip_members  # few jobs come packed

            self.offer(zip_members(candidate, self.limits, self.notes, self.room))
        elif kind == "headed":
            from pdtriage.sources.archives.headed import headed_members

            self.offer(headed_members(candidate, self.limits, self.notes, self.room))
        elif kind == "labelled":
            from pdtriage.sources.archives.headed import labelled_members

            members = labelled_members(candidate, self.limits, self.notes, self.room)
            if not members:
                return False
            self.offer(members)
        elif kind is None:
            self.notes.add("archive", candidate.path)
        elif not candidate.asked and (candidate.size or 0) > self.limits.unasked_archive:
            self.notes.add("large", candidate.path)
        else:
            from pdtriage.sources.archives.tar import tar_members

            self.offer(tar_members(candidate, self.limits, self.notes, self.room))
        return True

    def _content(self, candidate: Candidate) -> Unpacked:
        return Unpacked(candidate.origin, candidate.layers, self.limits)

    def _head(self, candidate: Candidate) -> bytes:
        def trouble(reason: Reason) -> None:
            if reason in _UNREAD:  # damage is told when, and if, the file is read
                self.notes.add(reason, candidate.path)

        return self._content(candidate).head(HEAD, trouble)

    def _packed_head(self, candidate: Candidate) -> bytes:
        try:
            return next(self._content(candidate).raw(HEAD), b"")
        except (OSError, DamagedError, TooMuchError):
            return b""

    def _take(self, candidate: Candidate, told: NameFacts, kind: FileKind) -> None:
        log = join_display(candidate.folder, told.stem)
        piece = candidate, told, kind
        if self.logs.setdefault(log, piece) is not piece:
            self.further.setdefault(log, []).append(piece)

    def _sources(self) -> Iterator[Source]:
        shown: set[str] = set()
        for log in sorted(self.logs, key=natural_key):
            piece = self.logs[log]
            if log not in self.further:
                yield self._source(*piece, rotation_of(piece[1].piece), shown)
                continue
            for rotation, one in self._number([piece, *self.further[log]]):
                yield self._source(*one, rotation, shown)

    def _number(self, pieces: list[_Taken]) -> list[tuple[int, _Taken]]:
        """The pieces of one log with their rotation numbers, the newest first."""
        pieces = sorted(self._last_of_each(pieces), key=lambda piece: piece[0].path)
        pieces = self._without_copies(pieces)
        numbers = rotations([told.piece for _, told, _ in pieces])
        return sorted(zip(numbers, pieces, strict=True), key=lambda numbered: numbered[0])

    def _last_of_each(self, pieces: list[_Taken]) -> list[_Taken]:
        """The last of archive members with one name, as unpacking would leave it: it was added
        later."""
        last: dict[str, int] = {}
        for place, (candidate, _, _) in enumerate(pieces):
            if candidate.inside:
                if candidate.path in last:
                    self.notes.add("again", candidate.path)
                last[candidate.path] = place
        return [
            one
            for place, one in enumerate(pieces)
            if not one[0].inside or last[one[0].path] == place
        ]

    def _without_copies(self, pieces: list[_Taken]) -> list[_Taken]:
        copies = packed_copies([(candidate, told) for candidate, told, _ in pieces], self.limits)
        for copy in copies:
            self.notes.add("twice", copy.path)
        return [piece for piece in pieces if piece[0] not in copies]

    def _source(
        self, candidate: Candidate, told: NameFacts, kind: FileKind, rotation: int, shown: set[str]
    ) -> Source:
        folder, path = candidate.folder, candidate.path
        if path in shown:
            path = _unique(path, shown)
        shown.add(path)
        size = None if told.packed else candidate.size
        if told.kind and KINDS[kind].folder and folder.rpartition("/")[2] == RECORD_FOLDER:
            folder = folder.rpartition("/")[0]
        if told.node:
            folder = join_display(folder, f"n{told.node}")
        file = LogFile(path, kind, folder or ".", told.index, rotation, size, candidate.modified)
        limits = self.limits_inside if candidate.inside else self.limits
        return Source(file, candidate.origin, candidate.layers, limits)


def _length(candidate: Candidate) -> int:
    """How many bytes it has, as packed as it lies there."""
    if candidate.size is not None:
        return candidate.size
    return len(candidate.origin.content) if isinstance(candidate.origin, Memory) else 0


def _among_its_likes(candidate: Candidate, told: NameFacts) -> Candidate:
    """A log that lies in a folder called after its rank, as lying beside those of other ranks."""
    parent, _, own = candidate.folder.rpartition("/")
    if process_of(told.stem) or not (told.captured or told.promising) or not process_of(own):
        return candidate
    return candidate._replace(folder=parent, name=join_display(own, candidate.name))


def _is_pipe(path: str) -> bool:
    try:
        return path.startswith(_SHELL_PIPES) and stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _unique(path: str, shown: set[str]) -> str:
    """A path for a further member of a name that is taken: in the report every path is one file."""
    return next(name for count in itertools.count(2) if (name := f"{path} ({count})") not in shown)
