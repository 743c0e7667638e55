"""A child process that ends with its parent, whatever ended that."""

from __future__ import annotations

import signal
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def ending_with_parent() -> Callable[[], None]:
    """What the child calls first; all that takes a lock is done here, in front of the fork.

    The kernel means the thread that forked: it has to live as long as the child may.
    """
    import ctypes

    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    number = int(signal.SIGKILL)

    def end_with_parent() -> None:
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)

    return end_with_parent
