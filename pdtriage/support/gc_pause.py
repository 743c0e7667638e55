"""No garbage is collected where there is much to walk over and nothing to find.

A process that ends with its analysis leaves all of it to the system, which frees it at once.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn


@contextmanager
def gc_paused() -> Iterator[None]:
    """No garbage collection during work that makes many objects and ties none into a circle.

    The collector would walk over everything again and again and find nothing: a third of the time
    at 40,000 ranks.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def pause_gc_until_exit() -> None:
    """No garbage collection in a process that ends with its analysis, however large.

    At exit, too, Python would walk over all there is, several times.
    """
    global _kept
    _kept = []
    gc.disable()
    atexit.register(gc.freeze)


_kept: list[object] | None = None
"""None where the process goes on after an analysis."""


def is_paused_until_exit() -> bool:
    return _kept is not None


def keep_until_exit(*things: object) -> None:
    """What is big and no longer needed, where the process ends soon: to free it piece by piece
    takes as long as to judge it."""
    if _kept is not None:
        _kept.extend(things)


def exit_at_once(code: int) -> NoReturn:
    """End the process without taking it apart object by object.

    All that is to be done at exit is done, and what was printed is out.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # our own output was flushed before, where that can be said
            stream.flush()
    os._exit(code)
