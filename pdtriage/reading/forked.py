"""Work spread over forked processes: what they need they have from the fork, results come back.

A fork takes a millisecond or two. A pool of `concurrent.futures` takes fifty, and its threads take
their share of the cores while the work is done.
"""

from __future__ import annotations

import gc
import marshal
import os
import select
import signal
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

from pdtriage.support.fast_namedtuple import NamedTuple

Result = TypeVar("Result")

PIPE = 1 << 16
"""Bytes that a pipe holds."""
PAUSE = 0.04
"""Seconds between answers, unless they are long: each wakes the parent, which takes a core from a
child, and finds nothing of its own left in the processor's caches."""
_TASK = struct.Struct("=I")
_ANSWER = struct.Struct("=IQ")
"""The number of a task, and how long its result is, which follows."""
_UNSHARED = 2
"""The format of `marshal` that does not look for what occurs twice, which takes twice as long."""


def spread(
    work: Callable[[int], Result],
    tasks: int,
    processes: int,
    meanwhile: Callable[[], None] | None = None,
) -> Iterator[Result]:
    """What `work` makes of 0, 1, 2 and so on, in that order; `meanwhile` is done while it begins.

    `work` must have no effect but its result, and that must be plain, as `marshal` takes it. What
    a process leaves undone, because it was killed or because of an exception, is done here, and so
    it is here that the exception shows.
    """
    arrived: dict[int, Result] = {}
    children = _Children()
    try:
        children.fork(work, tasks, min(processes, tasks))
        if meanwhile:
            meanwhile()
        for number in range(tasks):
            while number not in arrived and children:
                arrived.update(children.answers())
            yield arrived.pop(number) if number in arrived else work(number)
    finally:
        children.end()


class _Child(NamedTuple):
    """One of the processes, as its parent sees it."""

    pid: int
    come: bytearray
    """The beginning of an answer whose end is still to come."""


class _Children:
    """The child processes that are still there, by the pipes that their answers come through."""

    def __init__(self) -> None:
        self._by_pipe: dict[int, _Child] = {}
        self._poll = select.poll()

    def __bool__(self) -> bool:
        return bool(self._by_pipe)

    def fork(self, work: Callable[[int], Any], tasks: int, processes: int) -> None:
        to_do = _pipe_of(range(tasks))
        # Who answers a signal may raise: not before each child is known.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            with suppress(OSError):  # no more are allowed, or fit: fewer will do, or none
                for _ in range(processes):
                    self._fork(work, to_do, mask)
        finally:
            os.close(to_do)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)  # here a Ctrl-C may show

    def _fork(self, work: Callable[[int], Any], to_do: int, mask: Iterable[int]) -> None:
        pipe, its_end = os.pipe()
        try:
            pid = os.fork()
            if pid == 0:
                _serve(work, to_do, its_end, (pipe, *self._by_pipe), mask)
        except OSError:
            os.close(pipe)
            raise
        finally:
            os.close(its_end)
        self._by_pipe[pipe] = _Child(pid, bytearray())
        self._poll.register(pipe, select.POLLIN)

    def answers(self) -> Iterator[tuple[int, Any]]:
        """What comes next: a few of them, or perhaps only a part of one."""
        for pipe, _ in self._poll.poll():
            piece = os.read(pipe, PIPE)
            if piece:
                come = self._by_pipe[pipe].come
                come += piece
                yield from _take_complete(come)
            else:
                self._forget(pipe)

    def end(self) -> None:
        """All at once: to give back its memory takes each of them milliseconds."""
        for child in self._by_pipe.values():
            with suppress(ProcessLookupError):  # it has ended, and was seen to
                os.kill(child.pid, signal.SIGKILL)  # it only reads: nothing is left half done
        for pipe in list(self._by_pipe):
            self._forget(pipe)

    def _forget(self, pipe: int) -> None:
        self._poll.unregister(pipe)
        os.close(pipe)
        with suppress(ChildProcessError):  # where the program around us has seen to it
            os.waitpid(self._by_pipe.pop(pipe).pid, 0)


def _pipe_of(numbers: range) -> int:
    """A pipe from which each number is taken once, by whoever comes first.

    What it does not hold (thousands fit) nobody takes, and the parent does it.
    """
    pipe, its_end = os.pipe()
    os.set_blocking(its_end, False)
    os.write(its_end, b"".join(map(_TASK.pack, numbers)))
    os.close(its_end)
    return pipe


def _take_complete(come: bytearray) -> Iterator[tuple[int, Any]]:
    """The answers that are complete; they are taken out of what has come."""
    while len(come) >= _ANSWER.size:
        number, length = _ANSWER.unpack_from(come)
        end = _ANSWER.size + length
        if len(come) < end:
            return
        yield number, marshal.loads(come[_ANSWER.size : end])
        del come[:end]


def _serve(
    work: Callable[[int], Any],
    to_do: int,
    answers: int,
    not_ours: tuple[int, ...],
    mask: Iterable[int],
) -> NoReturn:
    """The life of a child. It ends here, whatever happens, and flushes nothing of its parent's.

    Nobody waits for the parent to take an answer. Where it is gone, the next one ends the child.
    """
    status = 1
    try:
        # Ctrl-C is for the parent to answer
        signal.pthread_sigmask(signal.SIG_SETMASK, {*mask, signal.SIGINT})
        for pipe in not_ours:  # as long as they are open here, nobody sees that the parent is gone
            os.close(pipe)
        gc.freeze()  # the collector would write to all that the parent has made, and so copy it
        os.set_blocking(answers, False)
        unsent = bytearray()
        due = 0.0
        while task := os.read(to_do, _TASK.size):
            (number,) = _TASK.unpack(task)
            result = marshal.dumps(work(number), _UNSHARED)
            unsent += _ANSWER.pack(number, len(result))
            unsent += result
            now = time.monotonic()
            if now >= due or len(unsent) > PIPE // 2:
                due = now + PAUSE
                with suppress(BlockingIOError):
                    del unsent[: os.write(answers, unsent)]
        os.set_blocking(answers, True)
        while unsent:
            del unsent[: os.write(answers, unsent)]
        status = 0
    finally:
        os._exit(status)
