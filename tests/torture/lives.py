"""One random life of a job: what its ranks do, what is done to its launcher, what was lost."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pdtriage.launch.supervise.processes import process_entry, running_processes
from pdtriage.record.reader import read_records

from ..running import clean_environment, is_running, wait_until
from .surroundings import FEW, exhaust, logs_of, words_before

CHILD = Path(__file__).with_name("child.py")
MARK = "PDT_TORTURE"
DEEDS = (
    *("", "deaf", "fork", "daemon", "flood"),
    *("rotate", "truncate", "delete", "link", "pipe", "folder", "stray"),
)
ENDS = ("exit0", "exit7", "raise", "kill9", "kill11", "hang")
FATES = (
    *("nothing", "SIGTERM", "SIGINT", "SIGKILL", "suspended", "reader killed", "reader hangs"),
    *("few descriptors", "few processes", "no more descriptors", "no more processes", "full disk"),
)
STOPS = {"SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}
OURS = (sys.executable, "-m", "pdtriage", "run", "--grace=1", "--analysis-budget=12")
REFUSED = 2
LIMIT = 120.0
"""Seconds, also on a busy machine."""


class RankLife(NamedTuple):
    deed: str
    end: str
    seconds: float

    def word(self, rank: int) -> str:
        return f"{rank}={self.deed}:{self.end}:{self.seconds}"

    @property
    def code(self) -> int | None:
        """What a shell says of it; None where it does not end by itself."""
        if self.end.startswith("kill"):
            return 128 + int(self.end[4:])
        return {"exit0": 0, "exit7": 7, "raise": 1}.get(self.end)


class Life(NamedTuple):
    number: int
    ranks: tuple[RankLife, ...]
    fate: str
    moment: float
    """Seconds after the start at which it strikes the launcher."""
    limit: int = 0
    """Of what there are few from the start."""

    @property
    def first(self) -> int | None:
        """The rank that fails first, by far; None where none does."""
        failing = [rank for rank, life in enumerate(self.ranks) if life.code]
        return min(failing, key=lambda rank: self.ranks[rank].seconds, default=None)

    @property
    def code(self) -> int | None:
        """What the launcher has to exit with."""
        if self.fate in STOPS:
            return 128 + STOPS[self.fate]
        if self.fate == "SIGKILL":
            return -signal.SIGKILL
        return 0 if self.first is None else self.ranks[self.first].code

    def has(self, *deeds: str) -> bool:
        return any(life.deed in deeds for life in self.ranks)


class Loss(NamedTuple):
    """What was lost of a life; all empty: nothing."""

    orphans: int = 0
    bytes: int = 0
    first: str = ""
    code: str = ""
    record: str = ""

    def __bool__(self) -> bool:
        return any(self)


def life_of(number: int, seed: int = 0) -> Life:
    """Always the same for a number and a seed."""
    dice = random.Random(f"{seed}/{number}")
    fate = FATES[number % len(FATES)]
    deeds = [DEEDS[number // len(FATES) % len(DEEDS)], *dice.choices(DEEDS[:5], k=3)]
    if fate == "SIGKILL" and deeds[0] == "stray":
        deeds[0] = "daemon"  # nobody is left who was its subreaper
    if fate == "few processes":
        deeds = [deed if deed not in ("fork", "daemon", "stray") else "deaf" for deed in deeds]
    count = dice.randint(2, 4)
    if fate in STOPS:
        ends = ["hang"] * count  # who stops it is the first to want its end
    else:
        # One fails clearly before all others, or none does, and then all of them end.
        ends = [dice.choice(ENDS[1:5]), *("hang" for _ in range(count - 1))]
        ends = dice.choice([ends, ends, ["exit0"] * count])
    dice.shuffle(ends)
    lives = [
        RankLife(deed, end, round(0.3 + 0.7 * dice.random(), 2))
        for deed, end in zip(deeds, ends, strict=False)
    ]
    moment = round(0.2 + 0.8 * dice.random(), 2)
    limit = dice.randint(*FEW[fate]) if fate in FEW else 0
    return Life(number, tuple(lives), fate, moment, limit)


def live(life: Life, command: Sequence[str] | None = None, patience: float = 15.0) -> Loss:
    """Have it lived, by default under `pdtriage run`; who is there `patience` seconds after its end
    was left behind, and is ended here."""
    with tempfile.TemporaryDirectory(prefix="torture-") as name:
        folder = Path(name)
        mark = f"{MARK}={folder.name}"
        words = [life.ranks[rank].word(rank) for rank in range(len(life.ranks))]
        launcher = command or OURS
        process = subprocess.Popen(
            [
                *words_before(life, folder),
                *launcher,
                f"--nproc_per_node={len(life.ranks)}",
                *("--log_dir", str(folder / "log"), str(CHILD), str(folder), *words),
            ],
            cwd=folder,
            env=clean_environment() | {MARK: folder.name},
            stdin=subprocess.DEVNULL,
            stdout=(folder / "out").open("wb"),
            stderr=(folder / "err").open("wb"),
        )
        with contextlib.ExitStack() as kept:
            logs = kept.enter_context(logs_of(life, folder, process))
            strike(life, folder, logs, process)
            try:
                code: int | None = process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                code = None
                process.kill()
                process.wait()
            left = _left(folder, mark, patience)
            return _loss(life, folder, logs, left, code, ours=command is None)


def strike(life: Life, folder: Path, logs: Path, process: subprocess.Popen[bytes]) -> None:
    """What becomes of the launcher, once its job runs."""
    if life.fate == "nothing" or life.fate in FEW:
        return
    ranks = range(len(life.ranks))
    began = [folder / f"{rank}.began" for rank in ranks]
    wait_until(lambda: process.poll() is not None or all(n.exists() for n in began), LIMIT)
    if life.fate.startswith("reader"):
        reader: list[int] = []
        wait_until(lambda: process.poll() is not None or bool(_readers(process.pid, reader)), 30)
        number = signal.SIGKILL if life.fate == "reader killed" else signal.SIGSTOP
        for pid in reader:
            _send(pid, number)
        return
    time.sleep(life.moment)
    if life.fate == "suspended":
        process.send_signal(signal.SIGSTOP)
        time.sleep(life.moment)
        process.send_signal(signal.SIGCONT)
    elif life.fate == "SIGKILL":
        process.kill()
    elif life.fate not in STOPS:
        with contextlib.suppress(OSError):  # it may have ended
            exhaust(life, logs, process.pid)
    else:
        process.send_signal(STOPS[life.fate])


def _loss(
    life: Life, folder: Path, logs: Path, left: list[int], code: int | None, *, ours: bool
) -> Loss:
    for pid in left:
        _send(pid, signal.SIGKILL)
    lost = _bytes_lost(life, folder, logs)
    if ours and life.fate in FEW and code == REFUSED:
        return Loss(len(left), lost)  # it was not begun, or not in earnest
    wrong = "" if code == life.code else f"{code} instead of {life.code}"
    if life.fate == "SIGKILL" and code is not None:
        wrong = ""  # it may have ended before
    if not ours:
        return Loss(len(left), lost, code=wrong)
    first, record = "", ""
    if not life.has("folder"):
        if life.fate == "full disk":
            logs = Path(shutil.copytree(logs / "pdtriage", folder / "record"))
        first, record = _record_lost(life, logs, code)
    return Loss(len(left), lost + _unshown(life, folder, logs), first, wrong, record)


def _left(folder: Path, mark: str, patience: float) -> list[int]:
    """Processes of this life that are still there."""

    def members() -> list[int]:
        noted = [_pid_in(note) for note in folder.glob("*.left")]
        marked = [e.pid for e in running_processes() if _carries(e.pid, mark.encode())]
        return [pid for pid in {*noted, *marked} if is_running(pid)]

    wait_until(lambda: not members(), patience)
    return members()


def _bytes_lost(life: Life, folder: Path, logs: Path) -> int:
    """Of those who noted down what they wrote and left their log where it was."""
    lost = 0
    for rank, own in enumerate(life.ranks):
        note = folder / f"{rank}.wrote"
        if own.deed in ("delete", "link", "pipe") or life.has("folder") or not note.exists():
            continue
        pieces = [logs / f"workerlog.{rank}{end}" for end in ("", ".1")]
        there = sum(piece.stat().st_size for piece in pieces if piece.is_file())
        lost += abs(int(note.read_text()) - there)
    return lost


def _unshown(life: Life, folder: Path, logs: Path) -> int:
    """Of the log of rank 0, which goes to standard output as it is."""
    log = logs / "workerlog.0"
    if life.fate in ("SIGKILL", "suspended") or life.has("folder") or not log.is_file():
        return 0
    if life.ranks[0].deed in ("delete", "link", "pipe", "rotate", "truncate"):
        return 0
    said = (folder / "err").read_bytes()
    if b"not shown: " in said or b"the view failed" in said:
        return 0  # for want of a thread or a descriptor, and people know where to look
    return abs(log.stat().st_size - (folder / "out").stat().st_size)


def _record_lost(life: Life, logs: Path, code: int | None) -> tuple[str, str]:
    records = read_records(logs)
    if not records or any(record.notes and record.launch == "" for record in records):
        return "", "unreadable"
    record = records[-1]
    unseen = life.fate == "SIGKILL" or (life.fate == "full disk" and record.exit_code is None)
    if not unseen and record.exit_code != code:
        return "", f"exit code {record.exit_code} instead of {code}"
    failed = [death for death in record.deaths if death.code or death.signal]
    first = failed[0].rank if failed and not failed[0].stopped else None
    wrong = life.first is not None and not unseen and first != life.first
    return (f"rank {first} instead of {life.first}" if wrong else ""), ""


def _readers(parent: int, found: list[int]) -> list[int]:
    found[:] = [
        entry.pid
        for entry in running_processes()
        if entry.parent == parent and _text(f"/proc/{entry.pid}/comm") == b"pdtriage-reader\n"
    ]
    return found


def _carries(pid: int, mark: bytes) -> bool:
    return mark in _text(f"/proc/{pid}/environ").split(b"\0")


def _text(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _pid_in(note: Path) -> int:
    text = note.read_text()
    return int(text) if text and process_entry(int(text)) is not None else 0


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return
