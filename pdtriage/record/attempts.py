"""One run record attempt by attempt: Paddle's own launcher restarts by itself inside it."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.record.schema import DeathRecord, ProcessRecord, RestartRecord, RunRecord
from pdtriage.support.language import Text

_BY_PADDLE = RestartRecord(
    True, Text("Paddle's launcher did so by its own rule", "Paddle 的启动器按自己的规则重启")
)


def attempts_in(record: RunRecord) -> list[RunRecord]:
    """The record itself, unless its processes were started more than once; oldest first."""
    numbers = sorted({process.attempt for process in record.processes if _trains(process)})
    if len(numbers) < 2:
        return [record]
    return [_attempt(record, number, last=number == numbers[-1]) for number in numbers]


def _attempt(record: RunRecord, number: int, *, last: bool) -> RunRecord:
    later = {p.log: p.offset for p in reversed(record.processes) if p.attempt > number and p.log}
    own = [p for p in record.processes if p.attempt == number and _trains(p)]
    processes = [p._replace(end_offset=later.get(p.log or "", p.end_offset)) for p in own]
    if last:
        processes += [p for p in record.processes if not _trains(p)]
    pids = {process.pid for process in processes}
    deaths = _in_order([death for death in record.deaths if death.pid in pids])
    found = record._replace(
        attempt=record.attempt + number,
        processes=tuple(processes),
        deaths=deaths,
        endpoints=_endpoints(record, own),
    )
    if number > 0:
        found = found._replace(started=min(process.started for process in own))
    if last:
        return found
    return found._replace(
        ended=max((death.time for death in deaths), default=None),
        reason="failed",
        interrupted_by=None,
        exit_code=None,
        last_step=None,
        last_epoch=None,
        restart=_BY_PADDLE,
        notes=(),
    )


def _trains(process: ProcessRecord) -> bool:
    return process.role != "launcher"


def _in_order(deaths: Sequence[DeathRecord]) -> tuple[DeathRecord, ...]:
    return tuple(death._replace(order=order) for order, death in enumerate(deaths))


def _endpoints(record: RunRecord, own: Sequence[ProcessRecord]) -> tuple[str, ...]:
    """Ports are others after a restart; those of this node's trainers were seen."""
    listed = list(record.endpoints)
    for process in own:
        known = process.endpoint if process.role == "worker" else None
        if known and process.rank is not None and 0 <= process.rank < len(listed):
            listed[process.rank] = known
    return tuple(listed)
