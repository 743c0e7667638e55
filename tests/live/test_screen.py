"""The terminal: a log above, a status below, never one inside the other."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time

from pdtriage.hang.rank_states import RankLine
from pdtriage.live.log_follower import ProcessStatus
from pdtriage.live.rank_table import NEWEST_LINES, draw
from pdtriage.live.screen import LineSplitter, LogCleaner, PlainScreen, TerminalScreen, screen_for
from pdtriage.live.view import status_text
from pdtriage.support.text_width import columns

from ..running import clean_environment
from .conftest import Desk
from .screen import Screen


class Both:
    """One terminal on both streams, in the order things are written."""

    def __init__(self, width: int = 80) -> None:
        self.screen = Screen(width)
        self.written = ""
        outer = self

        class Out(io.BytesIO):
            def write(self, raw: bytes, /) -> int:  # type: ignore[override]
                outer._take(raw.decode().replace("\n", "\r\n"))
                return len(raw)

        class Err(io.StringIO):
            def write(self, text: str, /) -> int:
                outer._take(text.replace("\n", "\r\n"))
                return len(text)

        self.terminal = TerminalScreen(Out(), Err(), log_here=True, color=True)

    def _take(self, text: str) -> None:
        self.written += text
        self.screen.feed(text)

    @property
    def seen(self) -> list[str]:
        return [line.rstrip() for line in self.screen.lines]


def test_the_status_is_below_the_log_and_gone_in_the_end() -> None:
    both = Both()
    for step in range(3):
        both.terminal.log(b"step %d\n" % step)
        both.terminal.status(f"status {step}")
        assert both.seen[-1] == f"status {step}"
    both.terminal.close()
    assert [line for line in both.seen if line] == ["step 0", "step 1", "step 2"]


def test_a_table_above_the_status_is_wiped_as_a_whole() -> None:
    both = Both()
    both.terminal.log(b"step 1\nworking")
    both.terminal.status("2/2 alive", ["rank 0  12", "rank 1  12"])
    assert both.seen == ["step 1", "working", "rank 0  12", "rank 1  12", "2/2 alive"]
    both.terminal.log(b" on\n")
    both.terminal.status("2/2 alive", ["rank 0  13"])
    assert [line for line in both.seen if line] == [
        *("step 1", "working on", "rank 0  13", "2/2 alive")
    ]
    both.terminal.close()
    assert [line for line in both.seen if line] == ["step 1", "working on"]


def test_a_table_has_a_line_for_every_rank_and_never_wraps() -> None:
    position = (0, 120)
    lines = [
        RankLine(f"rank {number}", (number,), position, 1.5, 3 << 30, 2.0, "training")
        for number in range(6)
    ]
    warning = ("12:00:00", "rank 3: " + "long " * 120)
    for width in (30, 80, 160):
        drawn = draw(lines, [warning], width, 20, "en", color=False).splitlines()
        assert len(drawn) == 1 + 6 + NEWEST_LINES
        assert max(map(columns, drawn)) < width
    assert "3.0 GB" in drawn[1]
    assert "training" in drawn[1]
    few = draw(lines, [], 80, 4, "zh", color=False).splitlines()
    assert len(few) == 4
    assert "4" in few[-1]


def test_a_terminal_shows_the_table_and_a_pipe_does_not(desk: Desk) -> None:
    desk.script("""
        for step in range(100_000):
            print(f"epoch: 0, step: {step}, loss: 0.5", flush=True)
            time.sleep(0.1)
            if os.path.exists("enough"):
                break
    """)
    piped = desk.launch("--log_dir=piped", ranks=2)
    written = _in_a_terminal(desk, "rank 1 ", "--quiet", "--nproc_per_node=2", "train.py")
    assert "steps/s" in written
    assert "training" in written
    assert piped.finish().code == 0
    assert "steps/s" not in piped.said + piped.out.decode()


def _in_a_terminal(desk: Desk, awaited: str, *words: str) -> str:
    """What `pdtriage run` draws until `awaited` with a rate is there, and to its end."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "pdtriage", "run", *words],
        cwd=desk.folder,
        env=clean_environment() | {"TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    written = ""
    try:
        while True:
            piece = os.read(master, 1 << 16).decode("utf-8", "replace")
            written += piece
            if awaited in written and "training" in written:
                (desk.folder / "enough").touch()
    except OSError:  # the terminal is gone with its last process
        process.wait(60)
    finally:
        os.close(master)
        process.kill()
    return written


def test_a_progress_bar_goes_on_where_it_was() -> None:
    both = Both()
    both.terminal.log(b"\r10% [#   ]")
    both.terminal.status("4/4 alive")
    assert both.seen == ["10% [#   ]", "4/4 alive"]
    both.terminal.log(b"\r50% [##  ]")
    assert both.seen == ["50% [##  ]", ""]
    both.terminal.status("4/4 alive")
    both.terminal.log(b"\r99% [####]\n")
    both.terminal.log(b"done\n")
    assert both.seen[:2] == ["99% [####]", "done"]


def test_an_unfinished_line_is_not_torn_apart() -> None:
    both = Both()
    both.terminal.log(b"loading ")
    both.terminal.status("2/2 alive")
    both.terminal.log(b"checkpoint ... ")
    both.terminal.status("2/2 alive, still")
    both.terminal.log(b"ok\n")
    assert both.seen[0] == "loading checkpoint ... ok"


def test_a_launcher_line_gets_a_line_of_its_own() -> None:
    both = Both()
    both.terminal.log(b"working")
    both.terminal.status("status")
    both.terminal.line("LAUNCH ERROR rank 1 exited\n")
    both.terminal.log(b"next\n")
    assert both.seen[:3] == ["working", "LAUNCH ERROR rank 1 exited", "next"]


def test_a_status_never_wraps() -> None:
    both = Both()
    both.terminal.log(b"step 1\n")
    both.terminal.status("x" * 300)
    assert len(both.seen) == 2
    assert len(both.seen[1]) < 80


def test_no_status_below_a_line_that_fills_the_screen() -> None:
    both = Both()
    both.terminal.log(b"y" * 200)
    both.terminal.status("status")
    assert "status" not in both.written


def test_strangers_cannot_steer_the_terminal() -> None:
    both = Both()
    evil = b"\x1b]0;title\x07\x1b[2J\x1b[10;10Hhere \x1b[31mred\x1b[0m \x9b5A\x1bc\x07ok\n"
    for place in range(len(evil)):
        both.terminal.log(evil[place : place + 1])
    assert both.screen.unknown == []
    assert both.seen[0] == "here red \ufffd5Aok"  # what is left is only text
    assert "\x1b[31m" in both.written


def test_a_character_cut_in_two_arrives_whole() -> None:
    cleaner = LogCleaner()
    raw = "中文日志\n".encode()
    assert "".join(cleaner.feed(raw[n : n + 1]) for n in range(len(raw))) == "中文日志\n"


def test_several_logs_are_shown_by_whole_lines() -> None:
    lines = LineSplitter()
    assert lines.feed(b"a\nb") == [b"a"]
    assert lines.feed(b"c\r\n1%\r2%\r3%\n") == [b"bc", b"3%"]
    assert lines.feed(b"rest") == []
    assert lines.flush() == [b"rest"]


def test_not_a_terminal_means_plain() -> None:
    out, err = io.BytesIO(), io.StringIO()
    screen = screen_for(out, err)
    assert isinstance(screen, PlainScreen)
    raw = b"\x1b[31mas it is\x1b[0m \xff\r\n"
    screen.log(raw)
    screen.line("LAUNCH INFO\n")
    screen.status("never shown")
    screen.close()
    assert (out.getvalue(), err.getvalue()) == (raw, "LAUNCH INFO\n")


def test_no_status_when_somebody_else_writes_to_the_terminal(desk: Desk) -> None:
    desk.script("for n in range(8): print(f'step {n}', flush=True); time.sleep(0.15)")
    words = "run --nproc_per_node=1 --log_level=ERROR train.py | cat"
    text = on_a_terminal(desk, "sh", "-c", f"{sys.executable} -m pdtriage {words}")
    assert "\x1b" not in text
    assert text.split() == " ".join(f"step {n}" for n in range(8)).split()


def test_the_status_names_the_slowest_rank() -> None:
    now = time.monotonic()
    statuses = [ProcessStatus("rank 0", 120, 1, now - 3), ProcessStatus("rank 1", 118, 1, now - 7)]
    assert status_text(statuses, 2, 2, 0, "en") == (
        "2/2 alive · step 120 · last line 3 s ago · slowest rank 1: step 118"
    )
    statuses[1] = ProcessStatus("rank 1", 900, 0, now - 7)
    assert status_text(statuses, 2, 2, 1, "en") == (
        "2/2 alive · epoch 1 step 120 · last line 3 s ago · 1 warning"
        " · slowest rank 1: epoch 0 step 900"
    )
    assert "存活 1/2" in status_text(statuses, 1, 2, 2, "zh")
    assert "2 条警告" in status_text(statuses, 1, 2, 2, "zh")


def test_on_a_terminal_the_log_arrives_intact(desk: Desk) -> None:
    """A real launch on a real pseudo-terminal: bars, colours, Chinese, and a status below."""
    desk.script(
        """
        for n in range(6):
            sys.stdout.write(f"\\rloading {n}/6")
            sys.stdout.flush()
            time.sleep(0.15)
        print()
        for n in range(12):
            print(f"\\x1b[32mepoch 0\\x1b[0m, step {n}, loss 0.5 损失", flush=True)
            time.sleep(0.15)
        while not os.path.exists("go"):
            time.sleep(0.05)
        """
    )
    words = ("run", "--nproc_per_node=2", "--log_level=ERROR", "train.py")
    status = "2/2 alive · step"
    text = on_a_terminal(desk, sys.executable, "-m", "pdtriage", *words, until=status)
    screen = Screen().feed(text)
    seen = [line.rstrip() for line in screen.lines if line.strip()]
    assert seen == ["loading 5/6", *(f"epoch 0, step {n}, loss 0.5 损失" for n in range(12))]
    assert screen.unknown == []
    assert re.search(r"\d/2 alive · step \d+", text)


def on_a_terminal(desk: Desk, *words: str, until: str = "") -> str:
    """What the command writes to a terminal of 24 lines and 80 columns; a job that waits for the
    file `go` gets it when `until` was written."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(desk.folder)
        os.execvpe(words[0], list(words), clean_environment() | {"TERM": "xterm"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    written = b""
    while True:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:
            break
        if not piece:
            break
        written += piece
        if until and until.encode() in written:
            (desk.folder / "go").touch()
    os.waitpid(pid, 0)
    os.close(terminal)
    return written.decode()


def test_who_keeps_the_others_waiting_can_be_read_on_a_narrow_terminal() -> None:
    """It stands at the end of a long warning; those before it are cut."""
    line = RankLine("rank 0", (0,), (0, 59), 1.0, 8 << 20, 3.0, "silent")
    waiting = f"ranks 0-2 in `wait` (train.py:7), system call `{'x' * 60}`"
    warnings = [("17:52:32", "x" * 200), ("17:53:02", f"{waiting}; rank 3 in `fetch` (train.py:5)")]
    shown = draw([line], warnings, 80, 6, "en", color=False).splitlines()
    assert "rank 3 in `fetch` (train.py:5)" in " ".join(shown[3:])
    assert len(shown) <= 2 + 1 + NEWEST_LINES
    assert max(map(len, shown)) < 80
    assert "1" not in shown[1], "who is silent has no speed"
