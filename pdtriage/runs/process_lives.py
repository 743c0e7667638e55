"""Where in one file a process has ended and the next one speaks."""

from __future__ import annotations

from collections.abc import Iterator

from pdtriage.model import Echo, Event, FileFacts, Progress, Stamp

Sign = tuple[int, int, str, int]
"""Line, offset, what shows that a run begins there, and how much that weighs."""
SURE = 4
"""What alone suffices, also where a side file tells of fewer runs."""
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

_Item = Echo | Event | Progress | Stamp


def starts_after_ends(facts: FileFacts) -> list[Sign]:
    """Where a process speaks after another one had ended, or begins like one before it."""
    lives = _Lives()
    for item in _in_order(facts):
        lives.take(item)
    return lives.starts


def may_hold_several(facts: FileFacts) -> bool:
    """Whether anything that may be another process stands behind the end of one."""
    ends = [event.ends_at for event in facts.events if event.ends_at]
    if ends and (min(ends) <= facts.last_offset or facts.progress):
        return True
    done = False
    for event in facts.events:
        if done and "process-starts" in event.says:
            return True
        done = done or "training-done" in event.says
    return False


def second_imports(facts: FileFacts) -> list[Event]:
    """Where Paddle says once more what it says when it is imported, and made steps before."""
    first_step = facts.progress[0].offset if facts.progress else facts.bytes
    starts = [e for e in _by_themselves(facts) if "process-starts" in e.says and e.pid is None]
    before = {event.signature for event in starts if event.offset < first_step}
    return [e for e in starts if e.offset > first_step and e.signature in before]


def _in_order(facts: FileFacts) -> Iterator[_Item]:
    events = _by_themselves(facts)
    items: list[_Item] = [*facts.echoes, *events, *facts.progress, *facts.stamps]
    return iter(sorted(items, key=lambda item: (item.offset, _is_plain(item))))


def _by_themselves(facts: FileFacts) -> list[Event]:
    """Events; a start on a line without a stamp was given time and pid of whoever spoke before."""
    stamped = {stamp.offset for stamp in facts.stamps}
    return [
        event._replace(time=None, pid=None)
        if "process-starts" in event.says and event.offset not in stamped
        else event
        for event in facts.events
    ]


def _is_plain(item: _Item) -> bool:
    return isinstance(item, (Progress, Stamp))


class _Lives:
    """Follows the processes that wrote one file, one after the other."""

    def __init__(self) -> None:
        self.starts: list[Sign] = []
        self._begin()

    def _begin(self) -> None:
        self._pids: set[int] = set()
        self._end: Event | None = None
        self._has_more_to_say = False
        """Of its end: a long message goes on behind what was recognised as its end."""
        self._opened: dict[str, int] = {}
        """By which pid every start was told."""
        self._reached = (-1, -1)
        self._last: float | None = None
        self._anew: Echo | None = None
        """Where the file begins anew, after the last step."""
        self._is_done = False
        """It says that its training is done, and makes no step any more."""

    def take(self, item: _Item) -> None:
        end = self._end
        if end is not None and self._is_next(item, end):
            if isinstance(item, Echo) or self._has_more_to_say:
                self._start(item.line, item.offset)
            else:
                self._start((end.last_line or end.line) + 1, end.ends_at)
        elif isinstance(item, Event) and self._is_of_another(item):
            first = self._anew or item
            self._start(first.line, first.offset)
        self._learn(item)

    def _start(self, line: int, offset: int) -> None:
        self.starts.append((line, offset, "process", SURE))
        self._begin()

    def _is_next(self, item: _Item, end: Event) -> bool:
        """Whether what stands behind the end of a process was written by another one."""
        if isinstance(item, Echo):
            return True
        if item.offset < end.ends_at:
            return False
        if isinstance(item, Progress):
            return self._is_sure(end) or (item.epoch or 0, item.step) < self._reached
        if isinstance(item, Stamp):
            new = item.pid is not None and item.pid not in self._pids
            return new and self._is_sure(end) and self._is_late(item)
        if item.ends_at:
            return self._is_another_end(item, end)
        if _is_crash_of_another(item, end):
            return True
        return "process-starts" in item.says and (item.pid is None or item.pid not in self._pids)

    def _is_another_end(self, item: Event, end: Event) -> bool:
        """A process raises to its main program once; a signal may hit it on its way out."""
        if "signal" not in item.fields:
            return True
        known = self._pids | ({end.pid} if end.pid is not None else set())
        if not known or item.pid in known:
            return False
        return self._is_late(item)

    def _is_late(self, item: Stamp | Event) -> bool:
        """So late that no thread or child of the process that ended can have written it."""
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
        if "process-starts" not in item.says or item.pid is None or item.pid in self._pids:
            return False
        return self._opened.get(item.signature, item.pid) != item.pid

    def _is_stillborn(self, item: Event) -> bool:
        """Whether it ended a process before that did anything, while this one has made steps."""
        if not item.ends_at or "signal" in item.fields or self._reached < (0, 0):
            return False
        frame = item.frame
        imports = item.category == "code.import" and frame and frame.function == "<module>"
        return "process-ends" in item.says or bool(imports) or _is_uncompiled(item)

    def _is_sure(self, end: Event) -> bool:
        """Whether no handler can have printed it: the main program could not even be compiled."""
        uncompiled = end.frame is not None and not end.frame.function
        return "process-ends" in end.says or uncompiled

    def _learn(self, item: _Item) -> None:
        if isinstance(item, Echo):
            self._anew = item
            return
        if item.time is not None:
            self._last = item.time
        if isinstance(item, Progress):
            self._reached = max(self._reached, (item.epoch or 0, item.step))
            self._end, self._anew = None, None  # it was caught: training goes on
            self._is_done = False
        elif isinstance(item, Stamp):
            if item.pid is not None and self._end is None:
                self._pids.add(item.pid)
        elif "training-done" in item.says:
            self._is_done = True
        elif item.ends_at:
            if not self._is_child(item):
                self._end, self._has_more_to_say = item, False
        elif "process-starts" not in item.says:
            behind = self._end is not None and item.offset >= self._end.ends_at
            if behind and (item.pid is None or item.pid in self._pids):
                self._has_more_to_say = True
        else:
            self._opened.setdefault(item.signature, -1 if item.pid is None else item.pid)
            self._pids |= set() if item.pid is None else {item.pid}

    def _is_child(self, end: Event) -> bool:
        """A signal that hit a process which this one had started: the number is a later one."""
        if "signal" not in end.fields or end.pid is None or not self._pids:
            return False
        return end.pid not in self._pids and end.pid > min(self._pids)


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
