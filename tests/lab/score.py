"""Compares answers with the truth, and counts with 95 % intervals by every dimension."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Any

import pdtriage

from .draw import Job
from .loggers import MUTE
from .truth import Truth

SURE = ("proven", "likely")
Claims = dict[str, bool]


@dataclass(frozen=True)
class Answer:
    """What matters of a report."""

    verdict: str
    category: str | None = None
    rank: int | None = None
    ranks: tuple[int, ...] = ()
    """All ranks of the first cause."""
    named: tuple[int, ...] = ()
    """All ranks of trainers that any cause names."""
    confidence: str | None = None
    runs: int = 1
    role: str = "worker"
    problem: str = ""

    def __str__(self) -> str:
        blamed = f"{self.category} {self.role} {self.rank} {list(self.ranks)} ({self.confidence})"
        blamed += f" and {list(self.named)}" if self.named != self.ranks else ""
        return f"{self.verdict}: {blamed if self.category else 'no cause'}{self.problem}"


@dataclass(frozen=True)
class Result:
    """One case: the job, what is true, what was said about it, and which claims hold."""

    job: Job
    truth: Truth
    kept: Answer
    whole: Answer | None = None
    live: Answer | None = None
    exit_code: int | None = None
    claims: Claims = field(default_factory=dict)
    live_claims: Claims = field(default_factory=dict)


def answer_of(folder: Path) -> Answer:
    """What `analyze` says of a folder. A traceback is an answer, too: a wrong one."""
    try:
        return from_report(pdtriage.analyze(folder).to_json())
    except Exception as problem:
        return Answer("crashed", problem=f" {type(problem).__name__}: {problem}")


def from_report(report: dict[str, Any]) -> Answer:
    causes = report.get("root_causes") or []
    if not causes:
        return Answer(report["verdict"], runs=len(report["runs"]))
    top = causes[0]
    return Answer(
        report["verdict"],
        top["category"],
        top.get("rank"),
        tuple(top.get("ranks") or ([] if top.get("rank") is None else [top["rank"]])),
        _ranks(causes),
        top.get("confidence"),
        len(report["runs"]),
        "worker" if top.get("role") in ("trainer", None) else top["role"],
    )


def judged(truth: Truth, answer: Answer, job: Job) -> Claims:
    """Which claims hold; what cannot be known only counts where too much is claimed."""
    claims = _judged_quiet(truth, answer) if truth.is_quiet else _judged(truth, answer, job)
    if truth.runs > 1 and job.kept in ("folder", "both", "gz"):
        claims["runs"] = answer.runs == truth.runs
    return claims


def _judged(truth: Truth, answer: Answer, job: Job) -> Claims:
    fault = job.the_fault
    claims: Claims = {}
    right_verdict = answer.verdict in truth.verdicts
    if truth.tells_verdict:
        claims["verdict"] = right_verdict
    right_category = answer.category in truth.categories
    right_rank = answer.rank in truth.ranks and set(answer.ranks) <= set(truth.ranks)
    right_rank = right_rank and answer.role == truth.role
    may_name_nobody = not truth.tells_rank or (fault is not None and fault.may_name_nobody)
    if may_name_nobody and answer.rank is None:
        right_rank = True
    if not truth.ranks:
        # Nobody is to blame; whoever is named with the right word is named as the one it hit.
        right_rank = right_category or not answer.ranks
    if truth.tells_category:
        claims["category"] = right_category
    if truth.tells_rank and truth.ranks:
        claims["rank"] = right_rank
    sure = answer.confidence in SURE
    if (truth.ranks or not right_category) and (truth.tells_rank or sure):
        claims["victim spared"] = not set(answer.named) & set(truth.victims)
    if not (truth.tells_rank and truth.tells_category):
        claims["no overclaim"] = not sure or (right_rank and right_category)
    if answer.confidence:
        claims[answer.confidence] = right_rank and right_category
    return claims


def _judged_quiet(truth: Truth, answer: Answer) -> Claims:
    calm = answer.category is None and answer.verdict not in ("failed", "hung", "interrupted")
    claims = {"no alarm": calm and answer.verdict != "crashed"}
    if not truth.tells_category:
        claims = {"no overclaim": calm or answer.confidence != "proven"}
    if truth.tells_verdict:
        claims["verdict"] = answer.verdict in truth.verdicts
    if answer.confidence and (truth.tells_category or answer.confidence == "proven"):
        claims[answer.confidence] = False
    return claims


def _ranks(causes: list[dict[str, Any]]) -> tuple[int, ...]:
    named = {
        rank
        for cause in causes
        if cause.get("role") in ("worker", "trainer", None)
        for rank in (*(cause.get("ranks") or ()), cause.get("rank"))
        if rank is not None
    }
    return tuple(sorted(named))


def agree(one: Answer, other: Answer) -> bool:
    """Whether two reports say the same of verdict, rank and category.

    Of an error that many ranks show, a node may show another one first.
    """
    if (one.verdict, one.category, one.role) != (other.verdict, other.category, other.role):
        return False
    return one.rank == other.rank or one.rank in other.ranks or other.rank in one.ranks


def interval(right: int, total: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    if not total:
        return 0.0, 1.0
    z, share = 1.96, right / total
    middle = share + z * z / (2 * total)
    spread = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    below = 1 + z * z / total
    return max(0.0, (middle - spread) / below), min(1.0, (middle + spread) / below)


DIMENSIONS: dict[str, Callable[[Job], object]] = {
    "launcher": lambda job: job.launcher,
    "ranks": lambda job: job.ranks,
    "kind": lambda job: job.kind,
    "family": lambda job: job.the_fault.family if job.the_fault else job.kind,
    "fault": lambda job: job.fault or job.kind,
    "moment": lambda job: job.moment,
    "logger": lambda job: job.logger,
    "mute": lambda job: job.logger in MUTE,
    "victims": lambda job: job.victims,
    "kept": lambda job: job.kept,
    "communication": lambda job: job.communication,
    "workers": lambda job: job.workers,
    "noise": lambda job: len(job.noises),
    "nodes": lambda job: f"{job.nodes}{'' if job.kept_node is None else ', one kept'}",
    "earlier runs": lambda job: len(job.earlier),
    "restarts": lambda job: job.restarts or "none",
    "servers": lambda job: job.servers,
}
CLAIMS = ("verdict", "rank", "category", "victim spared", "no overclaim", "no alarm", "runs")
CONFIDENCES = ("proven", "likely", "guess")
RUN_CLAIMS = ("live and later agree", "exit code", "nothing left behind")


def table(results: list[Result]) -> str:
    """The scores as Markdown."""
    later = [result.claims for result in results]
    live = [result.live_claims for result in results if result.live_claims]
    lines = [f"{len(results)} jobs", "", "| claim | analyze | live report |", "|---|---|---|"]
    for claim in (*CLAIMS, *RUN_CLAIMS):
        lines.append(f"| {claim} | {_share(later, claim)} | {_share(live, claim)} |")
    lines += ["", "| confidence | right in analyze | right live |", "|---|---|---|"]
    for claim in CONFIDENCES:
        lines.append(f"| {claim} | {_share(later, claim)} | {_share(live, claim)} |")
    for name, value_of in DIMENSIONS.items():
        lines += ["", f"| {name} | jobs | verdict | rank | category |", "|---|---|---|---|---|"]
        groups: dict[str, list[Claims]] = defaultdict(list)
        for result in results:
            groups[str(value_of(result.job))].append(result.claims)
        for value, claims in sorted(groups.items()):
            shares = " | ".join(_share(claims, claim) for claim in CLAIMS[:3])
            lines.append(f"| {value} | {len(claims)} | {shares} |")
    return "\n".join(lines)


def misses(results: Iterable[Result]) -> list[str]:
    """One line for every case in which something is wrong."""
    lines = []
    for result in results:
        wrong = [claim for claim, right in result.claims.items() if not right]
        wrong += [f"live {claim}" for claim, right in result.live_claims.items() if not right]
        if wrong:
            lines.append(told(result, wrong))
    return lines


def told(result: Result, wrong: list[str]) -> str:
    job, truth = result.job, result.truth
    what = f"{job.fault or job.kind} at {job.moment} of {job.role} {list(job.culprits)}"
    knows = "".join(
        letter if known else "-"
        for letter, known in zip(
            "vrc", (truth.tells_verdict, truth.tells_rank, truth.tells_category), strict=True
        )
    )
    said = f"said {result.kept}"
    if result.live:
        said += f"; live {result.live}; exit {result.exit_code}"
    return (
        f"{job.name} [{', '.join(wrong)}] {job.launcher}×{job.ranks} {job.logger} {job.victims} "
        f"kept {job.kept} ({knows}): {what}; true {'/'.join(truth.verdicts)} "
        f"{'/'.join(truth.categories)}; {said}"
    )


def _share(claims: list[Claims], claim: str) -> str:
    counted = [one[claim] for one in claims if claim in one]
    if not counted:
        return "–"
    right, total = sum(counted), len(counted)
    low, high = interval(right, total)
    return f"{right}/{total} = {100 * right / total:.1f} % ({100 * low:.0f}–{100 * high:.0f})"
