"""What is written down before the first process starts and after the last one has ended."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from collections.abc import Callable, Iterable

from pdtriage import __version__
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.interpreter import PaddleWheel
from pdtriage.launch.plan.process_plan import Plan
from pdtriage.launch.supervise.events import Finished, Noted, Observer, Reforming, Restarting
from pdtriage.launch.supervise.guardian import Guardian
from pdtriage.launch.supervise.outcome import Analyst, Conclusion, Outcome, exit_code
from pdtriage.launch.supervise.restart import Restarts
from pdtriage.launch.supervise.supervisor import Ending
from pdtriage.record.schema import ProcessRecord, RestartRecord
from pdtriage.record.writer import Recorder, now
from pdtriage.support import exit_codes
from pdtriage.support.language import Text

_REASONS = {"peer": "failed", "refused": "failed", "reform": "interrupted"}
"""As the record has it; what makes an elastic job re-form stands in its notes."""


def common_head(
    flags: LaunchFlags, launch: str, guardian: Guardian, wheel: PaddleWheel | None
) -> dict[str, object]:
    """What is known before the job is."""
    versions = {"pdtriage": __version__, "python": ".".join(map(str, sys.version_info[:3]))}
    if wheel is not None:
        versions[wheel.name] = wheel.version
    return {
        "launch": launch,
        "started": time.time(),
        "argv": ["pdtriage", "run", *flags.argv],
        "cwd": os.getcwd(),
        "pid": os.getpid(),
        "guardian_pid": guardian.pid,
        "host": socket.gethostname(),
        "versions": versions,
    }


def plan_head(
    flags: LaunchFlags, plan: Plan, guardian: Guardian, wheel: PaddleWheel | None
) -> dict[str, object]:
    return common_head(flags, plan.launch, guardian, wheel) | {
        "attempt": plan.attempt,
        "address": plan.cluster.address,
        "node_rank": plan.cluster.node_rank,
        "nnodes": len(plan.cluster.nodes),
        "pod": plan.pod,
        "job": plan.job,
        "mode": plan.mode,
        "launcher": "pdtriage",
        "master": plan.cluster.master,
        "world_size": plan.world_size,
        "endpoints": list(plan.cluster.all_endpoints),
        "roles": {role: list(endpoints) for role, endpoints in plan.roles.items()},
        "device_kind": plan.device_kind,
    }


def conclude(
    recorder: Recorder,
    folder: str,
    processes: Iterable[ProcessRecord],
    ending: Ending,
    flags: LaunchFlags,
    observer: Observer,
    analyst: Analyst,
    restarts: Restarts | None = None,
    signal_since: Callable[[], int | None] = lambda: None,
) -> Outcome:
    """Complete the record, have it judged, decide what follows, and tell.

    `signal_since`: which signal came while we were judging.
    """
    for process in processes:
        # The script may have moved or removed its log; that is no reason to fail here.
        with contextlib.suppress(OSError):
            if process.log:
                size = os.path.getsize(os.path.join(folder, process.log))
                recorder.size(process.pid, size)
    reason = _REASONS.get(ending.reason, ending.reason)
    end = {"reason": reason, "interrupted_by": ending.interrupted_by, **now()}
    recorder.end(end)
    record = recorder.record()
    conclusion = analyst.conclude(record)
    refused = ending.reason == "refused"
    code = exit_codes.USAGE if refused else exit_code(conclusion, record)
    judged = {"exit_code": code, "verdict": conclusion.verdict, **_reached(conclusion)}
    recorder.end({**end, **judged})
    decision = None
    if restarts is not None and not refused:
        number = ending.interrupted_by or signal_since()
        decision = restarts.after(conclusion, interrupted=number is not None, reason=ending.reason)
        number = number or restarts.stopped_by
        if restarts.elastic and number is not None and code != exit_codes.OK:
            # A node that leaves says so, whatever its attempt was about to come to.
            code = exit_codes.of_signal(number)
            recorder.end({**end, **judged, "exit_code": code})
    if decision is not None:
        recorder.restart(RestartRecord(*decision))
    recorder.close()
    if recorder.trouble:
        observer.notice(Noted(_record_trouble(recorder.trouble), "WARNING"))
    if decision is not None and decision.again and conclusion.verdict != "failed":
        observer.notice(Reforming(record, decision.why))
    elif decision is not None and decision.again:
        limit = restarts.max_restart if restarts is not None else 0
        most = 1 + limit if restarts is not None and not restarts.elastic else None
        observer.notice(Restarting(record, conclusion, decision, most, limit))
    else:
        observer.notice(Finished(record, code, conclusion.culprits, conclusion.role, decision))
    return Outcome(code, flags, recorder.record(), conclusion, decision=decision)


def _reached(conclusion: Conclusion) -> dict[str, object]:
    """How far a failed attempt came: later attempts hide that from whoever reads the logs."""
    reached = conclusion.failure and conclusion.failure.reached
    return {} if reached is None else {"last_step": reached.step, "last_epoch": reached.epoch}


def _record_trouble(trouble: str) -> Text:
    return Text(f"the run record is incomplete: {trouble}", f"运行记录不完整：{trouble}")
