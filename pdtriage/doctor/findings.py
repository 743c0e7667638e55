"""What a check says; all checks in the order they are shown, and the few every launch makes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Literal

from pdtriage.doctor.context import Context
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

Status = Literal["ok", "warning", "failed", "skipped"]
NOTHING_TO_DO = Text("", "")
FAMILIES = ("python", "cards", "host", "folder", "network", "nodes", "elastic_job", "kubernetes")
_CHEAP_FAMILIES = ("host", "folder")
_WORST_FIRST: tuple[Status, ...] = ("failed", "warning", "ok", "skipped")


class Finding(NamedTuple):
    """One check's answer."""

    id: str
    status: Status
    seen: Text
    """What is there."""
    advice: Text = NOTHING_TO_DO
    """What to do about it; empty where nothing has to be done."""

    def line(self) -> Text:
        """The message of a finding and what to do about it, in one line."""
        en, zh = self.seen.en.rstrip("."), self.seen.zh.rstrip("。")
        return Text(f"{en}. {self.advice.en}".strip(), f"{zh}。{self.advice.zh}")


class Check(NamedTuple):
    """Something that can be looked at before a job starts."""

    id: str
    look: Callable[[Context], Finding]
    cheap: bool = False
    """Takes no noticeable time and only speaks up with good reason: `pdtriage run` looks, too."""


def examine(context: Context) -> list[Finding]:
    """Every check, one finding each."""
    return [check.look(context) for check in checks_of(FAMILIES)]


def cheap_findings(
    flags: LaunchFlags,
    environ: Mapping[str, str],
    processes: int,
    *,
    cards: Sequence[str] = (),
    besides: Collection[int] = (),
    peers: Sequence[str] = (),
    root: str = "/",
) -> list[Finding]:
    """What a launch of so many processes on this node should warn about.

    Only the checks that cost nothing, and only bad news. `cards` (`gpu:3`) are those the launch
    uses, `besides` its own processes, who may hold them, `peers` an endpoint of each other node.
    """
    context = Context(flags, environ, processes=processes, peers=peers, root=root)
    found = [check.look(context) for check in checks_of(_CHEAP_FAMILIES) if check.cheap]
    if cards:
        from pdtriage.doctor.checks.cards import held_cards

        found.append(held_cards(context, cards, besides))
    return [finding for finding in found if finding.status in ("warning", "failed")]


def worst(findings: Sequence[Finding]) -> Status:
    """The status of them all together; `ok` where nothing could be looked at."""
    seen = {finding.status for finding in findings} - {"skipped"}
    return next((status for status in _WORST_FIRST if status in seen), "ok")


def checks_of(families: Sequence[str]) -> Iterator[Check]:
    # By name: a launch must not wait for families it does not look at.
    for family in families:
        yield from import_module(f"pdtriage.doctor.checks.{family}").CHECKS


def ok(name: str, en: str, zh: str) -> Finding:
    return Finding(name, "ok", Text(en, zh))


def skipped(name: str, en: str, zh: str) -> Finding:
    return Finding(name, "skipped", Text(en, zh))


def warning(name: str, seen: Text, advice: Text) -> Finding:
    return Finding(name, "warning", seen, advice)


def failed(name: str, seen: Text, advice: Text) -> Finding:
    return Finding(name, "failed", seen, advice)


def refused(name: str, refusal: UserError) -> Finding:
    """What `pdtriage run` would refuse to start with."""
    return Finding(name, "failed", refusal.message, refusal.remedy)
