"""Given two rules that name different suspects, then the one that declares so yields."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from pdtriage.analysis.pipeline import job_at
from pdtriage.model import LANGUAGES, Text
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.rules import RULES, suspects_of
from pdtriage.verdict.rules.rule import Rule, in_order, no_success
from pdtriage.verdict.suspects import Suspect

from ...scan.builders import engine
from .stories import STORIES

BY_NAME = {rule.name: rule for rule in RULES}
EDGES = {(rule.name, other) for rule in RULES for other in rule.yields_to}
SCENARIOS = sorted((Path(__file__).parents[2] / "fixtures").glob("*/*/label.json"))

each_story = pytest.mark.parametrize(
    "edge", STORIES, ids=[f"{one} yields to {other}" for one, other in STORIES]
)


def test_every_edge_has_a_story() -> None:
    assert set(STORIES) == EDGES


def test_edges_lead_to_rules_and_say_why() -> None:
    assert len(BY_NAME) == len(RULES)
    assert {other for _, other in EDGES} <= BY_NAME.keys()
    assert all(all(reason) for rule in RULES for reason in rule.yields_to.values())


def test_every_rule_is_in_the_documentation() -> None:
    docs = Path(__file__).parents[3] / "docs"
    for language in LANGUAGES:
        path = docs / "verdict.md" if language == "en" else docs / language / "verdict.md"
        page = path.read_text(encoding="utf-8")
        rows = [f"| `{rule.name}` | {rule.about.in_(language)} |" for rule in RULES]
        assert "\n".join(rows) in page


def test_rules_make_suspects_whole() -> None:
    """What other evidence adds to one has a name, and is a method of `Suspect`."""
    rules = Path(__file__).parents[3] / "pdtriage" / "verdict" / "rules"
    assert [path.name for path in rules.glob("*.py") if "._replace(" in path.read_text()] == []


@each_story
def test_without_the_edge_another_one_would_be_blamed(edge: tuple[str, str]) -> None:
    yielding, other = edge
    evidence = evidence_of(edge)
    first, second = BY_NAME[other].find(evidence), BY_NAME[yielding].find(evidence)
    deciding = next(rule for rule in RULES if rule.needs(evidence) and rule.find(evidence))
    assert deciding.name == other
    assert names(first) != names(second)
    assert names(suspects_of(evidence, without(edge))) == names(second)


@each_story
def test_no_tie_is_broken_by_name_in_a_story(edge: tuple[str, str]) -> None:
    assert not disagreeing_with_the_first(evidence_of(edge))


@pytest.mark.parametrize("label", SCENARIOS, ids=lambda label: label.parent.name)
def test_no_tie_is_broken_by_name_in_a_recorded_run(label: Path) -> None:
    for facts in job_at([label.parent]).runs:
        assert not disagreeing_with_the_first(RunEvidence(facts, engine().knowledge))


def test_rules_that_yield_in_a_circle_are_refused() -> None:
    why = Text("why", "为什么")
    one = Rule("one", why, no_success, suspects_of, {"other": why})
    other = Rule("other", why, no_success, suspects_of, {"one": why})
    with pytest.raises(ValueError, match="circle: one, other"):
        in_order([one, other])


@cache
def evidence_of(edge: tuple[str, str]) -> RunEvidence:
    return RunEvidence(STORIES[edge](), engine().knowledge)


def names(suspects: Sequence[Suspect]) -> list[tuple[object, ...]]:
    return [(s.signature, s.role, s.rank.key if s.rank else None, s.named) for s in suspects]


def without(edge: tuple[str, str]) -> list[Rule]:
    """The rules as they may follow each other without the edge, its rule as early as it may."""
    yielding, other = edge
    rule = BY_NAME[yielding]
    before: set[str] = set()
    waiting = [name for name in rule.yields_to if name != other]
    while waiting:
        name = waiting.pop()
        before.add(name)
        waiting.extend(BY_NAME[name].yields_to)
    earlier = [one for one in RULES if one.name in before]
    return [*earlier, rule, *(one for one in RULES if one not in earlier and one is not rule)]


def disagreeing_with_the_first(evidence: RunEvidence) -> list[str]:
    """Rules that name others than the rule that decides, and do not yield to it in any way."""
    speaking = [
        (rule.name, names(suspects))
        for rule in RULES
        if rule.needs(evidence) and (suspects := rule.find(evidence))
    ]
    if not speaking:
        return []
    first, blamed = speaking[0]
    return [name for name, others in speaking if others != blamed and first not in before(name)]


@cache
def before(name: str) -> frozenset[str]:
    """All rules it yields to, and those that they yield to."""
    return frozenset().union(*({other, *before(other)} for other in BY_NAME[name].yields_to))
