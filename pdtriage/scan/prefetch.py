"""An iterator that works ahead of whoever asks it, in a thread of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

Item = TypeVar("Item")
DEPTH = 3
"""Items made before they are asked for."""
PATIENCE = 1.0
"""Seconds; a source that hangs must not keep us from ending."""
_END = object()


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items. Pays where making one releases Python's lock: reading, unpacking, scanning.

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
