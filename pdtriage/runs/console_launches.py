"""Where on a captured console one launch ends and the next begins."""

from __future__ import annotations

from typing import Final

from pdtriage.model import Event, FileFacts, Says
from pdtriage.runs.console_ranks import is_launcher_event
from pdtriage.runs.run_boundaries import Segment, Span

SAME_START = 2.0
"""Seconds: the double loggers of the legacy launcher print a start twice."""
_GENERATIONS: Final[tuple[Says, ...]] = ("paddle-launcher", "legacy-launcher")


def split_console(console: FileFacts) -> list[Segment]:
    """One segment per launch, or per attempt of one that starts its processes again."""
    launches = _Launches()
    for event in console.events:
        launches.take(event)
    begins = [0, *launches.cuts]
    return [(Span(console, b, e),) for b, e in zip(begins, [*launches.cuts, None], strict=True)]


class _Launches:
    """Follows the launchers that wrote to one console, one after the other."""

    def __init__(self) -> None:
        self.cuts: list[int] = []
        self._begin()

    def _begin(self) -> None:
        self._seen: dict[str, Event] = {}
        """The starts it told, by kind."""
        self._generation: Says | None = None
        self._is_over = False
        """It had failed or ended, or could not begin."""
        self._doubtful: Event | None = None
        """What the other launcher prints when it begins, but a script may print as well."""

    def take(self, event: Event) -> None:
        if self._is_of_the_next(event):
            self.cuts.append((self._doubtful_before(event) or event).offset)
            self._begin()
        if is_launcher_event(event) and event is not self._doubtful:
            self._generation = _generation_of(event) or self._generation
            if event.role == "start":
                self._seen[_kind_of(event)] = event
        self._is_over = self._is_over or _ends_launch(event)

    def _is_of_the_next(self, event: Event) -> bool:
        if "launcher-failed" in event.says:  # no launcher that has started anything fails that way
            return any("started" in start.says for start in self._seen.values())
        if event.role != "start" or not is_launcher_event(event):
            return False
        if self._is_by_the_other_launcher(event):
            return True
        if not _is_sure(event):
            return False
        earlier = self._seen.get(_kind_of(event))
        if earlier is not None:
            return not _is_same_start(earlier, event)
        if "opens-launch" in event.says and self._seen:
            return True
        return self._is_over and (not self._has_opened or self._has_started_before(event))

    def _is_by_the_other_launcher(self, event: Event) -> bool:
        """Whether the other launcher begins here; the newer one hands over to the older at once."""
        generation = _generation_of(event)
        if not generation or not self._generation or generation == self._generation:
            return False
        starts = self._seen.values()
        has_started = any("started" in start.says for start in starts)
        if not has_started and any(_is_same_start(start, event) for start in starts):
            return False
        if self._is_over or _is_sure(event):
            return True
        self._doubtful = event
        return False

    def _doubtful_before(self, event: Event) -> Event | None:
        """With what the launcher that speaks now had begun, if that was not the script."""
        begin = self._doubtful
        return begin if begin is not None and _is_same_start(begin, event) else None

    def _has_started_before(self, event: Event) -> bool:
        """Servers and workers are started at once, each told by a line of its own."""
        started = [start for start in self._seen.values() if "started" in start.says]
        return bool(started) and not any(_is_same_start(start, event) for start in started)

    @property
    def _has_opened(self) -> bool:
        """What it tells of its arguments may come late, when it ends."""
        return any("opens-launch" in start.says for start in self._seen.values())


def _is_sure(start: Event) -> bool:
    """Whether only a launcher prints this: a script may print arguments as a launcher does."""
    return "opens-launch" in start.says or "started" in start.says


def _kind_of(start: Event) -> str:
    return f"{start.signature} {start.fields.get('mode', '')}"


def _generation_of(event: Event) -> Says | None:
    return next((each for each in _GENERATIONS if each in event.says), None)


def _ends_launch(event: Event) -> bool:
    """Whether it says that a launch is over, or never began."""
    if event.role not in ("cause", "end") and "failed" not in event.says:
        return False
    return is_launcher_event(event) or event.category == "config.launch"


def _is_same_start(earlier: Event, later: Event) -> bool:
    if earlier.time is not None and later.time is not None:
        return abs(later.time - earlier.time) < SAME_START
    return later.line - earlier.line < 30
