"""How much attention one file gets: a log that screams must not cost more than a silent one.

The first lines that look like anything are all read. After that a line is read only while one of
its literals is still new to the file; the others are counted. What stands at the end of a file is
always read, because that is where jobs die.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter

from pdtriage.model import LogFile, Text
from pdtriage.scan.detect import STRUCTURE, Hit
from pdtriage.scan.lines import Lines
from pdtriage.support.fast_namedtuple import NamedTuple

FREE_LINES = 4_000
"""Candidate lines of a file that are read whatever they say."""
PER_LITERAL = 8
"""How often a literal is read for its own sake when those are spent."""
REACH = 1 << 13
"""Then a block is read only if something new stands this near below its header."""
NAMED = 3
HEADERS = len(STRUCTURE)
"""The literals before this place are headers of blocks."""

_literal = itemgetter(1)


class Selection(NamedTuple):
    """What is to be read of a piece."""

    lines: list[list[Hit]]
    """The hits of each line, in the order of the file."""
    openings: list[Hit]
    """Headers of blocks."""


class Budget:
    """What is left of a file's share, and what went unread."""

    __slots__ = ("enough", "lines", "read", "unread")

    def __init__(self) -> None:
        self.lines = 0
        self.read: dict[int, int] = {}  # how many lines were read because of each literal
        self.enough: set[int] = set()  # those that were read `PER_LITERAL` times
        self.unread: dict[int, int] = {}  # how often each stands where nothing was read

    def copy(self) -> Budget:
        other = Budget()
        other.lines, other.read = self.lines, self.read.copy()
        other.enough, other.unread = self.enough.copy(), self.unread.copy()
        return other

    def spend(self, hits: Sequence[Hit], lines: Lines, always_from: int) -> Selection:
        """Choose among hits in rising order; from `always_from` on everything is worth it."""
        groups: list[list[Hit]] = []
        taken = 0
        for at in self._worth_a_look(hits, always_from):
            position, literal = hits[at]
            if at < taken or (position < always_from and self._has_enough_of(literal)):
                continue
            start, end = lines.start_of(position), lines.end_of(position)
            first = at
            while first > taken and hits[first - 1][0] >= start:
                first -= 1
            taken = at
            while taken < len(hits) and hits[taken][0] <= end:
                taken += 1
            groups.append(list(hits[first:taken]))
            self.lines += 1
            for literal in {literal for _, literal in groups[-1]}:
                self.read[literal] = self.read.get(literal, 0) + 1
                if self.read[literal] >= PER_LITERAL:
                    self.enough.add(literal)
        self._count_unread(hits, groups)
        return Selection(groups, self._openings(hits, groups))

    def _worth_a_look(self, hits: Sequence[Hit], always_from: int) -> Sequence[int]:
        """Places in `hits`; those of literals that were read often enough are left out at once."""
        if self.lines < FREE_LINES:
            return range(len(hits))
        enough = self.enough
        return [
            place
            for place, (position, literal) in enumerate(hits)
            if literal not in enough or position >= always_from
        ]

    def _count_unread(self, hits: Sequence[Hit], groups: Sequence[Sequence[Hit]]) -> None:
        """All hits but those that are read: two lists that are counted in C."""
        if sum(map(len, groups)) < len(hits):
            counted = Counter(self.unread)
            counted.update(map(_literal, hits))
            counted.subtract(map(_literal, chain.from_iterable(groups)))
            self.unread = +counted  # without those of which nothing is left

    def _has_enough_of(self, literal: int) -> bool:
        return self.lines >= FREE_LINES and literal in self.enough

    def _openings(self, hits: Sequence[Hit], groups: list[list[Hit]]) -> list[Hit]:
        structural = [hit for hit in hits if hit[1] < HEADERS]
        if self.lines < FREE_LINES:
            return structural
        wanted = [group[0][0] for group in groups]
        return [hit for hit in structural if _any_within(wanted, hit[0] - REACH // 8, REACH)]


def _any_within(positions: list[int], begin: int, length: int) -> bool:
    place = bisect(positions, begin)
    return place < len(positions) and positions[place] < begin + length


def unread_note(budget: Budget, literals: Sequence[str], file: LogFile) -> tuple[Text, ...]:
    if not budget.unread:
        return ()
    counted = Counter(budget.unread)
    total = counted.total()
    words = ", ".join(repr(literals[it].strip("\0")) for it, _ in counted.most_common(NAMED))
    return (
        Text(
            en=f"{file.path}: {total} more places resemble what was read before and were only "
            f"counted, most often {words}",
            zh=f"{file.path}：另有 {total} 处与已读内容相似，只计数、未逐行分析，最多的是 {words}",
        ),
    )
