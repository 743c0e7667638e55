"""The report: verdict, root causes, victims, ranks and the timeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pdtriage.model.kinds import Role
from pdtriage.model.logs import CardHistory, Frame
from pdtriage.model.runs import Launcher, Mode, Node, Run, VerdictWord
from pdtriage.model.stacks import Standstill
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Language, Text

Confidence = Literal["proven", "likely", "guess"]
VictimReason = Literal["stopped", "peer", "collateral"]
DifferenceKind = Literal[
    "reached",  # how far it came
    "printed",  # what only this run printed
    "missing",  # what only the good run printed
    "size",
    "hosts",
    "arguments",
    "environment",
    "version",
    "launcher",
    "ranks",  # ranks of this run that were started unlike each other
]
RankStatus = Literal["failed", "victim", "finished", "running", "silent", "unknown"]


class Evidence(NamedTuple):
    """A line that proves something, and where it stands."""

    file: str
    line: int
    offset: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class Cause(NamedTuple):
    """A root cause: where the arrows end."""

    category: str
    signature: str
    title: Text
    role: Role
    rank: int | None
    ranks: tuple[int, ...]
    host: str | None
    local_rank: int | None
    device: str | None
    confidence: Confidence
    why: tuple[Text, ...]
    evidence: tuple[Evidence, ...]
    frame: Frame | None = None
    fields: Mapping[str, str] = {}
    advice: tuple[Text, ...] = ()
    fingerprint: str = ""


class Victim(NamedTuple):
    """Somebody who only suffered from the culprit."""

    rank: int | None
    role: Role
    host: str | None
    reason: VictimReason
    because_of: int | None
    """Rank of the culprit, where it is known."""
    local_rank: int | None = None


class RankRow(NamedTuple):
    """A line of the report's table of ranks."""

    rank: int | None
    role: Role
    host: str | None
    local_rank: int | None
    device: str | None
    files: tuple[str, ...]
    status: RankStatus
    exit_code: int | None = None
    signal: int | None = None
    last_step: int | None = None
    last_seen: float | None = None
    first_seen: float | None = None
    """By its own first event or step with a time."""
    last_progress: float | None = None
    """When it reached `last_step`, where its log tells."""
    progress: tuple[tuple[float, int], ...] = ()
    """A few of its steps: (time, step). A step without a time lies between those around it."""
    moments: tuple[Moment, ...] = ()
    """Its life: start, warnings, errors, signals, exit."""
    pace: tuple[tuple[float, float], ...] = ()
    """Steps per second between two steps whose times its log tells: (time of the later, rate)."""
    losses: tuple[tuple[float | None, int, float | None], ...] = ()
    """Where a step line names its loss: (time, step, loss); no loss where it is not finite."""
    clock_offset: float | None = None
    """Seconds that its host's clock is ahead of the culprit's, where it is known to differ. The
    times of the row are those of its host; what is drawn is set right by it."""


class Moment(NamedTuple):
    """A point of the timeline."""

    t: float | None
    rank: int | None
    kind: str
    """`start`, `warning`, `error`, `symptom`, `signal`, `exit` or `launcher`."""
    text: Text
    role: Role = "worker"
    about: bool = False
    """The time is estimated from the nearest lines with one."""


class Straggler(NamedTuple):
    """Ranks whose steps took longer than those of the others to the end, or until now."""

    ranks: tuple[int, ...]
    """Of workers; several where they are all ranks of one host."""
    host: str | None
    ratio: float
    """Of the usual step."""
    step_seconds: float
    usual_seconds: float
    """The median of the others."""
    steps: int
    """How many it made so slowly."""
    seconds: float
    """How long that took."""
    confidence: Confidence


class Baseline(NamedTuple):
    """The good run that this one was compared with."""

    run: int
    path: str | None = None
    """Where it was found, if not among the runs of this report."""


class Difference(NamedTuple):
    """One way in which this run is unlike the good one, or its ranks unlike each other."""

    kind: DifferenceKind
    text: Text
    before: str | None = None
    after: str | None = None
    place: str | None = None
    """`file:line` of what was printed."""


class JobRow(NamedTuple):
    """What the report says of the job as a whole."""

    id: str | None
    mode: Mode
    launcher: Launcher
    world_size: int | None
    nodes: tuple[Node, ...]


class Attempts(NamedTuple):
    """The attempts of the launch that is reported on, compared."""

    launch: int
    runs: tuple[int, ...]
    """The newest of them, oldest first, by their numbers in `runs` of the report."""
    total: int
    failed: int
    """Of those in `runs`."""
    same_failure: bool | None
    """Whether all of these failed the same way; None where that cannot be told."""
    summary: Text


class Claim(NamedTuple):
    """What is, or would be, said of a run, in short."""

    verdict: VerdictWord
    category: str | None = None
    role: Role = "worker"
    ranks: tuple[int, ...] = ()
    confidence: Confidence | None = None


class OtherRule(NamedTuple):
    """A rule of the verdict that had something to say and did not decide."""

    rule: str
    about: Text
    claim: Claim
    agrees: bool
    """It says the same, however surely."""
    yields_to: str | None = None
    """The rule that decided, where it stands behind that one in the order."""
    reason: Text | None = None
    """Why, where it yields to that one directly and not through others."""


class SetAside(NamedTuple):
    """A line that looks like a cause and did not count, and why."""

    evidence: Evidence
    why: Text


class Change(NamedTuple):
    """What would have been said with less or other evidence."""

    given: Text
    claim: Claim


class VerdictExplanation(NamedTuple):
    """How the verdict on a run came about."""

    rule: str | None
    """The rule that decided; None where no rule found anybody to blame."""
    about: Text
    claim: Claim
    evidence: tuple[Evidence, ...] = ()
    others: tuple[OtherRule, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    changes: tuple[Change, ...] = ()


class Report(NamedTuple):
    """The one object every output format is a view of."""

    verdict: VerdictWord
    language: Language
    job: JobRow
    runs: tuple[Run, ...]
    run: int | None
    root_causes: tuple[Cause, ...]
    victims: tuple[Victim, ...]
    ranks: tuple[RankRow, ...]
    timeline: tuple[Moment, ...]
    redactions: int = 0
    notes: tuple[Text, ...] = ()
    baseline: Baseline | None = None
    differences: tuple[Difference, ...] = ()
    attempts: Attempts | None = None
    """None where the launch was one plain attempt."""
    standstill: Standstill | None = None
    """Where the processes stood, where somebody looked."""
    stragglers: tuple[Straggler, ...] = ()
    """Who was slower than the rest, where the times of steps tell."""
    explanation: VerdictExplanation | None = None
    """Only where somebody asked for it."""
    cards: tuple[CardHistory, ...] = ()
    """Where the launcher wrote `<job>.gpu.log`."""

    def to_json(self) -> dict[str, object]:
        """The report as plain JSON values, schema `pdtriage.report/1`."""
        from pdtriage.model.report_json import as_json  # few want it

        return as_json(self)

    def to_dict(self) -> dict[str, object]:
        """The report as plain values, by the name that notebooks look for."""
        return self.to_json()

    def __repr__(self) -> str:
        from pdtriage.model.notebook import line_of

        return line_of(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from pdtriage.model.notebook import card_of

        return card_of(self)
