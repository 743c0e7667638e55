"""Python stacks of other processes by py-spy, which reads their memory and changes nothing there.

It is asked not to pause a process: one that hangs stands anyhow, and one that does not is not to be
held up. Only who wants frames of C asks for that.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import IO

from pdtriage.hang.kernel_view import vitals_of
from pdtriage.hang.stack_signal import ptrace_scope
from pdtriage.model.logs import Frame
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

AT_ONCE = 8
MOST_FRAMES = 64
MOST_BYTES = 16 << 20
_TICK = 0.02
PATIENCE, TIMES_OTHERS = 3.0, 3.0
"""Seconds, and how often what the slowest so far took, after which those that are left are not
waited for: a process that waits for a disk may never be read, and the others are known."""
MISSING = Text(
    "py-spy is not installed: `pip install 'pdtriage[hang]'` shows where in Python each process is",
    "未安装 py-spy：执行 `pip install 'pdtriage[hang]'` 后可显示每个进程停在 Python 的哪一行",
)


class PythonStack(NamedTuple):
    """The Python stack of a process's main thread, the innermost frame first."""

    frames: tuple[Frame, ...] = ()
    native: tuple[str, ...] = ()
    refusal: str = ""
    """Why there is none."""


class _Dump(NamedTuple):
    pid: int
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    """A file: a dump of many threads is longer than a pipe holds."""
    native: bool
    gently: bool
    asked_at: float


def find_py_spy() -> str | None:
    """The program: beside our own Python, or on the path."""
    places = [os.path.dirname(sys.executable), sysconfig.get_path("scripts")]
    return shutil.which("py-spy", path=os.pathsep.join(places)) or shutil.which("py-spy")


def python_stacks(
    pids: Sequence[int], seconds: float, *, native: bool = False, stopped: Sequence[int] = ()
) -> dict[int, PythonStack]:
    """All that can be had in so many seconds; nobody is waited for longer, nor for much longer
    than for the others.

    `stopped` are processes that a signal holds: these can only be looked at without pausing them.
    """
    program = find_py_spy()
    if program is None:
        return {pid: PythonStack(refusal=MISSING.en) for pid in pids}
    deadline = time.monotonic() + seconds
    left = [(pid, native and pid not in stopped, not native or pid in stopped) for pid in pids]
    running: list[_Dump] = []
    answers: dict[int, PythonStack] = {}
    slowest = 0.0
    try:
        while (left or running) and time.monotonic() < deadline:
            while left and len(running) < AT_ONCE:
                running.append(_ask(program, *left.pop(0)))
            done = [asked for asked in running if asked.process.poll() is not None]
            for asked in done:
                running.remove(asked)
                answer = _answer(asked)
                if answer.refusal and asked.gently and _can_be_paused(asked.pid):
                    # What changes while it is read makes no sense; a paused process does not.
                    left.append((asked.pid, asked.native, False))
                answers[asked.pid] = answer
                slowest = max(slowest, time.monotonic() - asked.asked_at)
            if answers and not left and _is_in_vain(running, slowest):
                break
            if not done:
                time.sleep(_TICK)
    finally:
        for asked in running:
            asked.process.kill()
            asked.process.wait()
            asked.output.close()
            answers.setdefault(asked.pid, PythonStack(refusal="it took too long"))
    return answers


def how_to_allow(refusals: Sequence[str]) -> Text | None:
    """One sentence on how to see more; None where nothing was refused."""
    if MISSING.en in refusals:
        return MISSING
    if not any("ermission" in refusal or "not permitted" in refusal for refusal in refusals):
        return None
    scope = ptrace_scope()
    if scope in ("1", "2", "3"):
        return Text(
            f"the kernel forbids looking into other processes (kernel.yama.ptrace_scope is {scope})"
            ": run `sysctl kernel.yama.ptrace_scope=0`, or pdtriage as root, to see Python stacks",
            f"内核禁止查看其他进程（kernel.yama.ptrace_scope 为 {scope}）："
            "执行 `sysctl kernel.yama.ptrace_scope=0` 或以 root 运行 pdtriage，"
            "才能看到 Python 调用栈",
        )
    return Text(
        "looking into other processes is forbidden here: start the container with "
        "`--cap-add=SYS_PTRACE`, or run pdtriage as the user of the job, to see Python stacks",
        "此处不允许查看其他进程：以 `--cap-add=SYS_PTRACE` 启动容器，"
        "或以任务所属用户运行 pdtriage，才能看到 Python 调用栈",
    )


def parse_dump(content: bytes, pid: int) -> PythonStack:
    """What `py-spy dump --json` says of the main thread of a process."""
    try:
        threads = json.loads(content)
        main = next(
            thread
            for thread in threads
            if thread.get("os_thread_id") == pid or thread.get("thread_name") == "MainThread"
        )
        return _stack_of(list(main["frames"])[:MOST_FRAMES])
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
        return PythonStack(refusal="no Python is there")


def _stack_of(listed: Sequence[dict[str, object]]) -> PythonStack:
    frames, native = [], []
    for frame in listed:
        file, name = str(frame.get("filename") or ""), str(frame.get("name") or "")
        if file.endswith(".py") or file.startswith("<"):
            line = frame.get("line")
            frames.append(Frame(file, line if isinstance(line, int) else 0, name))
        elif not frames:
            native.append(name)
    return PythonStack(tuple(frames), tuple(native), "" if frames else "no Python is there")


def _is_in_vain(running: Sequence[_Dump], slowest: float) -> bool:
    newest = max((asked.asked_at for asked in running), default=time.monotonic())
    return time.monotonic() - newest > max(PATIENCE, TIMES_OTHERS * slowest)


def _can_be_paused(pid: int) -> bool:
    """Not while a signal holds it already, or it waits for a disk, which nothing interrupts."""
    vitals = vitals_of(pid)
    return vitals is not None and vitals.state not in "DTtZX"


def _ask(program: str, pid: int, native: bool, gently: bool) -> _Dump:
    words = [program, "dump", "--json", "--full-filenames", "--pid", str(pid)]
    words += ["--native"] if native else ["--nonblocking"] if gently else []
    output = tempfile.TemporaryFile()  # noqa: SIM115 (whoever takes the answer closes it)
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
    )
    return _Dump(pid, process, output, native, gently, time.monotonic())


def _answer(asked: _Dump) -> PythonStack:
    with asked.output as output:
        output.seek(0)
        content = output.read(MOST_BYTES)
    if asked.process.returncode == 0:
        return parse_dump(content, asked.pid)
    reasons = list(_reasons(content.decode("utf-8", "replace")))
    return PythonStack(refusal=reasons[0] if reasons else "py-spy failed")


def _reasons(text: str) -> Iterator[str]:
    """Its own words; what is denied says so somewhere."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    yield from (line for line in lines if "ermission" in line or "not permitted" in line)
    yield from (line.removeprefix("Error: ") for line in lines if line.startswith("Error:"))
