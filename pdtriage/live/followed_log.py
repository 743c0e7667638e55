"""One log while it is written: its events, its last step, how long it has been silent."""

from __future__ import annotations

import os
import time

from pdtriage.knowledge import Knowledge
from pdtriage.live.literal_prescan import Alarm
from pdtriage.live.tail import MOST, Tail
from pdtriage.model import FileFacts, LogFile, Progress
from pdtriage.record.schema import ProcessRecord
from pdtriage.scan import Engine, FileScanner, scan
from pdtriage.scan.detect import STRUCTURE

PIECE = 1 << 17
"""Less than for a finished file: whatever is undecided is read again at each question."""
MEAL = 1 << 16
"""Bytes that are collected before the scanner gets them; a question gets all there is."""
LONGEST_LINE = 2_048
STEP_GLANCE, STEP_WINDOW = 384, 2_048
TELLING = frozenset({"cause", "symptom", "victim"})
REST_FACTOR, LONGEST_REST = 20, 0.4
"""A question that took a millisecond is not asked again within twenty; nor does the first one, for
which patterns are compiled, keep an answer back for seconds."""


class Tuned:
    """An engine and which of its literals make a log worth a question."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        telling = _telling_literals(engine.knowledge)
        literals = enumerate(engine.detector.literals)
        alarming = frozenset(place for place, literal in literals if literal in telling)
        self.alarm = Alarm(engine.detector, alarming)


class Hearing:
    """Follows one log from `begin`; what stands before `news_from` is no news."""

    def __init__(
        self,
        path: str,
        file: LogFile,
        tuned: Tuned,
        process: ProcessRecord | None = None,
        *,
        begin: int = 0,
        news_from: int = 0,
    ) -> None:
        self.path = path
        self.file = file
        self.process = process
        self.begin = begin
        self.news_from = news_from
        self.heard = time.monotonic()
        """When it last grew."""
        self.step: Progress | None = None
        self.more = False
        """The last piece was a full one: there is more to read at once."""
        self._alarmed = False
        self._tuned = tuned
        self._tail = Tail(path, self.begin)
        self._generation = 0
        self._scanner = self._new_scanner()
        self._unfed: list[bytes] = []
        self._unfed_size = 0
        self._seam = b""
        self._window = b""
        self._rest_until = 0.0

    def listen(self) -> bool:
        """Take what is new; True if there was something."""
        chunk = self._tail.read()
        if not chunk:
            return False
        if self._tail.generation != self._generation:
            self._generation = self._tail.generation
            self.begin, self.news_from, self._window, self._seam = 0, 0, b"", b""
            self._unfed, self._unfed_size = [], 0
            self._scanner = self._new_scanner()
        self._tuned.alarm.hear(self._seam, chunk, self._sound)
        self._seam = (self._seam + chunk[-self._tuned.alarm.reach :])[-self._tuned.alarm.reach :]
        self._unfed.append(chunk)
        self._unfed_size += len(chunk)
        if self._unfed_size >= MEAL:
            self._feed()
        self.heard = time.monotonic()
        self.more = len(chunk) == MOST
        self._window = (self._window + chunk[-STEP_WINDOW:])[-STEP_WINDOW:]
        return True

    @property
    def alarmed(self) -> bool:
        """Something was written that may be a cause, and nobody has asked yet."""
        self._tuned.alarm.look()
        return self._alarmed

    def ask_again(self) -> None:
        """What was no news before is some now."""
        self._alarmed = True

    def look(self) -> None:
        self._tail.look()

    def may_ask(self) -> bool:
        return time.monotonic() >= self._rest_until

    def facts(self) -> FileFacts:
        """All that is known of it now."""
        began = time.thread_time()  # by the clock a busy machine would make it rest for long
        self._tuned.alarm.look()
        self._alarmed = False
        self._feed()
        facts = self._scanner.facts()
        rest = REST_FACTOR * (time.thread_time() - began)
        self._rest_until = time.monotonic() + min(LONGEST_REST, rest)
        return facts._replace(file=self._stamped())

    def count_steps(self) -> None:
        """Read the newest step counter, if anything was written since the last time."""
        if not self._window:
            return
        whole = self._window
        glance = whole[whole.rfind(b"\n", 0, -STEP_GLANCE) + 1 :]  # mostly a last line tells
        for text in (glance, whole):
            steps = scan(self.file, [text], self._tuned.engine).progress
            if steps or len(text) == len(whole):
                break
        self.step = steps[-1] if steps else self.step
        # The last line may still be growing: it is looked at again together with what follows.
        self._window = self._window[self._window.rfind(b"\n") + 1 :][-LONGEST_LINE:]

    def close(self) -> None:
        self._tail.close()

    @property
    def restarted(self) -> bool:
        """The file began anew during this run."""
        return self._generation > 0

    def _sound(self) -> None:
        self._alarmed = True

    def _feed(self) -> None:
        if self._unfed:
            self._scanner.feed(b"".join(self._unfed))
            self._unfed, self._unfed_size = [], 0

    def _new_scanner(self) -> FileScanner:
        first_line = 1 + _newlines(self.path, self.begin)
        return FileScanner(
            self.file,
            self._tuned.engine,
            begin=self.begin,
            first_line=first_line,
            piece=PIECE,
        )

    def _stamped(self) -> LogFile:
        try:
            status = os.stat(self.path)
        except OSError:
            return self.file
        return self.file._replace(size=status.st_size, modified=status.st_mtime)


def _telling_literals(knowledge: Knowledge) -> set[str]:
    literals = set(STRUCTURE)
    for signature in knowledge.signatures.values():
        if signature.role in TELLING:
            literals.update(signature.literals)
    return literals


def _newlines(path: str, upto: int) -> int:
    """Lines that older runs left in the file, so that ours are numbered as an editor does."""
    count = 0
    if upto <= 0:
        return 0
    try:
        with open(path, "rb", buffering=0) as stream:
            while upto > 0 and (chunk := stream.read(min(upto, 1 << 20))):
                count += chunk.count(b"\n")
                upto -= len(chunk)
    except OSError:
        return count
    return count
