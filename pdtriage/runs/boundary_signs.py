"""Places in one file where a run may begin, and how much speaks for each of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise

from pdtriage.model import Event, FileFacts
from pdtriage.runs.process_lives import SURE, restarts, second_imports, starts_after_ends
from pdtriage.runs.process_lives import Sign as _Sign
from pdtriage.support.fast_namedtuple import NamedTuple

NEAR_LINES = 40
SAME_PROCESS = 5.0
"""Seconds between two threads of one process that dies."""
EXACT = ("echo", "process")
"""Signs that tell where a run begins, not only that one has begun; the best first."""
ONCE = ("process", "modules")
"""Signs of which no start gives two."""
CLOCK_BACK = 120.0
"""Seconds; less is two writers' buffers, not a new run."""


class Boundary(NamedTuple):
    offset: int
    line: int
    weight: int
    is_opening: bool = False
    """The file begins anew there with its own first lines."""
    is_recount: bool = False
    """Steps are counted anew there."""
    is_import: bool = False
    """Paddle is imported once more there."""


def boundaries(facts: FileFacts) -> list[Boundary]:
    """Where a new run may begin in a log; signs that stand close together are one place."""
    signs = [*_new_pids(facts), *_restarted_counters(facts), *_clock_back(facts)]
    signs += [(e.line, e.offset, "echo", 3 if e.strength > 1 else 2) for e in restarts(facts)]
    signs += [(e.line, e.offset, "start", 2) for e in later_starts(facts)]
    signs += starts_after_ends(facts)
    # by itself that weighs nothing: children that are spawned import it, too
    signs += [(e.line, e.offset, "import", 0) for e in second_imports(facts)]
    signs += [(e.line, e.offset, "modules", 2) for e in _rounds_of_imports(facts)]
    if not signs:
        return []
    # not where it ends: what follows an exception at once is taken for the rest of its message
    ends = sorted(e.line for e in facts.events if is_terminal(e))
    steps = sorted(p.line for p in facts.progress)
    found: list[Boundary] = []
    group: list[_Sign] = []
    for sign in sorted(signs, key=lambda sign: (sign[:2], sign[2] not in ONCE)):
        twice = sign[2] in ONCE and any(other[2] == sign[2] for other in group)
        if group and (twice or not _is_same_restart(group[-1][0], sign[0], ends, steps)):
            found.append(_boundary(facts, group, _since(found, ends), steps))
            group = []
        group.append(sign)
    if group:
        found.append(_boundary(facts, group, _since(found, ends), steps))
    return [boundary for boundary in found if boundary.offset > 0]


def _since(found: list[Boundary], ends: list[int]) -> list[int]:
    """The ends behind the last boundary that is sure: what ended before it has been counted."""
    sure = [boundary.line for boundary in found if boundary.weight >= SURE]
    return ends[bisect_left(ends, sure[-1]) :] if sure else ends


def _boundary(facts: FileFacts, group: list[_Sign], ends: list[int], steps: list[int]) -> Boundary:
    first = group[0]
    weights = {reason: weight for _, _, reason, weight in group}
    earlier = bisect_left(ends, first[0])
    if earlier and not _any_between(steps, ends[earlier - 1], first[0]):
        anew = "counter" in weights and _is_done_at(facts, ends[earlier - 1])
        weights["end before"] = 2 if anew else 1
    # what a dying process says last, in a thread of its own, may stand above the first line
    exact = {reason: sign for sign in reversed(group) if (reason := sign[2]) in EXACT}
    opening = next((exact[reason] for reason in EXACT if reason in exact), first)
    return Boundary(
        opening[1],
        opening[0],
        sum(weights.values()),
        is_opening="echo" in weights,
        is_recount="counter" in weights,
        is_import="import" in weights,
    )


def _is_done_at(facts: FileFacts, line: int) -> bool:
    """Whether a process says there that its training is done, and does not speak again below.

    One that trains several times, for each fold of its data, says so each time.
    """
    if not any(event.line == line and "training-done" in event.says for event in facts.events):
        return False
    above = {stamp.pid for stamp in facts.stamps if stamp.line <= line}
    below = {stamp.pid for stamp in facts.stamps if stamp.line > line}
    return not (above & below) - {None}


def _is_same_restart(earlier: int, later: int, ends: list[int], steps: list[int]) -> bool:
    """Whether signs in these two lines are of one start: near, and no end or step between."""
    if later - earlier > NEAR_LINES:
        return False
    return not (_any_between(ends, earlier - 1, later) or _any_between(steps, earlier, later))


def _any_between(lines: list[int], low: int, high: int) -> bool:
    """Whether one of these lines, which are in order, stands strictly between the two."""
    after = bisect_right(lines, low)
    return after < len(lines) and lines[after] < high


def is_terminal(event: Event) -> bool:
    if event.role in ("victim", "end"):
        return True
    return event.role in ("cause", "symptom") and (event.block > 0 or event.final)


def later_starts(facts: FileFacts) -> list[Event]:
    """Starts told by events, but for that of the file's first run."""
    return [
        e
        for e in facts.events
        if e.role == "start"
        and e.line > NEAR_LINES // 2
        and not {"process-starts", "imports"} & set(e.says)
    ]


def _new_pids(facts: FileFacts) -> list[_Sign]:
    """A process nobody has heard before, after which the old one is never heard again."""
    stamped = [stamp for stamp in facts.stamps if stamp.pid is not None]
    last_of = {stamp.pid: stamp.line for stamp in stamped}
    seen: set[int | None] = set()
    found: list[_Sign] = []
    for earlier, later in pairwise(stamped):
        seen.add(earlier.pid)
        # glog prints the thread: those of a dying process all speak within the same moment
        apart = abs(later.time - earlier.time) > SAME_PROCESS
        if apart and later.pid not in seen and all(last_of[pid] < later.line for pid in seen):
            found.append((later.line, later.offset, "pid", 1))
    return found


def _rounds_of_imports(facts: FileFacts) -> list[Event]:
    """Where modules warn again as they did when they were imported: Python has them do so once."""
    said: set[str] = set()
    found: list[Event] = []
    for event in facts.events:
        if "imports" in event.says:
            if event.text in said:
                found.append(event)
                said.clear()
            said.add(event.text)
    return found


def _restarted_counters(facts: FileFacts) -> list[_Sign]:
    """Back to the first step of the first epoch: no validation loop does that."""
    reached = [(p.epoch or 0, p.step) for p in facts.progress]
    lowest = min(reached, default=None)
    back = [at for at in range(1, len(reached)) if reached[at - 1] > reached[at] == lowest]
    return [(facts.progress[at].line, facts.progress[at].offset, "counter", 1) for at in back]


def _clock_back(facts: FileFacts) -> list[_Sign]:
    return [
        (later.line, later.offset, "clock", 1)
        for earlier, later in pairwise(facts.stamps)
        if later.time < earlier.time - CLOCK_BACK
    ]
