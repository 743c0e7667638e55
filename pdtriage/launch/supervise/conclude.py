"""What is written down before the first process starts and after the last one has ended."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from typing import TYPE_CHECKING

from pdtriage import __version__
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.interpreter import PaddleWheel
from pdtriage.launch.plan.process_plan import Plan
from pdtriage.launch.supervise.events import Finished, Noted, Reforming, Restarting
from pdtriage.launch.supervise.guardian import Guardian
from pdtriage.launch.supervise.lost_logs import notes_on_logs
from pdtriage.launch.supervise.outcome import Analyst, Conclusion, Outcome, exit_code
from pdtriage.launch.supervise.policy import Policy
from pdtriage.launch.supervise.restart import Restarts
from pdtriage.launch.supervise.supervisor import Ending, Supervision
from pdtriage.record.schema import PeerFacts, RestartRecord
from pdtriage.record.writer import Recorder, now
from pdtriage.support import exit_codes
from pdtriage.support.language import Text

if TYPE_CHECKING:
    # The HTTP modules are imported only by jobs of several nodes.
    from pdtriage.launch.rendezvous.peer_channel import FactsChannel

_PARTING = 4.0
"""Seconds a node that has ended waits for what the others saw: long enough to notice that one has
fallen silent for good."""
_MISSING = 10.0
"""Seconds more for a node that seems to have gone, on a machine that is busy."""
_ANSWERING = 30.0
"""Seconds at most until what is to be told is known; the analyst has its own, shorter patience."""
_REASONS = {
    "peer": "failed",
    "refused": "failed",
    "reform": "interrupted",
    "hung": "interrupted",
    "timeout": "interrupted",
}
"""As the record has it; what makes an elastic job re-form stands in its notes."""


def common_head(
    flags: LaunchFlags, launch: str, guardian: Guardian, wheel: PaddleWheel | None
) -> dict[str, object]:
    """Fields of a record that are known before the job is planned."""
    versions = {"pdtriage": __version__, "python": ".".join(map(str, sys.version_info[:3]))}
    if wheel is not None:
        versions[wheel.name] = wheel.version
    return {
        "launch": launch,
        "started": time.time(),
        "argv": ["pdtriage", "run", *flags.argv],
        "cwd": os.getcwd(),
        "log_dir": os.path.realpath(flags.log_dir),
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


def tell_peers(channel: FactsChannel | None, recorder: Recorder, analyst: Analyst) -> None:
    """Let the other nodes know that it failed here, and what was seen of it."""
    if channel is not None:
        analyst.facts(recorder.record(), channel.publish_later("failed"))


def tell_of_stop(channel: FactsChannel | None, number: int | None) -> None:
    """Let the other nodes know that somebody told this one to stop, before anything breaks."""
    if channel is not None:
        channel.publish("interrupted", PeerFacts(interrupted=number))


def conclude(
    supervision: Supervision,
    ending: Ending,
    channel: FactsChannel | None,
    flags: LaunchFlags,
    analyst: Analyst,
    *,
    restarts: Restarts | None = None,
    elastic_patience: float | None = None,
) -> Outcome:
    """Part from the other nodes, complete the record, have it judged, decide what follows.

    `elastic_patience`: seconds an elastic node waits for what the others saw; None for others.
    """
    recorder, observer = supervision.recorder, supervision.observer
    if channel is not None:
        _part(channel, supervision, ending, analyst, elastic_patience)
    ending = _ending_by_now(ending, supervision.policy)
    _record_sizes(supervision)
    for note in notes_on_logs(supervision.folder, supervision.processes, supervision.logs):
        recorder.note(note)
    reason = _REASONS.get(ending.reason, ending.reason)
    end = {"reason": reason, "interrupted_by": ending.interrupted_by, **now()}
    recorder.end(end)
    record = recorder.record()
    conclusion = analyst.conclude(record, supervision.wait_until)
    refused = ending.reason == "refused"
    code = exit_codes.USAGE if refused else exit_code(conclusion, record)
    if ending.reason in ("hung", "timeout"):
        code = exit_codes.HUNG
    judged = {"exit_code": code, "verdict": conclusion.verdict, **_progress_fields(conclusion)}
    recorder.end({**end, **judged})
    decision = None
    if restarts is not None and not refused:
        number = ending.interrupted_by or supervision.signal_since()
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
    if restarts is None or decision is None or not decision.again:
        observer.notice(Finished(record, code, conclusion.culprits, conclusion.role, decision))
    elif conclusion.verdict != "failed":
        observer.notice(Reforming(record, decision.why))
    else:
        most = None if restarts.elastic else 1 + restarts.max_restart
        observer.notice(Restarting(record, conclusion, decision, most, restarts.max_restart))
    return Outcome(code, flags, recorder.record(), conclusion, decision=decision)


def _ending_by_now(ending: Ending, policy: Policy) -> Ending:
    """While we listened to the others a signal may have come, here or to one of them, or one of
    them failed: what ended well here was not all of the job."""
    if ending.reason == "completed" and policy.reason == "peer":
        ending = ending._replace(reason="peer")
    if policy.stopped_elsewhere is not None and ending.reason in ("completed", "peer"):
        ending = ending._replace(reason="interrupted")
    return ending._replace(interrupted_by=policy.interrupted_by or policy.stopped_elsewhere)


def _part(
    channel: FactsChannel,
    supervision: Supervision,
    ending: Ending,
    analyst: Analyst,
    elastic_patience: float | None,
) -> None:
    """Say how it ended here and hear how it ended elsewhere."""
    recorder = supervision.recorder
    leaving = ending.reason == "interrupted" and elastic_patience is not None
    if leaving or ending.reason == "reform":
        channel.publish("stopped")
        return
    patience = _PARTING if elastic_patience is None else elastic_patience
    if ending.reason == "interrupted":
        own = supervision.policy.interrupted_by
        publish = channel.publish_later("stopped")
        analyst.facts(recorder.record(), lambda facts: publish(facts._replace(interrupted=own)))
    elif ending.reason == "completed":
        channel.publish("done")
        patience = _PARTING
    elif ending.reason != "failed":
        # The culprit may be here although somebody else died first of it.
        analyst.facts(recorder.record(), channel.publish_later("stopped"))
    supervision.listen(_ANSWERING, channel.has_published_all)
    supervision.listen(patience, channel.all_over)
    # Who is about to be missed decides about the verdict, on every node alike.
    supervision.listen(_MISSING, lambda: channel.all_over() or not channel.may_fall_silent())
    for note in (*channel.ignored(), channel.late(), channel.missed()):
        if note is not None:
            recorder.note(note)


def _record_sizes(supervision: Supervision) -> None:
    for process in supervision.processes.values():
        # The script may have moved or removed its log; that is no reason to fail here.
        with contextlib.suppress(OSError):
            if process.log:
                path = os.path.join(supervision.folder, process.log)
                size = os.path.getsize(path)
                if size or not _was_renamed(path, process.started):
                    supervision.recorder.size(process.pid, size)


def _was_renamed(path: str, started: float) -> bool:
    """Whether the log seems to have become an older piece since: its process wrote on to that."""
    with contextlib.suppress(OSError):
        return os.stat(f"{path}.1").st_mtime >= started
    return False


def _progress_fields(conclusion: Conclusion) -> dict[str, object]:
    """How far a failed attempt came: later attempts hide that from whoever reads the logs."""
    reached = conclusion.failure and conclusion.failure.reached
    return {} if reached is None else {"last_step": reached.step, "last_epoch": reached.epoch}


def _record_trouble(trouble: str) -> Text:
    return Text(f"the run record is incomplete: {trouble}", f"运行记录不完整：{trouble}")
