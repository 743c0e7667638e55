"""Who may be the root cause, with the evidence for it; the strongest suspect first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pdtriage.model import Rank, Text
from pdtriage.verdict import wording
from pdtriage.verdict.accusations import Accusation
from pdtriage.verdict.rank_reading import Observation, RankReading

CONSEQUENCES = ("comm.timeout", "comm.peer", "comm.init", "comm.backend", "external.kill")
"""Categories that often only follow from another rank's failure."""
Accusers = Mapping[tuple[str, int, int, str], tuple[int, ...]]
"""By the key of a rank those who name it."""
NEVER = 1 << 30
SIGKILL = 9
PREPARED_STEPS = 32
"""A DataLoader has no more batches than this in its queue when its reader dies."""


class Suspect:
    """One process and what speaks against it."""

    def __init__(
        self, signature: str, category: str, rank: Rank | None, support: list[Observation]
    ) -> None:
        self.signature = signature
        self.category = category
        self.rank = rank
        """None for the launcher, or for a peer that is known by its address only."""
        self.support = support
        """Lines of others that speak of it."""
        self.found: Observation | None = None
        """Its own words; None for a silent one."""
        self.accusers: tuple[int, ...] = ()
        self.why: list[Text] = []
        self.certain = False
        self.role: str = rank.role if rank else "worker"
        self.host = rank.host if rank else None
        self.fields: dict[str, str] = {}
        self.position = (-1, -1)
        self.last_words: tuple[Rank, ...] = ()
        """Ranks whose last line is evidence: where a log without an error stops."""
        self.first_to_fail = False
        """Its parent saw nobody fail before it."""
        self.named: tuple[int, ...] = ()
        """Whom the launcher names, where a console does not tell whose words it shows."""

    @property
    def is_consequence(self) -> bool:
        general = bool(self.found and self.found.signature.generic)
        return self.category in CONSEQUENCES or (general and self.category == "code.crash")

    @property
    def order(self) -> int:
        ending = self.rank.exit if self.rank else None
        return ending.order if ending and ending.order is not None else NEVER

    @property
    def was_killed(self) -> bool:
        ending = self.rank.exit if self.rank else None
        return bool(ending and ending.signal == SIGKILL)

    @property
    def stopped_by_launcher(self) -> bool:
        """It lived until its parent stopped it."""
        ending = self.rank.exit if self.rank else None
        return bool(ending and ending.stopped and ending.order is not None)

    @property
    def named_by_launcher(self) -> bool:
        ending = self.rank.exit if self.rank else None
        return bool(ending and ending.seen_by == "console" and not ending.stopped)

    def strength(self) -> tuple[object, ...]:
        """Sort key, the most likely culprit first. Clocks come last and only break ties."""
        found = self.found.event if self.found else None
        return (
            self.is_consequence,
            self.order,
            -len(self.accusers),
            not self.named_by_launcher,
            self.position,
            found.time if found and found.time is not None else float("inf"),
            self.rank.key if self.rank else ("", -1, -1, ""),
        )


def own_suspects(readings: Sequence[RankReading], accusers: Accusers) -> list[Suspect]:
    """Ranks whose own log holds a cause."""
    suspects = []
    for reading in readings:
        primary = reading.primary
        if primary is not None:
            support = [*reading.causes[1:3], *reading.inner[:2], *_near(primary, reading)]
            suspects.append(_by_own_words(primary, reading, support, accusers))
    return sorted(suspects, key=Suspect.strength)


def _by_own_words(
    found: Observation, reading: RankReading, support: list[Observation], accusers: Accusers
) -> Suspect:
    suspect = Suspect(found.event.signature, found.category, reading.rank, support)
    suspect.found, suspect.position = found, reading.position
    suspect.accusers = accusers.get(reading.rank.key, ())
    suspect.fields = dict(found.event.fields)
    return suspect


def _near(primary: Observation, reading: RankReading) -> list[Observation]:
    """What followed from the cause or hinted at it: lines people look for in a report."""

    def distance(found: Observation) -> int:
        return abs(found.event.line - primary.event.line)

    followed = [f for f in reading.explained if f.file == primary.file]
    hinted = [f for f in reading.context if f.category == primary.category]
    return sorted(followed, key=distance)[:2] + sorted(hinted, key=distance)[:1]


def revived_suspects(
    readings: Sequence[RankReading], accusations: Sequence[Accusation], accusers: Accusers
) -> list[Suspect]:
    """Ranks that went on for a few steps after an error and then stopped for good.

    A reader thread that died leaves its queue behind: the steps it had prepared are still made.
    """
    went_on = [reading for reading in readings if reading.survived]
    if not went_on:
        return []
    named = {rank.key for accusation in accusations for rank in accusation.accused}
    suspects = []
    for reading in went_on:
        steps = [f for f in reading.survived if not _went_on(f, reading)]
        wanted = reading.rank.key in named if named else True
        if not steps or reading.symptoms or reading.causes or not wanted:
            continue
        first = min(steps, key=lambda f: (f.signature.generic, f.event.line))
        support = [f for f in steps if f is not first][:2]
        suspect = _by_own_words(first, reading, support, accusers)
        suspect.why.append(wording.went_on(_steps_after(first, reading)))
        suspects.append(suspect)
    return sorted(suspects, key=Suspect.strength)


def _went_on(found: Observation, reading: RankReading) -> bool:
    """More steps came after the error than a queue can hold; steps are sampled, lines are not."""
    end = max(found.event.last_line, found.event.last_seen, found.event.line)
    lines = reading.rank.progress[-1].line - end if reading.rank.progress else 0
    return lines > 2 * PREPARED_STEPS or _steps_after(found, reading) > PREPARED_STEPS


def _steps_after(found: Observation, reading: RankReading) -> int:
    return sum(step.line > found.event.line for step in reading.rank.progress)


def accusers_of(accusations: Iterable[Accusation]) -> Accusers:
    """By the key of the accused: the ranks that name it alone."""
    found: dict[tuple[str, int, int, str], set[int]] = {}
    for accusation in accusations:
        if len(accusation.accused) == 1 and accusation.accuser.rank.rank is not None:
            key = accusation.accused[0].key
            found.setdefault(key, set()).add(accusation.accuser.rank.rank)
    return {key: tuple(sorted(ranks)) for key, ranks in found.items()}


def fold_equal(suspects: Sequence[Suspect], shape: dict[int, str]) -> list[list[Suspect]]:
    """Suspects with the same cause together, groups in the order of their strongest member."""
    groups: dict[str, list[Suspect]] = {}
    for suspect in suspects:
        groups.setdefault(shape[id(suspect)], []).append(suspect)
    return list(groups.values())


def suspect_of(
    signature: str, category: str, rank: Rank | None, support: list[Observation]
) -> Suspect:
    """One that says nothing itself; `support` are the lines of others about it."""
    suspect = Suspect(signature, category, rank, support)
    suspect.last_words = (rank,) if rank else ()
    return suspect
