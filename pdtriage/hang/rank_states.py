"""What each rank does just now, as far as its log and the kernel tell. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Literal

from pdtriage.hang.stack_groups import STOPPED, call_site_of, waits_for_data
from pdtriage.model.stacks import ProcessStack
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

RankState = Literal[
    "training",
    "starting",  # no step yet
    "loading",  # waits for its loader workers, which are at work
    "waiting",  # for other ranks
    "evaluating",
    "disk",  # waits for a device
    "silent",
    "stopped",  # by a signal
    "ended",
]
STATE_WORDS: Mapping[RankState, Text] = {
    "training": Text("training", "训练中"),
    "starting": Text("starting", "启动中"),
    "loading": Text("loading data", "加载数据"),
    "waiting": Text("waiting", "等待中"),
    "evaluating": Text("evaluating", "评估中"),
    "disk": Text("waiting for disk", "等待磁盘"),
    "silent": Text("silent", "无输出"),
    "stopped": Text("stopped", "已暂停"),
    "ended": Text("ended", "已结束"),
}
OF_USUAL = 4.0
"""So many times its usual step a rank that trains may need for one."""
LEAST = 10.0
BUSY, IDLE = 0.5, 0.2
"""Shares of a core."""
NEAR = (3, 10, 30, 100)
"""Steps between ranks that count as equally far: logs are not all read at the same moment, and not
all ranks begin at the same one."""
SAME_PACE = 0.8
"""Of the usual rate of steps."""
WINDOW = 60.0
"""Seconds over which a rate is measured."""


SOMEHOW = "?"
"""How a process ended that was not started here."""


class RankLook(NamedTuple):
    """One rank at one moment; what is not known is None or empty."""

    name: str
    number: int | None = None
    role: str = "worker"
    position: tuple[int, int] | None = None
    """Epoch and step."""
    quiet: float = 0.0
    """Seconds since its last line."""
    evaluating: bool = False
    """The last it wrote of its progress is of an evaluation."""
    kernel_state: str = ""
    memory: int = 0
    cpu: float | None = None
    """Share of a core it used since the look before."""
    helpers_cpu: float | None = None
    """Of its loader workers together."""
    ended: str = ""
    """How, where it has."""
    stack: ProcessStack | None = None
    """Taken while the job stood still, and still does."""


class RankLine(NamedTuple):
    """One rank as people see it, or several that do the same."""

    name: str
    numbers: tuple[int, ...]
    position: tuple[int, int] | None
    rate: float | None
    """Steps a second."""
    memory: int
    """Of the one that has most."""
    quiet: float
    state: RankState
    detail: str = ""
    """Where it waits, how it ended."""
    several: bool = False


class RankHistory:
    """Learns each rank's rate of steps from one look after the other."""

    def __init__(self) -> None:
        self._steps: dict[str, list[tuple[float, int]]] = {}
        self._last: dict[str, tuple[int, int]] = {}

    def lines(self, now: float, looks: Sequence[RankLook]) -> list[RankLine]:
        """The slowest first: by position, then by what they do, then by their number."""
        for look in looks:
            self._learn(now, look)
        alive = [look for look in looks if look.position and not look.ended]
        least = min((look.position for look in alive if look.position), default=None)
        moving = [look.position for look in alive if look.position and self._moves(now, look.name)]
        found = [self._line(now, look, least, max(moving, default=None)) for look in looks]
        return sorted(found, key=_slowest_first)

    def rate(self, name: str, now: float) -> float | None:
        steps = self._steps.get(name, [])
        if len(steps) < 2:
            return None
        (began, first), (_, last) = steps[0], steps[-1]
        return (last - first) / max(now - began, 1.0)

    def _learn(self, now: float, look: RankLook) -> None:
        if look.position is None:
            return
        steps = self._steps.setdefault(look.name, [])
        before = self._last.get(look.name)
        if before == look.position:
            return
        self._last[look.name] = look.position
        made = 1
        if before is not None and before[0] == look.position[0]:
            made = max(1, look.position[1] - before[1])
        total = steps[-1][1] + made if steps else 0
        steps.append((now, total))
        while len(steps) > 2 and now - steps[1][0] > WINDOW:
            steps.pop(0)

    def _moves(self, now: float, name: str) -> bool:
        """Whether its last step is no longer ago than a few of its own."""
        steps = self._steps.get(name, [])
        if not steps:
            return False
        usual = (steps[-1][0] - steps[0][0]) / (len(steps) - 1) if len(steps) > 1 else 0.0
        return now - steps[-1][0] <= max(LEAST, OF_USUAL * usual)

    def _line(
        self,
        now: float,
        look: RankLook,
        least: tuple[int, int] | None,
        furthest: tuple[int, int] | None,
    ) -> RankLine:
        """`least` is where the last of all ranks is, `furthest` the first of those that move."""
        rate = self.rate(look.name, now)
        ahead = look.position is not None and least is not None and look.position > least
        if furthest is not None and look.position is not None and look.position < furthest:
            ahead = False  # others went on from there: it does not wait for whoever is behind
        state, detail = _state_of(look, self._moves(now, look.name), ahead=ahead)
        numbers = () if look.number is None else (look.number,)
        return RankLine(
            look.name, numbers, look.position, rate, look.memory, look.quiet, state, detail
        )


def fold_lines(lines: Sequence[RankLine], most: int) -> list[RankLine]:
    """One line for all that are equal, where there are more lines than `most`: ranks that train
    at one pace, and are about equally far, as near as it takes."""
    found = list(lines)
    for near in NEAR:
        if len(found) <= most:
            break
        found = _folded(lines, near)
    return found


def _folded(lines: Sequence[RankLine], near: int) -> list[RankLine]:
    moving = [line for line in lines if line.position and line.state == "training"]
    usual = median_low([line.position for line in moving if line.position] or [(0, 0)])
    pace = median_low([line.rate or 0.0 for line in moving] or [0.0])
    groups: dict[tuple[object, ...], list[RankLine]] = {}
    for line in lines:
        role = line.name.partition(" ")[0]
        alike = line in moving and (line.rate or 0.0) >= SAME_PACE * pace
        at = None if alike and _is_near(line.position, usual, near) else line.position
        groups.setdefault((role, line.state, line.detail, at), []).append(line)
    return [_join(group) for group in groups.values()]


def _is_near(position: tuple[int, int] | None, usual: tuple[int, int], near: int) -> bool:
    return position is not None and position[0] == usual[0] and abs(position[1] - usual[1]) <= near


def _join(group: Sequence[RankLine]) -> RankLine:
    if len(group) == 1:
        return group[0]
    numbers = tuple(sorted(number for line in group for number in line.numbers))
    rates = [line.rate for line in group if line.rate is not None]
    return group[0]._replace(
        numbers=numbers,
        rate=min(rates, default=None),
        memory=max(line.memory for line in group),
        quiet=max(line.quiet for line in group),
        several=True,
    )


def _state_of(look: RankLook, moves: bool, *, ahead: bool) -> tuple[RankState, str]:
    """`ahead` of somebody who does not come."""
    if look.ended:
        return "ended", "" if look.ended == SOMEHOW else look.ended
    if look.kernel_state in STOPPED:
        return "stopped", ""
    if moves and not look.evaluating:
        return "training", ""
    if look.stack is not None and (known := _by_stack(look.stack)) is not None:
        return known
    if look.evaluating:
        return "evaluating", ""
    if look.kernel_state == "D":
        return "disk", ""
    if (look.helpers_cpu or 0.0) >= BUSY and look.cpu is not None and look.cpu < IDLE:
        return "loading", ""
    if look.position is None:
        return "starting", ""
    return ("waiting" if ahead else "silent"), ""


def _by_stack(stack: ProcessStack) -> tuple[RankState, str] | None:
    place = call_site_of(stack)
    if place.collective:
        return "waiting", place.doing
    if waits_for_data(stack):
        return "loading", ""
    return ("silent", place.doing) if place.doing else None


def _slowest_first(line: RankLine) -> tuple[object, ...]:
    known = line.position is not None
    rate = line.rate if line.rate is not None else float("inf")
    waits = line.state == "waiting"  # for one that is as far
    return (
        line.state == "ended",
        not known,
        line.position or (0, 0),
        waits,
        round(rate, 1),
        line.numbers,
    )
