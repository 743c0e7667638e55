"""How a verdict came about: the rule that decided, those that yielded, what would change it.

What would change it is found by trying: the run is judged again without a piece of its evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pdtriage.knowledge import Knowledge
from pdtriage.model import (
    BY_RAS,
    Change,
    Claim,
    Event,
    Evidence,
    OtherRule,
    Rank,
    RunFacts,
    SetAside,
    Text,
    VerdictExplanation,
)
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.judgement import Judgement, judge, judge_and_weigh, judgement_on
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.rules import RULES
from pdtriage.verdict.rules.rule import Rule

MOST_ASIDE = 6
MOST_LINES = 4
"""Lines of evidence that are left out one after the other."""
Without = Callable[[str, Event], bool]

BY_CLUSTER = Text("Kubernetes says that its pods completed", "Kubernetes 表明其 pod 均已完成")
BY_RECORD = Text("the run record says that it completed", "运行记录表明它已完成")
BY_CONSOLE = Text("the launcher says that it completed", "启动器表明它已完成")
BY_RANKS = Text("all ranks say or show that they finished", "所有 rank 都表明自己已完成")
WENT_ON_AFTER = Text("the process went on after it", "此后进程仍在继续")
FOLLOWS_IN_RANK = Text(
    "it follows from another event of the same rank", "它由同一 rank 的另一事件引起"
)
WITHOUT_RECORD = Text(
    "without the run record (who ended when, and how)", "没有运行记录（谁在何时如何结束）"
)
WITHOUT_CONSOLE = Text("without the launcher's console", "没有启动器的控制台输出")
WITHOUT_KERNEL = Text("without the kernel's log", "没有内核日志")
WITHOUT_RAS = Text("without what NCCL's RAS answered", "没有 NCCL RAS 的回答")
WITHOUT_CLUSTER = Text("without what Kubernetes says", "没有 Kubernetes 提供的信息")
WITHOUT_OTHERS = Text("without what the other ranks say went wrong", "没有其他 rank 的报错")


def explain_verdict(facts: RunFacts, knowledge: Knowledge) -> VerdictExplanation:
    """Why the run is judged as it is."""
    judgement, counted = judge_and_weigh(facts, knowledge)
    evidence = RunEvidence(counted, knowledge)
    spoken = [
        _Answer(rule, judgement_on(suspects, evidence))
        for rule in RULES
        if rule.needs(evidence) and (suspects := rule.find(evidence))
    ]
    aside = _set_aside(evidence, judgement)
    changes = tuple(_changes(counted, knowledge, judgement, [found for found, _ in aside]))
    shown = tuple(SetAside(_line(found), why) for found, why in aside)
    if not spoken:
        about = nobody_blamed(_good_word(evidence))
        return VerdictExplanation(None, about, _claim(judgement), set_aside=shown, changes=changes)
    first, *others = spoken
    return VerdictExplanation(
        first.rule.name,
        first.rule.about,
        _claim(judgement),
        judgement.causes[0].evidence if judgement.causes else (),
        tuple(_other(answer, first) for answer in others),
        shown,
        changes,
    )


class _Answer(NamedTuple):
    rule: Rule
    judgement: Judgement


def _other(answer: _Answer, first: _Answer) -> OtherRule:
    rule = answer.rule
    claim = _claim(answer.judgement)
    decided = first.rule.name
    return OtherRule(
        rule.name,
        rule.about,
        claim,
        claim._replace(confidence=None) == _claim(first.judgement)._replace(confidence=None),
        decided if _yields(rule.name, decided) else None,
        rule.yields_to.get(decided),
    )


def _yields(name: str, goal: str) -> bool:
    """Whether a rule yields to another, by itself or through those it yields to."""
    rules = {rule.name: rule for rule in RULES}
    return any(other == goal or _yields(other, goal) for other in rules[name].yields_to)


def _claim(judgement: Judgement) -> Claim:
    if not judgement.causes:
        return Claim(judgement.verdict)
    cause = judgement.causes[0]
    return Claim(judgement.verdict, cause.category, cause.role, cause.ranks, cause.confidence)


def _good_word(evidence: RunEvidence) -> Text | None:
    """Who says that the run went well, if anybody does."""
    if not evidence.went_well:
        return None
    facts = evidence.facts
    if facts.ended_by_cluster is not None:
        return BY_CLUSTER
    if facts.ended_by_record is not None:
        return BY_RECORD
    if any(found.says("completed") for found in evidence.launcher):
        return BY_CONSOLE
    return BY_RANKS


def _set_aside(evidence: RunEvidence, judgement: Judgement) -> list[tuple[Observation, Text]]:
    """Lines that look like causes and are none, with the reason."""
    shown = {(line.file, line.line) for cause in judgement.causes for line in cause.evidence}
    kept: dict[tuple[str, int], tuple[Observation, Text]] = {}
    for reading in evidence.readings:
        for found, why in _reasons(reading):
            if found.event.role == "cause" and found.where not in shown:
                kept.setdefault(found.where, (found, why))
    return list(kept.values())[:MOST_ASIDE]


def _reasons(reading: RankReading) -> Iterator[tuple[Observation, Text]]:
    yield from ((found, WENT_ON_AFTER) for found in (*reading.outlived, *reading.survived))
    yield from ((found, FOLLOWS_IN_RANK) for found in reading.explained)


def _changes(
    facts: RunFacts,
    knowledge: Knowledge,
    judgement: Judgement,
    aside: Sequence[Observation],
) -> Iterator[Change]:
    """Answers that differ from the one given, each with what it would take."""
    as_it_is = _claim(judgement)
    for given, less in _alternatives(facts, judgement, aside):
        if less == facts:
            continue
        claim = _claim(judge(less, knowledge))
        if claim != as_it_is:
            yield Change(given, claim)


def _alternatives(
    facts: RunFacts, judgement: Judgement, aside: Sequence[Observation]
) -> Iterator[tuple[Text, RunFacts]]:
    for line in judgement.causes[0].evidence[:MOST_LINES] if judgement.causes else ():
        less = _without_events(facts, _is_at(line, facts))
        yield without_line(line), _without_last_words(less, line)
    yield WITHOUT_RECORD, _without_record(facts)
    yield WITHOUT_CONSOLE, _without_console(facts)
    by_ras = tuple([said for said in facts.kernel if not BY_RAS.isdisjoint(said[1].says)])
    by_kernel = tuple([said for said in facts.kernel if BY_RAS.isdisjoint(said[1].says)])
    yield WITHOUT_KERNEL, facts._replace(kernel=by_ras)
    yield WITHOUT_RAS, facts._replace(kernel=by_kernel)
    yield WITHOUT_CLUSTER, facts._replace(cluster=(), ended_by_cluster=None)
    blamed = {rank for cause in judgement.causes for rank in cause.ranks}
    yield WITHOUT_OTHERS, _without_others(facts, blamed)
    for found in aside[:MOST_LINES]:
        yield had_it_ended(_line(found)), _cut_behind(facts, found)


def _is_at(line: Evidence, facts: RunFacts) -> Without:
    """Whether an event was printed in one go with this line."""
    blocks = {
        event.block
        for rank in facts.ranks
        for file, event in rank.events
        if (file, event.line) == (line.file, line.line) and event.block
    }
    return lambda file, event: (
        file == line.file and (event.line == line.line or event.block in blocks)
    )


def _without_events(facts: RunFacts, is_left_out: Without) -> RunFacts:
    def rest_of(events: Sequence[tuple[str, Event]]) -> tuple[tuple[str, Event], ...]:
        return tuple([(file, event) for file, event in events if not is_left_out(file, event)])

    return facts._replace(
        ranks=tuple([rank._replace(events=rest_of(rank.events)) for rank in facts.ranks]),
        launcher=rest_of(facts.launcher),
        kernel=rest_of(facts.kernel),
        cluster=rest_of(facts.cluster),
    )


def _without_last_words(facts: RunFacts, line: Evidence) -> RunFacts:
    """The facts without the last lines of a log, so that none is read as its end."""
    return facts._replace(
        ranks=tuple(
            [
                rank._replace(tail=(), last_lines=(), up_to_last_step=())
                if line.file in rank.files and rank.last_line == line.line
                else rank
                for rank in facts.ranks
            ]
        )
    )


def _without_record(facts: RunFacts) -> RunFacts:
    """The facts as if nobody had watched the processes."""
    return facts._replace(
        ranks=_without_exits(facts.ranks, "parent"),
        launcher_pids=frozenset(),
        ended_by_record=None,
        vanished=(),
        unanswered=(),
        stops=(),
        running=False,
        live=None,
    )


def _without_console(facts: RunFacts) -> RunFacts:
    return facts._replace(launcher=(), ranks=_without_exits(facts.ranks, "console"))


def _without_exits(ranks: Sequence[Rank], seen_by: str) -> tuple[Rank, ...]:
    return tuple(
        [
            rank._replace(exit=None) if rank.exit and rank.exit.seen_by == seen_by else rank
            for rank in ranks
        ]
    )


def _without_others(facts: RunFacts, blamed: set[int]) -> RunFacts:
    """The facts as if nobody but the culprit had said anything of trouble."""
    ranks = [
        rank if rank.rank in blamed else rank._replace(events=_harmless(rank))
        for rank in facts.ranks
    ]
    return facts._replace(ranks=tuple(ranks)) if blamed else facts


def _harmless(rank: Rank) -> tuple[tuple[str, Event], ...]:
    bad = ("cause", "symptom", "victim")
    return tuple([(file, event) for file, event in rank.events if event.role not in bad])


def _cut_behind(facts: RunFacts, found: Observation) -> RunFacts:
    """The facts as if the log that holds a line had ended there."""
    end = max(found.event.last_line, found.event.last_seen, found.event.line)
    return facts._replace(ranks=tuple([_cut(rank, found.file, end) for rank in facts.ranks]))


def _cut(rank: Rank, file: str, end: int) -> Rank:
    if file not in rank.files:
        return rank
    return rank._replace(
        events=tuple([(f, event) for f, event in rank.events if f != file or event.line <= end]),
        progress=tuple([step for step in rank.progress if step.line <= end]),
        ordinary=(),
        tail=(),
        last_line=min(rank.last_line, end),
    )


def _line(found: Observation) -> Evidence:
    event = found.event
    return Evidence(found.file, event.line, event.offset, event.text)


def nobody_blamed(good: Text | None) -> Text:
    en, zh = "no rule found anybody to blame", "没有规则找到应负责的进程"
    return Text(f"{en}; {good.en}", f"{zh}；{good.zh}") if good else Text(en, zh)


def without_line(line: Evidence) -> Text:
    place = _position(line)
    return Text(f"without {place}", f"没有 {place}")


def had_it_ended(line: Evidence) -> Text:
    place = _position(line)
    return Text(f"had the log ended with {place}", f"假如日志到 {place} 为止")


def _position(line: Evidence) -> str:
    return f"{line.file}:{line.line}"
