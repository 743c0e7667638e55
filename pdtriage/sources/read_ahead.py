"""Fetching what will be read next while something else is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pdtriage.sources.byte_stream import Disk, Memory
from pdtriage.sources.source import Source

if TYPE_CHECKING:
    from pdtriage.sources.remote.origin import Remote

FILES_AHEAD = 8


def fetched_ahead(sources: Sequence[Source]) -> Iterator[Source]:
    """The sources one by one; the first blocks of the remote ones behind it are on their way."""
    remote = [origin for source in sources if (origin := _remote(source)) is not None]
    primed = passed = 0
    for source in sources:
        if _remote(source) is not None:
            passed += 1
            while primed < min(len(remote), passed + FILES_AHEAD):
                remote[primed].prime()
                primed += 1
        yield source


def any_remote(sources: Iterable[Source]) -> bool:
    return not {type(source.origin) for source in sources} <= {Disk, Memory}


def _remote(source: Source) -> Remote | None:
    origin = source.origin
    return None if isinstance(origin, (Disk, Memory)) else origin
