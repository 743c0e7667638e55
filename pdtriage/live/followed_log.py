"""One log while it is written: its events, its last step, how long it has been silent.

The only place that turns the bytes of a followed log into facts. Most of what a job writes is
harmless, so that news of all logs are first searched together for words that may tell of a cause;
a log with such a word is worth an alert's look (`alerts`).
"""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path

from pdtriage.knowledge import Knowledge, load_knowledge
from pdtriage.live.file_watch import MOST, Tail
from pdtriage.model import FileFacts, LogFile, Progress
from pdtriage.record.schema import ProcessRecord
from pdtriage.scan import Engine, FileScanner, scan
from pdtriage.scan.detect import STRUCTURE, Detector, literals_in, position_of
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text
from pdtriage.support.regular_files import open_binary

PIECE = 1 << 17
"""Less than for a finished file: whatever is undecided is read again at each question."""
FEED_SIZE = 1 << 16
"""Bytes that are collected before the scanner gets them; a question gets all there is."""
MOST_UNSEEN = 1 << 18
"""Bytes that are collected before they are searched for words unasked."""
LONGEST_LINE = 2_048
STEP_TAIL, STEP_WINDOW = 384, 2_048
ALERT_ROLES = frozenset({"cause", "symptom", "victim"})
REST_FACTOR, LONGEST_REST = 20, 0.4
"""A question that took a millisecond is not asked again within twenty; nor does the first one, for
which patterns are compiled, keep an answer back for seconds."""


class LiveEngine:
    """The engine of the scanner, and a search for the literals that make a log worth a question."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        wanted = _alert_literals(engine.knowledge)
        literals = enumerate(engine.detector.literals)
        self.prescan = LiteralPrescan(
            engine.detector, frozenset(index for index, literal in literals if literal in wanted)
        )

    @classmethod
    def load(cls, parsers: Sequence[Path] = ()) -> LiveEngine:
        return cls(Engine(load_knowledge(parsers)))


class _News(NamedTuple):
    begin: int
    seen: int
    """Where what was not searched before begins."""
    on_hit: Callable[[], None]


class LiteralPrescan:
    """Collects what logs wrote and searches all of it at once when somebody asks.

    Five hundred logs that write a hundred lines a second each are five thousand small pieces a
    second: the price is not their bytes but the calls.
    """

    def __init__(self, detector: Detector, wanted: frozenset[int]) -> None:
        self._detector = detector
        self._wanted = wanted
        self.reach = max(1, detector.longest - 1)
        """Bytes a word may reach back over the border of two pieces."""
        self._texts: list[bytes] = []
        self._news: list[_News] = []
        self._size = 0

    def add(self, before: bytes, text: bytes, on_hit: Callable[[], None]) -> None:
        """News of one log, and the end of what stands before them."""
        self._news.append(_News(self._size, self._size + len(before), on_hit))
        self._texts += (before, text, b"\n")  # no word may begin in one log and end in another
        self._size += len(before) + len(text) + 1
        if self._size >= MOST_UNSEEN:
            self.search()

    def search(self) -> None:
        """Call `on_hit` of the logs in whose news a literal stands."""
        if not self._news:
            return
        news, begins = self._news, [one.begin for one in self._news]
        hits = self._detector.find(b"".join(self._texts))
        self._texts, self._news, self._size = [], [], 0
        for hit, literal in zip(hits, literals_in(hits), strict=True):
            if literal in self._wanted:
                at = position_of(hit)
                own = news[bisect_right(begins, at) - 1]
                if at + self._detector.lengths[literal] > own.seen:
                    own.on_hit()


class FollowedLog:
    """Follows one log from `begin`; what stands before `news_from` is no news."""

    def __init__(
        self,
        path: str,
        file: LogFile,
        engine: LiveEngine,
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
        self.grown = time.monotonic()
        """When it last grew."""
        self.step: Progress | None = None
        self.evaluating = False
        """The last it wrote of its progress is of an evaluation."""
        self.more = False
        """The last piece was a full one: there is more to read at once."""
        self._suspicious = False
        self._engine = engine.engine
        self._prescan = engine.prescan
        self._tail = Tail(path, self.begin)
        self._generation = 0
        self._scanner = self._new_scanner()
        self._before: FileFacts | None = None
        """What stands before a part that was not read."""
        self.unread = 0
        """Bytes of that part."""
        self._pending: list[bytes] = []
        self._pending_size = 0
        self._seam = b""
        self._window = b""
        self._rest_until = 0.0

    def read_on(self) -> bool:
        """Take what is new; True if there was something."""
        chunk = self._tail.read()
        if not chunk:
            return False
        if self._tail.generation != self._generation:
            self._generation = self._tail.generation
            self.begin, self.news_from, self._window, self._seam = 0, 0, b"", b""
            self._pending, self._pending_size = [], 0
            self._before, self.unread = None, 0
            self._scanner = self._new_scanner()
        self._prescan.add(self._seam, chunk, self.mark_suspicious)
        reach = self._prescan.reach
        self._seam = (chunk if len(chunk) >= reach else self._seam + chunk)[-reach:]
        self._pending.append(chunk)
        self._pending_size += len(chunk)
        if self._pending_size >= FEED_SIZE:
            self._feed()
        self.grown = time.monotonic()
        self.more = len(chunk) == MOST
        self._window = (chunk if self.more else self._window + chunk)[-STEP_WINDOW:]
        return True

    def is_suspicious(self) -> bool:
        """Something was written that may be a cause, and nobody has asked for facts since."""
        self._prescan.search()
        return self._suspicious

    def mark_suspicious(self) -> None:
        self._suspicious = True

    def check_name(self) -> None:
        self._tail.check_name()

    def may_take_facts(self) -> bool:
        """Whether facts may be asked for again: not at once after a costly question."""
        return time.monotonic() >= self._rest_until

    def facts(self) -> FileFacts:
        """All that is known of it now."""
        began = time.thread_time()  # by the clock a busy machine would make it rest for long
        self._prescan.search()
        self._suspicious = False
        self._feed()
        facts = self._scanner.facts()
        if self._before is not None:
            facts = _join_facts(self._before, facts, self.unread)
        rest = REST_FACTOR * (time.thread_time() - began)
        self._rest_until = time.monotonic() + min(LONGEST_REST, rest)
        return facts._replace(file=self._stamped())

    def skip_to_last(self, most: int) -> None:
        """Leave out all but the last `most` bytes of what was not read yet."""
        begin = self._tail.position
        unread = self._tail.skip_to_last(most)
        if unread:
            self._feed()
            facts = self._scanner.facts()
            self._before = _join_facts(self._before, facts, 0) if self._before else facts
            self.unread += unread
            self._seam = self._window = b""
            self._scanner = FileScanner(
                self.file,
                self._engine,
                begin=begin + unread,
                first_line=facts.lines + 1,
                piece=PIECE,
            )
        while self.read_on() and self._tail.position < begin + unread + 2 * most:
            pass

    def read_step(self) -> None:
        """Read the newest step counter, if anything was written since the last time."""
        if not self._window:
            return
        whole = self._window
        end = whole[whole.rfind(b"\n", 0, -STEP_TAIL) + 1 :]  # mostly a last line tells
        for text in (end, whole):
            facts = scan(self.file, [text], self._engine)
            if facts.progress or len(text) == len(whole):
                break
        stepped = facts.progress[-1].line if facts.progress else 0
        evaluated = [event.line for event in facts.events if "evaluated" in event.says]
        if stepped or evaluated:
            self.evaluating = max(evaluated, default=0) > stepped
        self.step = facts.progress[-1] if facts.progress else self.step
        # The last line may still be growing: it is looked at again together with what follows.
        self._window = self._window[self._window.rfind(b"\n") + 1 :][-LONGEST_LINE:]

    def close(self) -> None:
        self._tail.close()

    def is_restarted(self) -> bool:
        """The file began anew during this run."""
        return self._generation > 0

    def _feed(self) -> None:
        if self._pending:
            self._scanner.feed(b"".join(self._pending))
            self._pending, self._pending_size = [], 0

    def _new_scanner(self) -> FileScanner:
        first_line = 1 + _newlines(self.path, self.begin)
        return FileScanner(
            self.file,
            self._engine,
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


def _join_facts(before: FileFacts, after: FileFacts, unread: int) -> FileFacts:
    """The facts of a log, a part of which was left out."""
    notes = [*before.notes, *after.notes]
    if unread:
        name = after.file.path.rpartition("/")[2]
        notes.append(
            Text(
                f"{name}: {_amount(unread)} in its middle were not read, for want of time; what "
                "stands behind them is numbered as if they were not there",
                f"{name}：因时间不够，中间 {_amount(unread)} 没有读取；其后的行号未计入这一部分",
            )
        )
    return after._replace(
        events=(*before.events, *after.events),
        progress=(*before.progress, *after.progress),
        stamps=(*before.stamps, *after.stamps),
        echoes=(*before.echoes, *after.echoes),
        environments=(*before.environments, *after.environments),
        notes=tuple(dict.fromkeys(notes)),
    )


def _amount(size: int) -> str:
    return f"{size / (1 << 30):.1f} GB" if size >= 1 << 30 else f"{max(1, size >> 20)} MB"


def _alert_literals(knowledge: Knowledge) -> set[str]:
    literals = set(STRUCTURE)
    for signature in knowledge.signatures.values():
        if signature.role in ALERT_ROLES:
            literals.update(signature.literals)
    return literals


def _newlines(path: str, upto: int) -> int:
    """Lines that older runs left in the file, so that ours are numbered as an editor does."""
    count = 0
    if upto <= 0:
        return 0
    try:
        with open_binary(os.path.realpath(path), buffering=0) as stream:
            while upto > 0 and (chunk := stream.read(min(upto, 1 << 20))):
                count += chunk.count(b"\n")
                upto -= len(chunk)
    except OSError:
        return count
    return count
