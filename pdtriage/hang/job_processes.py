"""Finds the ranks of a job among the processes of this machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable

from pdtriage.hang.kernel_view import (
    ProcessVitals,
    all_vitals,
    descendants_of,
    environment_value,
    vitals_of,
)
from pdtriage.hang.take import StackTarget
from pdtriage.record.reader import read_records
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.open_files import writers_of

RANK_VARIABLE = "PADDLE_TRAINER_ID"
_JOB_VARIABLE = "PADDLE_JOB_ID"
_OF_ONE_JOB = ("PADDLE_TRAINER_ENDPOINTS", "PADDLE_MASTER", "PADDLE_MASTER_ENDPOINT", _JOB_VARIABLE)
"""What all ranks of a job share, and no other job has; the first that is set counts."""
_ROLE_VARIABLE = "TRAINING_ROLE"
_ROLES = {"PSERVER": "server", "HETER_TRAINER": "heter", "COORDINATOR": "coordinator"}
_MOST_FILES = 10_000


class RunningJob(NamedTuple):
    """The ranks of one job that run on this machine."""

    name: str | None
    folder: str | None
    """Where they write their logs."""
    ranks: tuple[StackTarget, ...]


def ranks_of_process(pid: int) -> list[StackTarget]:
    """The ranks that a launcher has started, or the process itself where it started none."""
    if vitals_of(pid) is None:
        return []
    processes = list(all_vitals())
    children: dict[int, list[int]] = {}
    for vitals in processes:
        children.setdefault(vitals.parent, []).append(vitals.pid)
    if environment_value(pid, RANK_VARIABLE) is None:
        below = set(descendants_of(pid, children))
        found = _topmost(vitals for vitals in processes if vitals.pid in below)
        if found:
            return found
    return [_target(pid)]


def ranks_of_folder(folder: str) -> list[StackTarget]:
    """The ranks of the newest record whose processes live, else who writes the logs there."""
    for record in reversed(read_records(folder)):
        if record.ended is None and record.is_live():
            last = max((process.attempt for process in record.processes), default=0)
            found = [
                StackTarget(process.pid, process.role, process.rank)
                for process in record.processes
                if process.attempt == last
                and process.role != "launcher"
                and vitals_of(process.pid) is not None
            ]
            if found:
                return found
    pids = set(writers_of(_files_in(folder)))
    return _topmost(vitals for vitals in all_vitals() if vitals.pid in pids)


def jobs_here() -> list[RunningJob]:
    """The jobs of which ranks run on this machine that we may look into."""
    by_job: dict[str, list[StackTarget]] = {}
    for target in _topmost(all_vitals()):
        shared = (environment_value(target.pid, name) for name in _OF_ONE_JOB)
        by_job.setdefault(next(filter(None, shared), ""), []).append(target)
    return [_described(ranks) for ranks in by_job.values()]


def _described(ranks: list[StackTarget]) -> RunningJob:
    """Both launchers tell a rank its folder and pod, and write `<job>.<pod>.log` there."""
    pid = ranks[0].pid
    name, folder = environment_value(pid, _JOB_VARIABLE), environment_value(pid, "PADDLE_LOG_DIR")
    if folder is None:
        return RunningJob(name, None, tuple(ranks))
    folder = os.path.realpath(os.path.join(f"/proc/{pid}/cwd", folder))
    ending = f".{environment_value(pid, 'POD_NAME')}.log"
    with contextlib.suppress(OSError):
        names = [file.removesuffix(ending) for file in os.listdir(folder) if file.endswith(ending)]
        name = names[0] if len(names) == 1 else name
    return RunningJob(name, folder, tuple(ranks))


def ranks_among(pids: Collection[int]) -> list[StackTarget]:
    """The processes that were started as ranks; not their launcher, nor what they started."""
    return _topmost(vitals for vitals in map(vitals_of, pids) if vitals is not None)


def _topmost(processes: Iterable[ProcessVitals]) -> list[StackTarget]:
    """Processes that were started as ranks; what they started themselves inherits the variable."""
    numbers = {
        vitals.pid: (vitals.parent, number)
        for vitals in processes
        if (number := environment_value(vitals.pid, RANK_VARIABLE)) is not None
    }
    top = [
        pid
        for pid, (parent, number) in numbers.items()
        if numbers.get(parent, (0, ""))[1] != number
    ]
    return sorted(map(_target, top), key=lambda t: (t.role, -1 if t.rank is None else t.rank))


def _target(pid: int) -> StackTarget:
    number = environment_value(pid, RANK_VARIABLE)
    role = environment_value(pid, _ROLE_VARIABLE) or ""
    rank = int(number) if number is not None and number.isdecimal() else None
    return StackTarget(pid, _ROLES.get(role, "worker"), rank)


def _files_in(folder: str) -> Collection[str]:
    base = os.path.realpath(folder)
    found: set[str] = set()
    for root, _, names in os.walk(base):
        found.update(os.path.join(root, name) for name in names)
        if len(found) > _MOST_FILES:
            break
    return found
