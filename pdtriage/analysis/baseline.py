"""Which good run a bad one is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pdtriage.model import Baseline, RunFacts, Text, VerdictWord
from pdtriage.sources import Source
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.verdict import Judgement

BAD: tuple[VerdictWord, ...] = ("failed", "hung", "interrupted", "unknown")


class GoodRun(NamedTuple):
    baseline: Baseline
    facts: RunFacts
    sources: Mapping[str, Source] | None = None
    """Its logs, where they lie elsewhere than those of the run compared with it."""
    proven: bool = True


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
    runs: Sequence[RunFacts],
    judgements: Sequence[Judgement],
    path: str,
    sources: Mapping[str, Source],
) -> GoodRun | None:
    """The last run of another job that went well; else one in which nothing went wrong.

    Who names a run as the good one may know more than its logs, which often do not tell how a
    process ended.
    """
    judged = list(zip(runs, judgements, strict=True))[::-1]
    well = [facts for facts, judgement in judged if judgement.verdict == "succeeded"]
    quiet = [facts for facts, j in judged if j.verdict == "unknown" and not j.causes]
    for facts in [*well, *quiet][:1]:
        return GoodRun(Baseline(facts.run.index, path), facts, sources, proven=facts in well)
    return None


def unproven(good: GoodRun) -> Text:
    path = good.baseline.path
    return Text(
        f"--baseline {path}: its logs do not say how that run ended; it is taken as a good one.",
        f"--baseline {path}：日志没有说明那次运行如何结束，这里把它当作正常的运行。",
    )


def no_success(path: str) -> Text:
    return Text(
        f"--baseline {path}: no run there succeeded; give a run that did",
        f"--baseline {path}：那里没有成功的运行；请指定一次成功的运行",
    )
