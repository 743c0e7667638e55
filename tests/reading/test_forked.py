"""Given work for several processes, when it is spread over them, then nothing is lost, and nobody
stays behind."""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pdtriage.reading.forked import PIPE, spread

HERE = os.getpid()
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks")


def open_files() -> list[str]:
    return os.listdir("/proc/self/fd")


def children() -> set[int]:
    """Of this process; what has ended and was not waited for is one, too."""
    told = Path(f"/proc/self/task/{HERE}/children").read_text()
    return set(map(int, told.split()))


@pytest.fixture(autouse=True)
def nothing_stays_behind() -> Iterator[None]:
    """Neither an open file nor a process, living or dead."""
    before = open_files(), children()
    yield
    assert (open_files(), children()) == before


def square(number: int) -> int:
    return number * number


def test_results_come_in_order() -> None:
    assert list(spread(square, 1000, 3)) == [square(number) for number in range(1000)]


def test_others_do_it() -> None:
    pids = set(spread(lambda _: time.sleep(0.02) or os.getpid(), 20, 2))
    assert len(pids - {HERE}) == 2


def test_nothing_to_do() -> None:
    assert list(spread(square, 0, 2)) == []


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_the_slow_one_holds_nobody_up(pipe: tuple[int, int]) -> None:
    """The first task takes until the last is done: by another, who takes what is next."""

    def work(number: int) -> int:
        if number == 0:
            os.read(pipe[0], 1)
        if number == 99:
            os.write(pipe[1], b".")
        return os.getpid()

    first, *others = spread(work, 100, 2)
    assert first not in others


def test_nobody_waits_for_a_parent_that_is_busy(pipe: tuple[int, int]) -> None:
    sizes = [40 * PIPE, 5 * PIPE, PIPE, 3, 0]

    def work(number: int) -> bytes:
        os.write(pipe[1], b".")
        return bytes(sizes[number])

    def meanwhile() -> None:
        for _ in sizes:
            assert select.select(pipe[:1], [], [], 20)[0], "all is done before anything is taken"
            os.read(pipe[0], 1)

    assert list(map(len, spread(work, len(sizes), 2, meanwhile))) == sizes


def test_whoever_is_killed_leaves_its_work_to_the_parent() -> None:
    def work(number: int) -> int:
        if number % 7 == 3 and os.getpid() != HERE:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    assert list(spread(work, 50, 4)) == list(range(50))


def test_an_exception_shows_in_the_parent_when_its_turn_comes() -> None:
    def work(number: int) -> int:
        if number == 30:
            raise ValueError("number thirty")
        return number

    results = spread(work, 50, 2)
    assert [next(results) for _ in range(30)] == list(range(30))
    with pytest.raises(ValueError, match="number thirty"):
        next(results)


def test_what_does_not_fit_in_the_pipe_is_done_all_the_same() -> None:
    tasks = PIPE // 2
    assert sum(spread(square, tasks, 2)) == sum(map(square, range(tasks)))


def test_who_wants_no_more_does_not_wait() -> None:
    results = spread(lambda number: time.sleep(60 if number else 0), 3, 2)
    begun = time.monotonic()
    next(results)
    results.close()
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("why", [errno.EAGAIN, errno.ENOMEM])
def test_where_no_process_is_allowed_the_parent_does_it(
    monkeypatch: pytest.MonkeyPatch, why: int
) -> None:
    def refused() -> int:
        raise OSError(why, os.strerror(why))

    monkeypatch.setattr(os, "fork", refused)
    assert list(spread(square, 10, 2)) == [square(number) for number in range(10)]


def test_where_the_system_sees_to_children_that_ended() -> None:
    """As below a shell with `trap '' CHLD`: they may be gone before they are ended."""
    inherited = children()  # what other tests left behind, dead and not waited for
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    deadline = time.monotonic() + 30
    try:
        results = spread(square, 20, 2)
        for number, told in enumerate(results):
            assert told == square(number)
            while number == 19 and children() - inherited:
                assert time.monotonic() < deadline
                time.sleep(0.001)
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_an_alarm_that_rings_while_they_are_forked_loses_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fork = os.fork

    def forked() -> int:
        pid = fork()
        if pid:
            signal.raise_signal(signal.SIGALRM)
        return pid

    def ring(_number: int, _frame: object) -> None:
        raise RuntimeError("it is time")

    monkeypatch.setattr(os, "fork", forked)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(RuntimeError, match="it is time"):
            list(spread(square, 10, 2))
    finally:
        signal.signal(signal.SIGALRM, before)


def test_others_than_ctrl_c_reach_them() -> None:
    def blocked(_number: int) -> set[int]:
        return set(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ())))

    here = blocked(0)
    assert list(spread(blocked, 10, 2)) == [here | {signal.SIGINT}] * 10


def test_ctrl_c_is_for_the_parent_alone() -> None:
    def is_blocked(_number: int) -> bool:
        return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())

    assert list(spread(is_blocked, 10, 2)) == [True] * 10
    assert not is_blocked(0)


def run(program: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={name: told for name, told in os.environ.items() if name != "PYTHONUNBUFFERED"},
        start_new_session=True,
    )


def is_there(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


BUSY = """
    import os, time
    from pdtriage.reading.forked import spread

    def work(number):
        if number < 2:
            os.write(1, f"{os.getpid()}\\n".encode())
        time.sleep(0.05)

    print("said before the fork")
    for _ in spread(work, 100_000, 2):
        pass
"""


def test_nobody_outlives_a_parent_that_was_killed() -> None:
    with run(BUSY) as parent:
        assert parent.stdout is not None
        readers = [int(parent.stdout.readline()) for _ in range(2)]
        parent.kill()
        told = parent.stdout.read()  # until the last of those who hold it has ended
    assert told == ""
    deadline = time.monotonic() + 20
    while any(map(is_there, readers)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for pid in readers:
        with suppress(ChildProcessError):  # ours where another test made us inherit orphans
            os.waitpid(pid, 0)


def test_ctrl_c_is_answered_once_and_nothing_is_said_twice() -> None:
    with run(BUSY) as parent:
        assert parent.stdout is not None
        readers = [int(parent.stdout.readline()) for _ in range(2)]
        os.killpg(parent.pid, signal.SIGINT)
        told = parent.stdout.read()
    assert told.count("KeyboardInterrupt") == 1
    assert told.count("said before the fork") == 1
    assert not any(map(is_there, readers))
