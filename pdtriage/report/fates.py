"""Ranks folded by what happened to them, so that 1024 of them are a few lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pdtriage.model import RankRow, RankStatus, Report, Role, Text, VictimReason
from pdtriage.report.words import REASONS
from pdtriage.support.exit_codes import signal_name
from pdtriage.support.fast_namedtuple import NamedTuple

STATUSES: dict[RankStatus, Text] = {
    "failed": Text("failed", "出错"),
    "victim": Text("victim", "受牵连"),
    "finished": Text("finished", "正常结束"),
    "running": Text("running", "运行中"),
    "silent": Text("silent", "无声消失"),
    "unknown": Text("unknown", "未知"),
}
_ORDER: tuple[RankStatus, ...] = ("failed", "silent", "victim", "unknown", "running", "finished")

Part = Literal["culprit", "victim", "other"]


class Fate(NamedTuple):
    """All ranks that ended alike."""

    part: Part
    role: Role
    status: RankStatus
    reason: VictimReason | None
    exit_code: int | None
    signal: int | None
    rows: tuple[RankRow, ...] = ()

    @property
    def known_ranks(self) -> tuple[int, ...]:
        return tuple(row.rank for row in self.rows if row.rank is not None)

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.host for row in self.rows if row.host))


def fates(report: Report) -> list[Fate]:
    """Culprits first, then the silent, the victims, the rest."""
    culprits = {
        (cause.role, rank)
        for cause in report.root_causes
        for rank in (*cause.ranks, cause.rank)
        if rank is not None
    }
    reasons: dict[tuple[Role, int | None], VictimReason] = {
        (v.role, v.rank): v.reason for v in report.victims if v.rank is not None
    }
    groups: dict[Fate, list[RankRow]] = {}
    for row in report.ranks:
        name = (row.role, row.rank)
        part: Part = "victim" if row.status == "victim" else "other"
        key = Fate(
            part="culprit" if name in culprits else part,
            role=row.role,
            status=row.status,
            reason=reasons.get(name),
            exit_code=row.exit_code,
            signal=row.signal,
        )
        groups.setdefault(key, []).append(row)
    found = [fate._replace(rows=tuple(rows)) for fate, rows in groups.items()]
    return sorted(found, key=lambda fate: (fate.part != "culprit", _ORDER.index(fate.status)))


def ending_label(code: int | None, signal: int | None) -> Text:
    """`SIGABRT`, `exit 1`, or nothing where it is not known."""
    if signal is not None:
        return Text(signal_name(signal), signal_name(signal))
    return Text("", "") if code is None else Text(f"exit {code}", f"退出码 {code}")


def fate_words(fate: Fate) -> Text:
    """`victim, lost a peer, SIGABRT`."""
    parts = [STATUSES[fate.status]]
    if fate.reason:
        parts.append(REASONS[fate.reason])
    end = ending_label(fate.exit_code, fate.signal)
    if end.en:
        parts.append(end)
    return Text(", ".join(part.en for part in parts), "，".join(part.zh for part in parts))


def steps(rows: Iterable[RankRow]) -> str:
    """`120` or `118-120`: how far these ranks came."""
    known = [row.last_step for row in rows if row.last_step is not None]
    if not known:
        return ""
    return str(min(known)) if min(known) == max(known) else f"{min(known)}-{max(known)}"
