"""Stacks that processes write of themselves when a signal asks them to.

Only a process that is known to have a handler for it is asked: the signal would end any other.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Sequence

from pdtriage.hang.kernel_view import environment_value, vitals_of
from pdtriage.hang.stack_signal import (
    ENDING,
    FOLDER_VARIABLE,
    SIGNAL_VARIABLE,
    STACK_SIGNAL,
    mask_in,
)
from pdtriage.model.logs import Frame
from pdtriage.support.regular_files import open_binary

MOST_FRAMES = 64
MOST_BYTES = 1 << 20
ANSWERS_IN = 2.0
"""Seconds; a process that waits for a disk answers when it gets what it waits for."""
_TICK = 0.02
_GENERATIONS = 8
_FRAME = re.compile(r'  File "(?P<file>.*)", line (?P<line>\d{1,9}) in (?P<name>.*)')


def written_stacks(pids: Sequence[int], seconds: float) -> dict[int, tuple[Frame, ...]]:
    """What processes write of their main threads, the innermost frame first.

    Those that have no handler are left out, and not asked.
    """
    deadline = time.monotonic() + seconds
    files = {pid: path for pid in pids if (path := _file_of(pid)) is not None}
    found: dict[int, tuple[Frame, ...]] = {}
    while files and time.monotonic() < deadline:
        # Workers that were forked share the file of their parent: one of each file at a time.
        asked = {path: pid for pid, path in reversed(files.items())}
        sizes = {path: size for path, pid in asked.items() if (size := _ask(pid, path)) is not None}
        until = min(deadline, time.monotonic() + ANSWERS_IN)
        for path, pid in asked.items():
            del files[pid]
            if path in sizes and (frames := _answer(path, sizes[path], until)):
                found[pid] = frames
    return found


def parse_written(text: str) -> tuple[Frame, ...]:
    """What `faulthandler` wrote of one thread, once it is complete."""
    frames = [
        Frame(match["file"], int(match["line"]), match["name"].strip())
        for line in text.splitlines()
        if (match := _FRAME.fullmatch(line)) is not None
    ]
    return tuple(frames[:MOST_FRAMES])


def _ask(pid: int, path: str) -> int | None:
    """Send the signal; the size of its file before. None for who does not catch it (any more)."""
    vitals = vitals_of(pid)
    if vitals is None or vitals.state in "TtZX" or not _catches(pid):
        return None
    try:
        size = os.stat(path).st_size
        os.kill(pid, STACK_SIGNAL)
    except OSError:
        return None
    return size


def _answer(path: str, begin: int, until: float) -> tuple[Frame, ...]:
    """What was added to the file, when nothing more comes."""
    before = b""
    while True:
        with contextlib.suppress(OSError), open_binary(path) as stream:
            stream.seek(begin)
            text = stream.read(MOST_BYTES)
            if text and text == before and text.endswith(b"\n"):
                return parse_written(text.decode("utf-8", "replace"))
            before = text
        if time.monotonic() >= until:
            return ()
        time.sleep(_TICK)


def _file_of(pid: int) -> str | None:
    """Where it writes: its own file, or, of one that was forked, that of whom it is a copy."""
    folder = environment_value(pid, FOLDER_VARIABLE)
    if folder is None or environment_value(pid, SIGNAL_VARIABLE) != str(STACK_SIGNAL):
        return None
    for _ in range(_GENERATIONS):
        path = os.path.join(os.path.realpath(folder), f"{pid}{ENDING}")
        if os.path.exists(path):
            return path
        vitals = vitals_of(pid)
        if vitals is None or vitals.parent <= 1:
            return None
        pid = vitals.parent
    return None


def _catches(pid: int) -> bool:
    return bool(mask_in(f"/proc/{pid}/status", b"SigCgt:") & 1 << (STACK_SIGNAL - 1))
