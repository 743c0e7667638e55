"""Which good run a bad one is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pdtriage.model import Baseline, RunFacts, Text, VerdictWord

BAD: tuple[VerdictWord, ...] = ("failed", "hung", "interrupted", "unknown")


@dataclass(frozen=True, slots=True)
class GoodRun:
    baseline: Baseline
    facts: RunFacts


def earlier_success(
    runs: Sequence[RunFacts], verdicts: Sequence[VerdictWord], chosen: int
) -> GoodRun | None:
    """The last run before the chosen one that went well, where the chosen one did not."""
    if verdicts[chosen] not in BAD:
        return None
    for position in reversed(range(chosen)):
        if verdicts[position] == "succeeded":
            return GoodRun(Baseline(runs[position].run.index), runs[position])
    return None


def last_success(
    runs: Sequence[RunFacts], verdicts: Sequence[VerdictWord], path: str
) -> GoodRun | None:
    """The last run of another job that went well."""
    for facts, verdict in zip(reversed(runs), reversed(verdicts), strict=True):
        if verdict == "succeeded":
            return GoodRun(Baseline(facts.run.index, path), facts)
    return None


def no_success(path: str) -> Text:
    return Text(
        f"--baseline {path}: no run there succeeded; give a run that did",
        f"--baseline {path}：那里没有成功的运行；请指定一次成功的运行",
    )
