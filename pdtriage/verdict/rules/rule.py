"""A rule of the verdict as a record, and the order that follows from whom each yields to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from pdtriage.model import Text
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.suspects import Suspect


def no_success(evidence: RunEvidence) -> bool:
    """Whether nobody says that the run ended well."""
    return not evidence.went_well


def no_success_and_over(evidence: RunEvidence) -> bool:
    """Whether nobody says that the run ended well or still goes on: what a running job has printed
    so far is no end."""
    return evidence.is_over and no_success(evidence)


def doubtful_success(evidence: RunEvidence) -> bool:
    """Paddle's launchers may end a parameter-server job with 0 although a trainer failed."""
    by_servers = evidence.facts.mode in ("ps", "ps-heter")
    return by_servers and evidence.facts.started_by != "pdtriage" and evidence.went_well


def console(evidence: RunEvidence) -> bool:
    """The launcher says something, and not that the run ended well."""
    return bool(evidence.launcher) and no_success(evidence)


def kernel_log(evidence: RunEvidence) -> bool:
    return bool(evidence.kernel) and no_success(evidence)


def complaints(evidence: RunEvidence) -> bool:
    """Some ranks say that they lost a peer."""
    return bool(evidence.accusations) and no_success(evidence)


class Rule(NamedTuple):
    """One way to tell who failed first."""

    name: str
    about: Text
    """What it goes by, for people."""
    needs: Callable[[RunEvidence], bool]
    """Without this in the evidence there is nothing to look for."""
    find: Callable[[RunEvidence], Sequence[Suspect]]
    """Whom it suspects, the most likely first; nobody where it has nothing to say."""
    yields_to: Mapping[str, Text] = {}
    """Names of the rules whose suspects are believed before its own, each with the reason."""


def in_order(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Every rule after all it yields to; where that leaves a choice, by name."""
    waiting = {rule.name: rule for rule in sorted(rules)}
    ordered: list[Rule] = []
    while waiting:
        free = (rule for rule in waiting.values() if waiting.keys().isdisjoint(rule.yields_to))
        following = next(free, None)
        if following is None:
            raise ValueError(f"rules yield to each other in a circle: {', '.join(waiting)}")
        ordered.append(waiting.pop(following.name))
    return tuple(ordered)
