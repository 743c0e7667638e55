"""What lies behind a URL: listed in parallel, and looked at before anybody asks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

from pdtriage.sources.display_path import join_display, printable
from pdtriage.sources.find.candidates import NEVER_LOGS, Candidate
from pdtriage.sources.find.recognise import archive_by_name, is_interesting, read_name
from pdtriage.sources.limits import Limits
from pdtriage.sources.notes import Notes
from pdtriage.sources.remote.backends import HTTP, on_storage, submit, wait_for
from pdtriage.sources.remote.origin import FetchCache, Remote
from pdtriage.sources.remote.url import RemoteError, public_url, scheme_of, with_query_digest

WINDOW = 32
"""Folders, or files to look at, that are under way at once."""
_CHECKSUMS = ("ETag", "etag", "checksum", "Content-MD5", "md5Hash", "crc32c", "Digest")
_TIMES = ("LastModified", "last_modified", "mtime", "modified", "updated", "Last-Modified")

Facts = Mapping[str, Any]
"""What a file system says of a file."""


def remote_files(
    url: str, limits: Limits, notes: Notes, fetched: FetchCache, tick: Callable[[], None]
) -> Iterator[Candidate]:
    """The file a URL names, or those below the folder it names that may be logs.

    FileNotFoundError if there is nothing; whatever else goes wrong becomes a note.
    """
    storage = _Storage(url, fetched)
    try:
        root, is_folder = storage.root()
    except RemoteError as error:
        if error.reason == "vanished":
            raise FileNotFoundError(public_url(url)) from None
        notes.add(error.reason, public_url(url))
        return
    if not is_folder:
        yield storage.named_file(root)
        return
    waiting: deque[tuple[_Entry, Future[Remote]]] = deque()
    for entry in _below(storage, root["path"], limits, notes, tick):
        waiting.append((entry, submit(partial(storage.look_at, entry))))
        if len(waiting) >= WINDOW:
            yield from _candidate(*waiting.popleft(), notes, tick)
    while waiting:
        yield from _candidate(*waiting.popleft(), notes, tick)


@dataclass(frozen=True, slots=True)
class _Entry:
    facts: Facts
    path: str
    name: str
    folder: str
    """As shown to people."""


class _Storage:
    def __init__(self, url: str, fetched: FetchCache) -> None:
        self.url = url
        self.shown = public_url(url).rstrip("/")
        self.is_http = scheme_of(url) in HTTP
        self._fetched = fetched

    def root(self) -> tuple[Facts, bool]:
        """What the URL itself names, and whether that is a folder."""

        def ask(storage: Any, path: str) -> tuple[Facts, bool]:
            storage.invalidate_cache(path)  # listings of an hour ago must not answer for now
            facts: Facts = {**storage.info(path), "path": path}
            if self.is_http:
                return facts, self._is_page(facts, path)
            return facts, facts.get("type") == "directory"

        return wait_for(submit(lambda: on_storage(self.url, ask)))

    def list_folder(self, path: str) -> list[Facts]:
        def ask(storage: Any, _: str) -> list[Facts]:
            return list(storage.ls(path, detail=True))

        return on_storage(self.url, ask)

    def named_file(self, facts: Facts) -> Candidate:
        """The file the user named."""
        shown = unquote(self.shown) if self.is_http else self.shown
        folder, _, name = printable(shown).rpartition("/")
        return Candidate(
            name=name,
            folder=folder,
            origin=self.origin(facts["path"], facts),
            size=facts.get("size"),
            modified=_modified(facts),
            real=with_query_digest(self.shown, self.url),
            asked=True,
        )

    def look_at(self, entry: _Entry) -> Remote:
        """What a listing of HTTP does not tell of a file, and its beginning if the name tells too
        little."""
        facts = entry.facts
        if self.is_http:
            facts = on_storage(self.url, lambda storage, _: dict(storage.info(entry.path)))
        remote = self.origin(entry.path, facts)
        folder = entry.folder.rpartition("/")[2]
        if read_name(entry.name, folder).kind is None and archive_by_name(entry.name) is None:
            remote.look_here()
        return remote

    def origin(self, path: str, facts: Facts) -> Remote:
        return Remote(
            root=self.url,
            path=path,
            size=facts.get("size"),
            version=_version(facts),
            modified=_modified(facts),
            fetched=self._fetched,
        )

    def _is_page(self, facts: Facts, path: str) -> bool:
        """A web server has no folders, only pages with links."""
        reached = str(facts.get("url") or path)
        return urlsplit(reached).path.endswith("/") or (
            facts.get("mimetype") == "text/html"
            and not is_interesting(urlsplit(path).path.rpartition("/")[2])
        )


def _below(
    storage: _Storage, path: str, limits: Limits, notes: Notes, tick: Callable[[], None]
) -> Iterator[_Entry]:
    """Level by level; folders of one level are listed at the same time."""
    level = [(path, storage.shown)]
    seen = 0
    for depth in range(limits.depth + 1):
        below: list[tuple[str, str]] = []
        for (folder, shown), listed in _list_all(storage, level):
            tick()
            try:
                entries = wait_for(listed)
            except RemoteError as error:
                notes.add(error.reason, shown)
                continue
            for facts, path, name in _entries_named(storage, entries, folder):
                seen += 1
                if seen > limits.entries:
                    notes.add("entries", storage.shown)
                    return
                if facts.get("type") == "directory":
                    if depth == limits.depth:
                        notes.add("depth", join_display(shown, name))
                    elif name not in NEVER_LOGS:
                        below.append((path, join_display(shown, name)))
                elif facts.get("type") == "link":
                    notes.add("outside", join_display(shown, name))
                elif is_interesting(name, shown.rpartition("/")[2]):
                    yield _Entry(facts, path, name, shown)
        level = below


def _list_all(
    storage: _Storage, folders: Sequence[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], Future[list[Facts]]]]:
    waiting: deque[tuple[tuple[str, str], Future[list[Facts]]]] = deque()
    for folder in folders:
        waiting.append((folder, submit(partial(storage.list_folder, folder[0]))))
        if len(waiting) >= WINDOW:
            yield waiting.popleft()
    yield from waiting


def _entries_named(
    storage: _Storage, entries: Sequence[Facts], folder: str
) -> list[tuple[Facts, str, str]]:
    """Entries of a folder with their path and printable name, sorted; what leads elsewhere not."""
    found: dict[str, tuple[Facts, str, str]] = {}
    base = folder.rstrip("/") + "/"
    for facts in entries:
        path = str(facts["name"])
        rest = path.rstrip("/").rpartition("/")[2]
        if storage.is_http:
            rest = path[len(base) :].rstrip("/") if path.startswith(base) else ""
            if any(mark in rest for mark in "/?#"):
                continue  # a link to sort the list by, or to somewhere deeper
            rest = unquote(rest)
        if rest in ("", ".", "..") or path.rstrip("/") == folder.rstrip("/"):
            continue
        found[rest] = (facts, path, printable(rest))
    return [found[name] for name in sorted(found)]


def _candidate(
    entry: _Entry, coming: Future[Remote], notes: Notes, tick: Callable[[], None]
) -> Iterator[Candidate]:
    tick()
    try:
        origin = wait_for(coming)
    except RemoteError as error:
        notes.add(error.reason, join_display(entry.folder, entry.name))
        return
    yield Candidate(
        name=entry.name,
        folder=entry.folder,
        origin=origin,
        size=origin.size,
        modified=origin.modified,
        real=join_display(entry.folder, entry.name),
    )


def _version(facts: Facts) -> str | None:
    """What changes with the content; None where the storage tells nothing of the kind."""
    names = [name for name in (*_CHECKSUMS, *_TIMES, "created") if facts.get(name)]
    return " ".join(f"{name}={facts[name]}" for name in names) or None


def _modified(facts: Facts) -> float | None:
    for name in _TIMES:
        value = facts.get(name)
        if isinstance(value, datetime):
            known = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
            return known.timestamp()
        if isinstance(value, (int, float)):
            return float(value)
        if isinstance(value, str) and name == "Last-Modified":
            from email.utils import parsedate_to_datetime

            try:
                return parsedate_to_datetime(value).timestamp()
            except ValueError:
                return None
    return None
