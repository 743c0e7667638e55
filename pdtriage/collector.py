"""Python's garbage collector at rest where there is much to walk over and nothing to find."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """For work that makes many objects, keeps most and ties none into a circle.

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


def rest_until_exit() -> None:
    """For a process that ends with its analysis, however large: that ties nothing into circles.

    At exit, too, Python would walk over all there is, several times.
    """
    gc.disable()
    atexit.register(gc.freeze)
