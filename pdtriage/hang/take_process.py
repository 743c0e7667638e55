"""Has stacks taken by a process of its own, so that whoever asks is not held up by what it does."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence

from pdtriage.hang.take import StackTarget, TakenStacks, take_stacks
from pdtriage.model.stacks import Standstill
from pdtriage.record.stack_codec import plain_standstill, read_standstill
from pdtriage.support.language import Text

BEYOND = 5.0
"""Seconds that the process has beyond those it takes stacks in."""
MOST_BYTES = 32 << 20
_BOOT = """
import sys
sys.path[:] = sys.argv[1:]
from pdtriage.hang.take_process import serve
serve()
"""
_NOT_TAKEN = Text("the stacks could not be taken in time", "未能及时取得调用栈")


class StacksElsewhere:
    """Stacks that are being taken, by a process of its own; whoever asked goes on meanwhile."""

    def __init__(
        self,
        targets: Sequence[StackTarget],
        seconds: float,
        environ: Mapping[str, str],
        on_start: Callable[[int], None],
    ) -> None:
        """They are taken in `seconds`, and a few more at the latest; `on_start` is told of the
        pid."""
        self._until = time.monotonic() + seconds + BEYOND
        self._process: subprocess.Popen[bytes] | None = None
        question = json.dumps({"targets": [list(target) for target in targets], "seconds": seconds})
        with contextlib.suppress(OSError):
            self._process = _start(environ, question.encode())
            on_start(self._process.pid)

    def result(self) -> TakenStacks:
        """Waits for them."""
        process = self._process
        if process is None:
            return TakenStacks((), (_NOT_TAKEN,))
        try:
            answer, _ = process.communicate(timeout=max(0.0, self._until - time.monotonic()))
        except (subprocess.TimeoutExpired, OSError):
            self.abandon()
            answer = b""
        try:
            taken = read_standstill(json.loads(answer[:MOST_BYTES]))
        except (ValueError, AttributeError, RecursionError):
            return TakenStacks((), (_NOT_TAKEN,))
        return TakenStacks(taken.stacks, taken.notes)

    def abandon(self) -> None:
        """Nobody wants them any more."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()


def _start(environ: Mapping[str, str], question: bytes) -> subprocess.Popen[bytes]:
    """The process, which has been asked."""
    with tempfile.TemporaryFile() as asked:
        asked.write(question)
        asked.seek(0)
        return subprocess.Popen(
            [sys.executable, "-c", _BOOT, *sys.path],
            stdin=asked,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            start_new_session=True,
        )


def serve() -> None:
    """Lives as the process that takes stacks: one question, one answer, and it ends by itself."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    asked = json.loads(sys.stdin.buffer.read())
    seconds = float(asked["seconds"])
    signal.alarm(int(seconds + 2 * BEYOND))
    taken = take_stacks([StackTarget(*target) for target in asked["targets"]], seconds)
    answer = Standstill(time.time(), "asked", stacks=taken.stacks, notes=taken.notes)
    sys.stdout.write(json.dumps(plain_standstill(answer)))
    sys.stdout.flush()
