"""Who may be the root cause, with the evidence for it; the strongest suspect first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pdtriage.model import Frame, Rank, Text
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.rank_reading import Observation, RankReading

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class More(TypedDict, total=False):
        """Fields of `Suspect` that a rule knows besides."""

        certain: bool
        accusers: tuple[int, ...]
        position: tuple[int, int]
        last_words: tuple[Rank, ...]
        role: str
        host: str | None
        fields: Mapping[str, str]
        first_to_fail: bool
        told: str
        frame: Frame | None
        named: tuple[int, ...]


CONSEQUENCES = ("comm.timeout", "comm.peer", "comm.init", "comm.backend", "external.kill")
"""Categories that often only follow from another rank's failure."""
LAUNCHER_CATEGORIES = ("config.launch", "elastic")
NEVER = 1 << 30
SIGKILL = 9
SIGTERM = 15


class Suspect(NamedTuple):
    """One process, or the launcher, and what speaks against it.

    Rules make them whole, by the functions below; what other evidence adds to one that is made
    (`because`, `supported_by`, `explained_by`, `with_named`) gives another one.
    """

    signature: str
    category: str
    rank: Rank | None = None
    """None for the launcher, or for a peer that is known by its address only."""
    found: Observation | None = None
    """Its own words; None for a silent one."""
    support: tuple[Observation, ...] = ()
    """Lines of others that speak of it."""
    why: tuple[Text, ...] = ()
    certain: bool = False
    accusers: tuple[int, ...] = ()
    position: tuple[int, int] = (-1, -1)
    """Epoch and step of its last progress."""
    last_words: tuple[Rank, ...] = ()
    """Ranks whose last line is evidence: where a log without an error stops."""
    role: str = "worker"
    host: str | None = None
    fields: Mapping[str, str] = {}
    first_to_fail: bool = False
    """Its parent saw nobody fail before it."""
    told: str = ""
    """How sure `pdtriage run` was, where the words are known from its report alone."""
    frame: Frame | None = None
    """Where a stack shows it, while it stood still."""
    named: tuple[int, ...] = ()
    """Whom the launcher names, where a console does not tell whose words it shows."""

    def because(self, *why: Text, certain: bool | None = None) -> Suspect:
        """The suspect with more reasons."""
        certain = self.certain if certain is None else certain
        return self._replace(why=(*self.why, *why), certain=certain)

    def supported_by(self, *lines: Observation) -> Suspect:
        """The suspect with lines of others before those that speak of it already."""
        return self._replace(support=(*lines, *self.support))

    def supported_last_by(self, line: Observation) -> Suspect:
        """The suspect with a line that says less than the others."""
        return self._replace(support=(*self.support, line))

    def explained_by(self, signature: str, category: str, *lines: Observation) -> Suspect:
        """The same process as suspect of another failure, which these lines tell of."""
        return self.supported_by(*lines)._replace(signature=signature, category=category)

    def explained_by_line(self, found: Observation) -> Suspect:
        """The suspect's process, whose own words only follow from what this line tells."""
        own = [self.found] if self.found else []
        known = self.explained_by(found.signature.id, found.category, *own)
        return known._replace(found=found, fields=dict(found.event.fields))

    def with_named(self, ranks: tuple[int, ...]) -> Suspect:
        """The suspect with the ranks that the launcher names."""
        return self._replace(named=ranks)

    @property
    def is_consequence(self) -> bool:
        """Perhaps: where somebody else failed for a reason of its own, this follows from it."""
        general = bool(self.found and self.found.signature.generic)
        return self.category in CONSEQUENCES or (general and self.category == "code.crash")

    @property
    def is_clear(self) -> bool:
        """Whether a suspect says what went wrong in words of that failure alone."""
        return bool(self.found and not self.found.signature.generic)

    @property
    def is_launchers(self) -> bool:
        """What a console shows of it is the launcher's own failure, no process's."""
        found = self.found
        if found is None:
            return False
        launching = self.category in LAUNCHER_CATEGORIES or found.says("launcher-failed")
        shown = found.says("by-launcher") or "console" in found.file or self.rank is None
        return launching and shown

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
        """Whether a rank lived until its parent stopped it."""
        ending = self.rank.exit if self.rank else None
        return bool(ending and ending.stopped and ending.order is not None)

    @property
    def was_stopped(self) -> bool:
        """Whether its parent stopped it, or the signal that launchers stop processes with."""
        ending = self.rank.exit if self.rank else None
        return bool(ending and (ending.stopped or ending.signal == SIGTERM))

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


def silent_suspect(
    signature: str,
    category: str,
    rank: Rank | None,
    support: Iterable[Observation],
    *why: Text,
    **more: Unpack[More],
) -> Suspect:
    """One that says nothing itself; `support` are the lines of others about it."""
    known: dict[str, Any] = {}
    if rank is not None:
        known = {"last_words": (rank,), "role": rank.role, "host": rank.host}
    known |= more
    return Suspect(signature, category, rank, support=(*support,), why=why, **known)


def launcher_suspect(
    signature: str,
    category: str,
    support: Iterable[Observation],
    *why: Text,
    **more: Unpack[More],
) -> Suspect:
    """The launcher, or whoever called it."""
    more.setdefault("role", "launcher")
    return silent_suspect(signature, category, None, support, *why, **more)


def speaking_suspect(
    found: Observation,
    rank: Rank | None,
    support: Iterable[Observation],
    *why: Text,
    category: str | None = None,
    **more: Unpack[More],
) -> Suspect:
    """One judged by a single line: of its own log, or what others print about it."""
    known: dict[str, Any] = {"fields": dict(found.event.fields)}
    if rank is not None:
        known |= {"role": rank.role, "host": rank.host}
    known |= more
    signature = found.event.signature
    category = found.category if category is None else category
    return Suspect(signature, category, rank, found, (*support,), why, **known)


def own_suspects(evidence: RunEvidence) -> list[Suspect]:
    """Ranks whose own log holds a cause, without what a console shows after Ctrl-C."""
    stopped_at = {
        f.file: f.event.line for f in reversed(evidence.launcher) if f.says("launcher-stopped")
    }
    suspects = [
        by_own_words(
            primary,
            reading,
            [*reading.causes[1:3], *reading.inner[:2], *_near(primary, reading)],
            evidence,
        )
        for reading in evidence.readings
        if (primary := reading.primary) is not None
        and primary.event.line <= stopped_at.get(primary.file, NEVER)
    ]
    return sorted(suspects, key=Suspect.strength)


def strong_suspects(evidence: RunEvidence) -> list[Suspect]:
    """Ranks whose own cause does not usually follow from another rank's failure."""
    return [suspect for suspect in own_suspects(evidence) if not suspect.is_consequence]


def by_own_words(
    found: Observation,
    reading: RankReading,
    support: Iterable[Observation],
    evidence: RunEvidence,
    *why: Text,
) -> Suspect:
    """A rank judged by a line of its own log."""
    accusers = evidence.accusers.get(reading.rank.key, ())
    return speaking_suspect(
        found, reading.rank, support, *why, accusers=accusers, position=reading.position
    )


def by_hint(
    reading: RankReading,
    support: Iterable[Observation] = (),
    *why: Text,
    accusers: tuple[int, ...] = (),
) -> Suspect:
    """A rank that says what broke it and not why: that came earlier, and is not in its log."""
    first, *others = reading.inner
    return speaking_suspect(
        first,
        reading.rank,
        [*others[:2], *support],
        *why,
        accusers=accusers,
        position=reading.position,
        last_words=(reading.rank,),
    )


def _near(primary: Observation, reading: RankReading) -> list[Observation]:
    """What followed from the cause or hinted at it: lines people look for in a report."""

    def distance(found: Observation) -> int:
        return abs(found.event.line - primary.event.line)

    followed = [f for f in reading.explained if f.file == primary.file]
    hinted = [f for f in reading.context if f.category == primary.category]
    return sorted(followed, key=distance)[:2] + sorted(hinted, key=distance)[:1]
