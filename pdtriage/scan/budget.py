"""How much attention one file gets: a log that screams must not cost more than a silent one.

The first lines that look like anything are all read. After that a line is read only while one of
its literals is still new to the file; the others are counted. What stands at the end of a file is
always read, because that is where jobs die.
"""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

from pdtriage.model import LogFile, Text
from pdtriage.scan.detect import STRUCTURE, Hit, hit_at, literals_in, position_of
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
        literals = literals_in(hits)
        always = bisect_left(hits, hit_at(always_from))
        groups: list[list[Hit]] = []
        taken = 0
        for at in self._worth_a_look(literals, always):
            if at < taken or (at < always and self._has_enough_of(literals[at])):
                continue
            position = position_of(hits[at])
            start, end = hit_at(lines.start_of(position)), hit_at(lines.end_of(position) + 1)
            first = at
            while first > taken and hits[first - 1] >= start:
                first -= 1
            taken = at
            while taken < len(hits) and hits[taken] < end:
                taken += 1
            groups.append(list(hits[first:taken]))
            self.lines += 1
            for literal in set(literals[first:taken]):
                self.read[literal] = self.read.get(literal, 0) + 1
                if self.read[literal] >= PER_LITERAL:
                    self.enough.add(literal)
        if sum(map(len, groups)) < len(hits):
            self._count_unread(literals, groups)
        return Selection(groups, self._openings(hits, literals, groups))

    def _worth_a_look(self, literals: Sequence[int], always: int) -> Iterable[int]:
        """Places in the list; those of literals that were read often enough are left out at once,
        but for those from the place `always` on."""
        if self.lines < FREE_LINES:
            return range(len(literals))
        enough, behind = self.enough, range(always, len(literals))
        if enough.issuperset(literals):  # as nearly always in a log that screams
            return behind
        before = [at for at, literal in enumerate(literals[:always]) if literal not in enough]
        return chain(before, behind)

    def _count_unread(self, literals: Sequence[int], groups: Sequence[Sequence[Hit]]) -> None:
        """All hits but those that are read: two lists that are counted in C."""
        counted = Counter(self.unread)
        counted.update(literals)
        if groups:
            counted.subtract(literals_in([*chain.from_iterable(groups)]))
            counted = +counted  # without those of which nothing is left
        self.unread = counted

    def _has_enough_of(self, literal: int) -> bool:
        return self.lines >= FREE_LINES and literal in self.enough

    def _openings(
        self, hits: Sequence[Hit], literals: Sequence[int], groups: Sequence[Sequence[Hit]]
    ) -> list[Hit]:
        is_spent = self.lines >= FREE_LINES
        if is_spent and not groups:
            return []
        structural = [hits[at] for at, literal in enumerate(literals) if literal < HEADERS]
        if not is_spent:
            return structural
        wanted = [position_of(group[0]) for group in groups]
        return [
            hit for hit in structural if _any_within(wanted, position_of(hit) - REACH // 8, REACH)
        ]


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
