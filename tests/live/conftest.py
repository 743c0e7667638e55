"""Real jobs of small scripts under `pdtriage`, and files that grow while somebody reads them."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

import pytest

from pdtriage.live.followed_log import LiveEngine

from ..running import clean_environment


@dataclass
class Command:
    """One `pdtriage …` as a user sees it, its stderr line by line while it runs."""

    process: subprocess.Popen[bytes]
    err: list[str] = field(default_factory=list)
    _lines: Queue[str] = field(default_factory=Queue)
    _readers: list[Thread] = field(default_factory=list)
    _out: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        for read in (self._read_err, self._read_out):
            thread = Thread(target=read, daemon=True)
            thread.start()
            self._readers.append(thread)

    def await_line(self, text: str, seconds: float = 60.0) -> str:
        """The first line of stderr with `text`, as soon as it is there."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self._lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except Empty:
                raise AssertionError(f"{text!r} never came: {self.err}") from None
            if text in line:
                return line

    def finish(self, timeout: float = 120.0) -> Command:
        self.process.wait(timeout)
        for reader in self._readers:
            reader.join(5)
        return self

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        self.process.send_signal(number)

    @property
    def code(self) -> int | None:
        return self.process.returncode

    @property
    def out(self) -> bytes:
        return b"".join(self._out)

    @property
    def said(self) -> str:
        return "".join(self.err)

    def _read_err(self) -> None:
        assert self.process.stderr is not None
        for raw in self.process.stderr:
            line = raw.decode()
            self.err.append(line)
            self._lines.put(line)

    def _read_out(self) -> None:
        assert self.process.stdout is not None
        for raw in self.process.stdout:
            self._out.append(raw)


@dataclass
class Desk:
    """A folder with a script in it, and commands that are started there."""

    folder: Path
    started: list[Command] = field(default_factory=list)

    def script(self, code: str, name: str = "train.py") -> Path:
        head = "import os, sys, time\nrank = int(os.environ.get('PADDLE_TRAINER_ID', '0'))\n"
        path = self.folder / name
        path.write_text(head + textwrap.dedent(code), encoding="utf-8")
        return path

    def start(self, *words: str | Path, **environment: str) -> Command:
        process = subprocess.Popen(
            [sys.executable, "-m", "pdtriage", *map(str, words)],
            cwd=self.folder,
            env=clean_environment() | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        command = Command(process)
        self.started.append(command)
        return command

    def run(self, *words: str | Path, **environment: str) -> Command:
        return self.start(*words, **environment).finish()

    def launch(self, *words: str, ranks: int = 2) -> Command:
        """`pdtriage run` of train.py."""
        return self.start("run", f"--nproc_per_node={ranks}", *words, "train.py")

    def log(self, local_rank: int = 0) -> bytes:
        return (self.folder / "log" / f"workerlog.{local_rank}").read_bytes()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    for command in desk.started:
        if command.process.poll() is None:
            command.process.kill()
            command.process.wait(10)


@pytest.fixture(scope="session")
def engine() -> LiveEngine:
    return LiveEngine.load()
