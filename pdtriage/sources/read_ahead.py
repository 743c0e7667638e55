"""Fetching what will be read next while something else is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from pdtriage.sources.byte_stream import Disk, Memory
from pdtriage.sources.source import Source

if TYPE_CHECKING:
    from pdtriage.sources.remote.origin import Remote

Item = TypeVar("Item")
FILES_AHEAD = 8
DEPTH = 3
"""Items made before they are asked for."""
PATIENCE = 1.0
"""Seconds; a source that hangs must not keep us from ending."""
_END = object()


def prefetch(sources: Sequence[Source]) -> Iterator[Source]:
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


def has_remote(sources: Iterable[Source]) -> bool:
    return not {type(source.origin) for source in sources} <= {Disk, Memory}


def _remote(source: Source) -> Remote | None:
    origin = source.origin
    return None if isinstance(origin, (Disk, Memory)) else origin


def work_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Makes the same items ahead.

    Pays where making one releases Python's lock: reading, unpacking, scanning.

    Whoever stops asking stops the thread as well; what `items` raises is raised here.
    """
    import threading  # small logs need neither
    from queue import Queue

    made: Queue[object] = Queue(DEPTH)
    stopped = threading.Event()
    failure: list[BaseException] = []

    def work() -> None:
        try:
            for item in items:
                made.put(item)
                if stopped.is_set():
                    return
        except BaseException as error:
            failure.append(error)
        made.put(_END)

    worker = threading.Thread(target=work, name="pdtriage-ahead", daemon=True)
    worker.start()
    try:
        while (item := made.get()) is not _END:
            yield item  # type: ignore[misc]
        if failure:
            raise failure[0]
    finally:
        stopped.set()
        while not made.empty():  # whoever waits for room sees that it is over
            made.get_nowait()
        worker.join(PATIENCE)
