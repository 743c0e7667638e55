"""Lets `pdtriage watch` read logs in a process of its own, so that who watches can always leave.

A log may hold anything, and whatever it does to whoever reads it: the process in front only waits
and takes signals. Ctrl-C asks for the report and gives it the time of an analysis, a second one
does without; SIGTERM and SIGHUP end both at once.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from types import FrameType

from pdtriage.launch.options.flags import ANALYSIS_BUDGET
from pdtriage.support import exit_codes
from pdtriage.support.language import Language, Text
from pdtriage.support.parent import ending_with_parent

_ENDS = (signal.SIGTERM, signal.SIGHUP)
_ASK = signal.SIGUSR1
"""What Ctrl-C becomes: a terminal sends its own to both processes."""
_LEAVING = 1.0
_LONG = 3600.0


class Farewell:
    """Whether somebody wants to go; the reader looks now and then."""

    wanted = False

    def take(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        self.wanted = True


def part(farewell: Farewell, folder: str, language: Language) -> int | None:
    """Forks: gives None in the process that reads, and its exit code in the one in front."""
    if not hasattr(os, "fork"):
        return None
    ours = {signal.SIGINT, signal.SIGCHLD, _ASK, *_ENDS}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ours)
    # Handlers of others must not take what is waited for here.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        reader = os.fork()
    except OSError:  # no more processes: then in this one
        reader = 0
        signal.signal(signal.SIGINT, farewell.take)
    else:
        if reader == 0:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(_ASK, farewell.take)
            ending_with_parent()()
    if reader == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return None
    return _Front(reader, folder, language).wait()


class _Front:
    """The process that people see."""

    def __init__(self, reader: int, folder: str, language: Language) -> None:
        self._reader = reader
        self._folder = folder
        self._language = language

    def wait(self) -> int:
        awaited = (signal.SIGINT, signal.SIGCHLD, *_ENDS)
        deadline: float | None = None
        while True:
            left = _LONG if deadline is None else deadline - time.monotonic()
            came = signal.sigtimedwait(awaited, max(0.0, left))
            if came is not None and came.si_signo in _ENDS:
                os.kill(self._reader, came.si_signo)
                return self._end(came.si_signo)
            if (code := self._code(os.WNOHANG)) is not None:
                return code
            if came is not None and came.si_signo == signal.SIGINT:
                if deadline is not None:
                    return self._end(signal.SIGINT)
                deadline = time.monotonic() + ANALYSIS_BUDGET
                os.kill(self._reader, _ASK)
            elif deadline is not None and time.monotonic() >= deadline:
                self._end(signal.SIGINT)
                print(f"pdtriage: {_not_read(self._folder).in_(self._language)}", file=sys.stderr)
                return exit_codes.of_signal(signal.SIGINT)

    def _code(self, how: int) -> int | None:
        pid, status = os.waitpid(self._reader, how)
        if not pid:
            return None
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else exit_codes.of_signal(-code)

    def _end(self, number: int) -> int:
        """Ends the process, which has a moment to leave a terminal as it was."""
        deadline = time.monotonic() + (_LEAVING if number in _ENDS else 0)
        while self._code_or_none() is None:
            if time.monotonic() >= deadline:
                os.kill(self._reader, signal.SIGKILL)
            time.sleep(0.01)
        return exit_codes.of_signal(number)

    def _code_or_none(self) -> int | None:
        try:
            return self._code(os.WNOHANG)
        except ChildProcessError:
            return 0


def _not_read(folder: str) -> Text:
    later = f"`pdtriage analyze {folder}`"
    return Text(
        f"the logs could not be read within {ANALYSIS_BUDGET:g} s; {later} has all the time",
        f"未能在 {ANALYSIS_BUDGET:g} 秒内读完日志；{later} 没有时间限制",
    )
