"""One log while it is written: its events, its last step, how long it has been silent."""

from __future__ import annotations

import os
import time
from dataclasses import replace

from pdtriage.events import Engine, FileScanner, scan
from pdtriage.events.detect import STRUCTURE
from pdtriage.knowledge import Knowledge
from pdtriage.launch.record import ProcessRecord
from pdtriage.live.tail import MOST, Tail
from pdtriage.model import FileFacts, LogFile, Progress

PIECE = 1 << 17
"""Less than for a finished file: whatever is undecided is read again at each question."""
LONGEST_LINE = 2_048
STEP_WINDOW = 2_048
TELLING = frozenset({"cause", "symptom", "victim"})
REST_FACTOR = 20
"""A question that took a millisecond is not asked again within twenty."""


class Tuned:
    """An engine and which of its literals make a log worth a question."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        telling = _telling_literals(engine.knowledge)
        self.alarming = frozenset(
            place for place, literal in enumerate(engine.detector.literals) if literal in telling
        )


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
        self.alarmed = False
        """Something was written that may be a cause, and nobody has asked yet."""
        self._tuned = tuned
        self._tail = Tail(path, self.begin)
        self._generation = 0
        self._scanner = self._new_scanner()
        self._unfinished = b""
        self._window = b""
        self._rest_until = 0.0

    def listen(self) -> bool:
        """Take what is new; True if there was something."""
        chunk = self._tail.read()
        if not chunk:
            return False
        if self._tail.generation != self._generation:
            self._generation = self._tail.generation
            self.begin, self.news_from, self._unfinished, self._window = 0, 0, b"", b""
            self._scanner = self._new_scanner()
        self._scanner.feed(chunk)
        self.heard = time.monotonic()
        self.more = len(chunk) == MOST
        self._window = (self._window + chunk)[-STEP_WINDOW:]
        self.alarmed = self.alarmed or self._is_alarming(chunk)
        return True

    def look(self) -> None:
        self._tail.look()

    def may_ask(self) -> bool:
        return time.monotonic() >= self._rest_until

    def facts(self) -> FileFacts:
        """All that is known of it now."""
        began = time.monotonic()
        facts = self._scanner.facts()
        self.alarmed = False
        ended = time.monotonic()
        self._rest_until = ended + REST_FACTOR * (ended - began)
        return replace(facts, file=self._stamped())

    def count_steps(self) -> None:
        """Read the newest step counter, if anything was written since the last time."""
        if not self._window:
            return
        steps = scan(self.file, [self._window], self._tuned.engine).progress
        self.step = steps[-1] if steps else self.step
        # The last line may still be growing: it is looked at again together with what follows.
        self._window = self._window[self._window.rfind(b"\n") + 1 :][-LONGEST_LINE:]

    def close(self) -> None:
        self._tail.close()

    @property
    def restarted(self) -> bool:
        """The file began anew during this run."""
        return self._generation > 0

    def _new_scanner(self) -> FileScanner:
        first_line = 1 + _newlines(self.path, self.begin)
        return FileScanner(
            self.file,
            self._tuned.engine,
            begin=self.begin,
            first_line=first_line,
            piece=PIECE,
            sparse=True,
        )

    def _is_alarming(self, chunk: bytes) -> bool:
        """A literal may be cut by the border of two chunks, so the last line is seen twice."""
        text = self._unfinished + chunk
        self._unfinished = text[text.rfind(b"\n") + 1 :][-LONGEST_LINE:]
        hits = self._tuned.engine.detector.find(text)
        return any(literal in self._tuned.alarming for _, literal in hits)

    def _stamped(self) -> LogFile:
        try:
            status = os.stat(self.path)
        except OSError:
            return self.file
        return replace(self.file, size=status.st_size, modified=status.st_mtime)


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
