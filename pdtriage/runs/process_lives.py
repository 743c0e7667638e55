"""Where in one file a process has ended and the next one speaks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from math import inf

from pdtriage.model import Echo, Event, FileFacts, Progress, Stamp

Sign = tuple[int, int, str, int]
"""Line, offset, what shows that a run begins there, and how much that weighs."""
SURE = 4
"""What alone suffices, also where a side file tells of fewer runs."""
DOUBTFUL = 2
"""What suffices with another sign, unless a side file tells of fewer runs."""
LAST_WORDS = 60.0
"""Seconds in which threads and children of a process that ends may still speak."""
PYTHONS_NAMES = {
    "Segmentation fault": "SIGSEGV",
    "Aborted": "SIGABRT",
    "Bus error": "SIGBUS",
    "Floating point exception": "SIGFPE",
    "Illegal instruction": "SIGILL",
}
"""What faulthandler calls the signals that kill."""
BY_SIGNAL = ("code.crash", "memory.shm")
"""What ends a process by a signal; a line of that may not tell its number."""
IMPORT_ERRORS = ("ImportError", "ModuleNotFoundError")
"""What Python raises where it imports, whatever the reason."""

_Item = Echo | Event | Progress | Stamp


def starts_after_ends(facts: FileFacts) -> list[Sign]:
    """Where a process speaks after another one had ended, or begins like one before it."""
    lives = _Lives({stamp.pid: stamp.offset for stamp in facts.stamps if stamp.pid is not None})
    for item in _in_order(facts):
        lives.take(item)
    return lives.starts


def may_hold_several(facts: FileFacts) -> bool:
    """Whether anything that may be another process stands behind the end of one."""
    ends = [event for event in facts.events if event.ends_at]
    if ends and (min(e.ends_at for e in ends) <= facts.last_offset or _may_begin(facts, ends)):
        return True
    done = False
    for event in facts.events:
        if done and "process-starts" in event.says:
            return True
        done = done or "training-done" in event.says
    return False


def _may_begin(facts: FileFacts, ends: Sequence[Event]) -> bool:
    """Whether a process may have begun in a log of which nothing stands behind an end: what ends
    there made no step, as another one did, or a start is told again."""
    starts = [event for event in _by_themselves(facts) if "process-starts" in event.says]
    if any(_is_uncompiled(end) and end.offset > s.offset for end in ends for s in starts):
        return True
    if not facts.progress:
        return False
    by_signature = {event.signature: event.pid for event in starts}
    if any(event.pid != by_signature[event.signature] for event in starts):
        return True
    first_step = facts.progress[0].offset
    return any(e.offset > first_step for e in starts) or any(map(_may_be_stillborn, ends))


def restarts(facts: FileFacts) -> list[Echo]:
    """Where the file begins anew, but for the words with which an evaluation begins, too: it tells
    its result before the next step, and no process starts in between."""
    if not facts.echoes:
        return []
    steps = [step.line for step in facts.progress]
    results = sorted(e.line for e in facts.events if "evaluated" in e.says)
    starts = sorted(e.line for e in facts.events if e.role == "start" and "imports" not in e.says)
    return [e for e in facts.echoes if not _is_evaluation(e.line, steps, results, starts)]


def _is_evaluation(line: int, steps: list[int], results: list[int], starts: list[int]) -> bool:
    next_step = _first_behind(line, steps)
    result = _first_behind(line, results)
    return bool(steps) and steps[0] < line and result < min(next_step, _first_behind(line, starts))


def _first_behind(line: int, lines: list[int]) -> float:
    at = bisect_left(lines, line)
    return lines[at] if at < len(lines) else inf


def second_imports(facts: FileFacts) -> list[Event]:
    """Where Paddle says once more what it says when it is imported, and made steps before, if the
    log shows any."""
    starts = [e for e in _by_themselves(facts) if "process-starts" in e.says and e.pid is None]
    if not facts.progress:
        first = {event.signature: event.offset for event in reversed(starts)}
        return [event for event in starts if event.offset > first[event.signature]]
    first_step = facts.progress[0].offset
    before = {event.signature for event in starts if event.offset < first_step}
    return [e for e in starts if e.offset > first_step and e.signature in before]


def _in_order(facts: FileFacts) -> Iterator[_Item]:
    events = _by_themselves(facts)
    items: list[_Item] = [*restarts(facts), *events, *facts.progress, *facts.stamps]
    return iter(sorted(items, key=lambda item: (item.offset, _is_plain(item))))


def _by_themselves(facts: FileFacts) -> list[Event]:
    """Events; a start that does not tell its own pid, on a line without a stamp, was given time and
    pid of whoever spoke before."""
    stamped = {stamp.offset for stamp in facts.stamps}
    return [
        event._replace(time=None, pid=None)
        if "process-starts" in event.says
        and event.offset not in stamped
        and "pid" not in event.fields
        else event
        for event in facts.events
    ]


def _is_plain(item: _Item) -> bool:
    return isinstance(item, (Progress, Stamp))


class _Lives:
    """Follows the processes that wrote one file, one after the other."""

    def __init__(self, last_words: Mapping[int, int]) -> None:
        self.starts: list[Sign] = []
        self._last_words = last_words
        """Where every pid is seen last."""
        self._begin()

    def _begin(self, offset: int = -1) -> None:
        self._since = offset
        self._pids: set[int] = set()
        self._newest: Stamp | Event | None = None
        """Where the pid that speaks now was heard first, if that was after the last step."""
        self._end: Event | None = None
        self._has_more_to_say = False
        """Of its end: a long message goes on behind what was recognised as its end."""
        self._opened: dict[str, int] = {}
        """By which pid every start was told."""
        self._reached = (-1, -1)
        self._last: float | None = None
        self._anew: Echo | None = None
        """Where the file begins anew, after the last step."""
        self._imports: dict[str, Event] = {}
        """What was said once more as something is imported, since this process spoke or made a
        step: a program may print much before it says that it starts."""
        self._is_done = False
        """It says that its training is done, and makes no step any more."""

    def take(self, item: _Item) -> None:
        end = self._end
        if end is not None and isinstance(item, Event) and self._is_raised_on(item, end):
            self._end = end._replace(last_line=item.last_line, ends_at=item.ends_at)
        elif end is not None and self._is_next(item, end):
            if isinstance(item, Echo) or self._has_more_to_say:
                self._start(item.line, item.offset)
            else:
                line = (end.last_line or end.line) + 1
                doubtful = _may_be_caught(end, item) or self._may_import_more(end, item)
                self._start(line, end.ends_at, DOUBTFUL if doubtful else SURE)
        elif isinstance(item, Event) and self._is_of_another(item):
            imports = self._imports if "program-starts" in item.says else {}
            first = self._anew or _first_of(imports) or self._first_word(item)
            self._start(first.line, first.offset)
            self._opened.update(dict.fromkeys(imports, -1))
        if not _imports(item):  # which any process may do at any time
            self._learn(item)

    def _start(self, line: int, offset: int, weight: int = SURE) -> None:
        self.starts.append((line, offset, "process", weight))
        self._begin(offset)

    def _is_next(self, item: _Item, end: Event) -> bool:
        """Whether what stands behind the end of a process was written by another one."""
        if isinstance(item, Echo):
            return True
        if item.offset < end.ends_at:
            return False
        if isinstance(item, Progress):
            goes_back = (item.epoch or 0, item.step) < self._reached
            return goes_back or (self._is_sure(end) and not self._speaks_behind(item))
        if isinstance(item, Stamp):
            new = item.pid is not None and item.pid not in self._pids
            return new and self._is_sure(end) and self._is_late(item)
        if item.ends_at:
            return self._is_another_end(item, end)
        if _is_crash_of_another(item, end):
            return True
        if _imports(item):
            return "process-ends" in end.says or end.category != "code.import"
        if "process-starts" not in item.says:
            return False
        # a container counts its processes from 1 again
        return item.pid is None or item.pid not in self._pids or self._is_late(item)

    def _is_raised_on(self, item: Event, end: Event) -> bool:
        """Whether a logger had printed an exception that is raised on, right above: another process
        would have told of its own start, and of its steps, before it came as far as that."""
        lived = bool(self._opened) or self._reached >= (0, 0)
        is_next = 0 < item.first_line - end.last_line <= 2
        return lived and is_next and bool(item.ends_at) and item.text == end.text

    def _may_import_more(self, end: Event, item: _Item) -> bool:
        """Whether the same process may import something below what looks like its end."""
        return _imports(item) and not self._is_sure(end)

    def _speaks_behind(self, step: Progress) -> bool:
        """Whether this process counts on and speaks later: what ended was a child of it."""
        return any(self._last_words.get(pid, -1) > step.offset for pid in self._pids)

    def _is_another_end(self, item: Event, end: Event) -> bool:
        """A process raises to its main program once, unless that tries again what it needs before
        the first step; a signal may hit it on its way out, and it raises nothing after that."""
        if "signal" not in item.fields:
            if "signal" in end.fields and end.pid in self._pids:
                return True
            tries = self._opened and self._reached < (0, 0)
            return not tries or self._ends_before_it_opens(item)
        known = self._pids | ({end.pid} if end.pid is not None else set())
        if not known or item.pid in known:
            return False
        return self._is_late(item)

    def _is_late(self, item: Stamp | Event) -> bool:
        """Whether a line is too late for any thread or child of the process that ended."""
        return (
            item.time is not None and self._last is not None and item.time > self._last + LAST_WORDS
        )

    def _is_of_another(self, item: Event) -> bool:
        """Whether it tells of a process that begins, while no end of the one before it is seen."""
        return self._is_again(item) or self._is_stillborn(item) or self._is_after_all(item)

    def _is_after_all(self, item: Event) -> bool:
        """Whether a process starts where the one before it had done what it had to do."""
        new = "process-starts" in item.says and (item.pid is None or item.pid not in self._pids)
        return self._is_done and new

    def _is_again(self, item: Event) -> bool:
        """Whether it says of another process what only its own start makes a process say."""
        if "process-starts" not in item.says:
            return False
        if item.pid is None:
            return "program-starts" in item.says and item.signature in self._opened
        if item.pid in self._pids and self._first_word(item) is item:
            return False
        return self._opened.get(item.signature, item.pid) != item.pid

    def _first_word(self, item: Event) -> Event | Stamp:
        """The first line of whoever says this, where it has said more and nobody else since."""
        newest = self._newest
        if newest is None or newest.pid != item.pid or _is_uncompiled(item):
            return item
        return newest

    def _is_stillborn(self, item: Event) -> bool:
        """Whether a program ended before it did anything, while the process here has made steps, or
        at least began: a main program that cannot be compiled does not even do that."""
        if not item.ends_at:
            return False
        if self._reached >= (0, 0):
            return _may_be_stillborn(item)
        return bool(self._opened) and _is_uncompiled(item)

    def _ends_before_it_opens(self, item: Event) -> bool:
        """Whether a process may end so before it has said what this one said when it began."""
        return self._is_sure(item) or item.category == "code.import" or _is_uncompiled(item)

    def _is_sure(self, end: Event) -> bool:
        """Whether no handler can have printed it: the main program could not even be compiled."""
        uncompiled = end.frame is not None and not end.frame.function
        return "process-ends" in end.says or uncompiled

    def _learn(self, item: _Item) -> None:
        if isinstance(item, Echo):
            self._anew = item if item.offset > self._since else None
            return
        if item.time is not None:
            self._last = item.time
        if isinstance(item, Progress):
            self._reached = max(self._reached, (item.epoch or 0, item.step))
            self._end, self._anew = None, None  # it was caught: training goes on
            self._is_done, self._newest = False, None
            self._imports.clear()
        elif isinstance(item, Stamp):
            self._learn_speaker(item)
        elif "training-done" in item.says:
            self._is_done = True
        elif item.ends_at:
            if self._is_child(item):
                self._has_more_to_say = True  # it says how its child ended
            else:
                self._end, self._has_more_to_say = item, False
        elif "process-starts" not in item.says:
            behind = self._end is not None and item.offset >= self._end.ends_at
            of_another = item.pid is not None and item.pid not in self._pids
            is_last = "pid" in item.fields or "shuts-down" in item.says
            if behind and (is_last or not of_another):
                self._has_more_to_say = True
        else:
            self._learn_start(item)

    def _learn_speaker(self, stamp: Stamp) -> None:
        if stamp.pid in self._pids:
            self._imports.clear()
        if stamp.pid is not None and self._end is None:
            self._hear(stamp, stamp.pid)

    def _learn_start(self, start: Event) -> None:
        if start.pid is None and start.signature in self._opened:
            self._imports[start.signature] = start
        self._opened.setdefault(start.signature, -1 if start.pid is None else start.pid)
        if start.pid is not None:
            self._hear(start, start.pid)

    def _hear(self, item: Stamp | Event, pid: int) -> None:
        if pid not in self._pids:
            self._newest = item
        elif self._newest is not None and self._newest.pid != pid:
            self._newest = None
        self._pids.add(pid)

    def _is_child(self, end: Event) -> bool:
        """A signal that hit a process which this one had started: the number is a later one."""
        if "signal" not in end.fields or end.pid is None or not self._pids:
            return False
        return end.pid not in self._pids and end.pid > min(self._pids)


def _first_of(imports: Mapping[str, Event]) -> Event | None:
    return min(imports.values(), key=lambda event: event.offset, default=None)


def _imports(item: _Item) -> bool:
    return isinstance(item, Event) and "imports" in item.says


def _may_be_stillborn(end: Event) -> bool:
    """Whether it may have ended a process before that did anything."""
    if "signal" in end.fields:
        return False
    if end.category in BY_SIGNAL:  # of this process, or of a child that it waited for
        return False
    raised = end.category == "code.import" or end.text.startswith(IMPORT_ERRORS)
    imports = raised and end.frame and end.frame.function == "<module>"
    return "process-ends" in end.says or bool(imports) or _is_uncompiled(end)


def _may_be_caught(end: Event, item: _Item) -> bool:
    """Whether it may have tried to import what it can do without, said so and gone on."""
    optional = end.category == "code.import" and "process-ends" not in end.says
    return optional and item.line > (end.last_line or end.line) + 1


def _is_crash_of_another(item: Event, end: Event) -> bool:
    """Whether Python tells of a deadly signal where another kind of them had killed the process."""
    before = end.fields.get("signal", "")
    later = PYTHONS_NAMES.get(item.fields.get("signal", ""))
    return later is not None and before in PYTHONS_NAMES.values() and later != before


def _is_uncompiled(end: Event) -> bool:
    """Whether it is what Python says of a main program with a mistake: no traceback is above it."""
    above = len(end.before) - (end.line - end.first_line)
    named = end.frame is not None and not end.frame.function and end.first_line > 0 <= above
    return named and end.before[above].lstrip().startswith("File ")
