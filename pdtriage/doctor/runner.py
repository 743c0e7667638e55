"""All checks in the order they are shown, and the few that every launch makes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import import_module

from pdtriage.doctor.context import Situation
from pdtriage.doctor.finding import Check, Finding, Status
from pdtriage.launch.options.flags import LaunchFlags

FAMILIES = ("python", "devices", "host", "folder", "network", "nodes", "elastic", "kubernetes")
_CHEAP_FAMILIES = ("host", "folder")
_WORST_FIRST: tuple[Status, ...] = ("failed", "warning", "ok", "skipped")


def examine(situation: Situation) -> list[Finding]:
    """Every check, one finding each."""
    return [check.look(situation) for check in checks_of(FAMILIES)]


def cheap_findings(
    flags: LaunchFlags,
    environ: Mapping[str, str],
    processes: int,
    *,
    cards: Sequence[str] = (),
    besides: Collection[int] = (),
    root: str = "/",
) -> list[Finding]:
    """What a launch of so many processes on this node should warn about.

    Only the checks that cost nothing, and only bad news. `cards` (`gpu:3`) are those the launch
    uses, `besides` its own processes, who may hold them.
    """
    situation = Situation(flags, environ, processes=processes, root=root)
    found = [check.look(situation) for check in checks_of(_CHEAP_FAMILIES) if check.cheap]
    if cards:
        from pdtriage.doctor.checks.devices import held_cards

        found.append(held_cards(situation, cards, besides))
    return [finding for finding in found if finding.status in ("warning", "failed")]


def worst(findings: Sequence[Finding]) -> Status:
    """The status of them all together; `ok` where nothing could be looked at."""
    seen = {finding.status for finding in findings} - {"skipped"}
    return next((status for status in _WORST_FIRST if status in seen), "ok")


def checks_of(families: Sequence[str]) -> Iterator[Check]:
    # By name: a launch must not wait for families it does not look at.
    for family in families:
        yield from import_module(f"pdtriage.doctor.checks.{family}").CHECKS
