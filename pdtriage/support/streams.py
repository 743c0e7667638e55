"""The standard streams, made fit to write to before anybody does; cheap, for every start."""

from __future__ import annotations

import errno
import io
import os
import sys

_NAMES = ("stdin", "stdout", "stderr")
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


def make_usable() -> None:
    """Every descriptor is open, and a character the terminal lacks becomes a question mark.

    A closed descriptor would go to the next file opened, and mix our output into it.
    """
    for number, name in enumerate(_NAMES):
        if _is_closed(number):
            _open_nowhere(number, name)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def holds_chinese() -> bool:
    """Whether what is written will arrive; a stream without an encoding takes everything."""
    encoding = getattr(sys.stdout, "encoding", None)
    try:
        "中文".encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def is_full(error: OSError) -> bool:
    """The place our output goes to takes no more, which is no mistake of ours."""
    return error.errno in _FULL and error.filename is None


def forget_output() -> None:
    """What is still buffered goes nowhere, and the interpreter does not complain at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _is_closed(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return True
    return False


def _open_nowhere(number: int, name: str) -> None:
    opened = os.open(os.devnull, os.O_RDWR)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    os.set_inheritable(number, True)
    mode = "r" if name == "stdin" else "w"
    stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - stays open
    setattr(sys, name, stream)
