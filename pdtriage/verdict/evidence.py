"""What is known of one run, put side by side for those who look for the culprit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pdtriage.knowledge import Signature
from pdtriage.model import RunFacts
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.verdict.accusations import Accusation
from pdtriage.verdict.rank_reading import SAYS_FAILED, Observation, RankReading
from pdtriage.verdict.silent_suspects import others_are_missing
from pdtriage.verdict.suspects import NEVER, Accusers, Suspect, own_suspects

OWN_VERDICT = "launch.own-verdict"
OWN_HEADLINE = "launch.own-headline"

NAMES_ONE = frozenset(
    {
        "launch.crashed-by",
        "launch.killed-by",
        "launch.mpi-first-exit",
        "launch.spawn-crashed",
        "launch.spawn-exit",
        "launch.spawn-killed",
        "launch.srun-bus-error",
        "launch.srun-crashed",
        "launch.srun-exit",
        "launch.srun-memory",
    }
)


class RunEvidence(NamedTuple):
    """Everything there is to know of one run."""

    facts: RunFacts
    readings: Sequence[RankReading]
    accusations: Sequence[Accusation]
    accusers: Accusers
    launcher: Sequence[Observation]
    kernel: Sequence[Observation]
    cluster: Sequence[Observation] = ()
    """What Kubernetes says of the pods."""
    signatures: Mapping[str, Signature] = {}

    @property
    def own(self) -> list[Suspect]:
        """Ranks with a cause of their own, without what a console shows after Ctrl-C."""
        stops = {
            f.file: f.event.line
            for f in reversed(self.launcher)
            if f.event.signature == "launch.signal"
        }
        return [
            suspect
            for suspect in own_suspects(self.readings, self.accusers)
            if not (
                suspect.found and suspect.found.event.line > stops.get(suspect.found.file, NEVER)
            )
        ]

    @property
    def interrupted(self) -> bool:
        return any(f.event.signature == "launch.signal" for f in self.launcher)

    @property
    def says_failed(self) -> list[Observation]:
        return [
            f
            for f in self.launcher
            if f.event.signature in SAYS_FAILED
            or (f.event.signature == "launch.exit-code" and f.event.fields["exit_code"] != "0")
        ]

    @property
    def is_one_process(self) -> bool:
        """By the word of the launcher, or of what it set; often nothing says how many there are."""
        started = {f.event.fields.get("replicas", "") for f in self.launcher} - {""}
        return self.facts.world_size == 1 and started <= {"1"}

    @property
    def named(self) -> tuple[int, ...]:
        """The ranks that the launcher found dead first, by its own word."""
        aborted = [f.event.fields for f in self.launcher if f.event.signature == "launch.abort"]
        found = {int(n) for fields in aborted for n in re.findall(r"\d+", fields.get("ranks", ""))}
        for one in self.launcher:
            told = one.event.fields.get("rank", "")
            if not found and one.event.signature in NAMES_ONE and told.isdecimal():
                return (int(told),)
        return tuple(sorted(found))

    @property
    def went_well(self) -> bool:
        if self.facts.ended_by_cluster is not None:
            return self.facts.ended_by_cluster == "completed"
        if self.facts.ended_by_record is not None:
            return self.facts.ended_by_record == "completed"
        if self.says_failed:  # "Local processes completed" is printed after ABORT!!! too
            return False
        ends = ("launch.completed", "launch.exit-code")
        if any(f.event.signature in ends for f in self.launcher):
            return True
        spoken = [r for r in self.readings if r.rank.lines]
        well = [bool(r.ended or (r.rank.exit and r.rank.exit.code == 0)) for r in spoken]
        if not spoken or all(well):
            return bool(spoken)
        said = all(done or r.says_finished for done, r in zip(well, spoken, strict=True))
        return said and not others_are_missing(self.readings)
