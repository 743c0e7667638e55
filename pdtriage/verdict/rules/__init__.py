"""The rules of the verdict: each may name suspects, and the first in order that does decides.

To add one, write the function that finds suspects in the evidence, in the module of its kind of
evidence; a record for it in that module's `RULES`; and in `yields_to` the rules whose suspects
are believed before its own, each with the reason. The order follows from that: where two rules
name different suspects in one job, one of them has to yield. tests/verdict/rules/test_order.py
asks for a story for every yielding, and fails where two rules disagree and none of them yields.
"""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.rules import (
    accused,
    deaths,
    interrupted,
    kernel_log,
    launcher,
    never_met,
    own_words,
    pod_ends,
    stopped,
    waiting,
    watched,
)
from pdtriage.verdict.rules.rule import Rule, in_order
from pdtriage.verdict.suspects import Suspect

RULES: tuple[Rule, ...] = in_order(
    (
        *own_words.RULES,
        *kernel_log.RULES,
        *pod_ends.RULES,
        *launcher.RULES,
        *deaths.RULES,
        *stopped.RULES,
        *interrupted.RULES,
        *never_met.RULES,
        *accused.RULES,
        *waiting.RULES,
        *watched.RULES,
    )
)


def suspects_of(evidence: RunEvidence, rules: Sequence[Rule] = RULES) -> Sequence[Suspect]:
    """The suspects of the first rule that names any."""
    for rule in rules:
        if rule.needs(evidence) and (suspects := rule.find(evidence)):
            return suspects
    return ()
