"""What is written down before the first process starts and after the last one has ended."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from collections.abc import Mapping

from pdtriage import __version__, exit_codes
from pdtriage.bilingual import Text
from pdtriage.launch.flags import LaunchFlags
from pdtriage.launch.guardian import Guardian
from pdtriage.launch.happenings import Finished, Noted, Observer
from pdtriage.launch.interpreter import PaddleWheel
from pdtriage.launch.outcome import Analyst, Outcome, exit_code
from pdtriage.launch.plan import Plan
from pdtriage.launch.record import ProcessRecord, RunRecord, parse_record
from pdtriage.launch.recorder import Recorder, now
from pdtriage.launch.spawn import Child
from pdtriage.launch.supervise import Ending


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


def process_record(child: Child) -> ProcessRecord:
    plan = child.plan
    return ProcessRecord(
        role=plan.role,
        rank=plan.rank,
        local_rank=plan.local_rank,
        device=plan.device,
        endpoint=plan.endpoint,
        pid=child.pid,
        log=plan.log,
        offset=child.offset,
        started=time.time(),
        monotonic=time.monotonic(),
    )


def start_fields(record: ProcessRecord) -> dict[str, object]:
    """A process that was started, as a line of the record."""
    fields: dict[str, object] = record._asdict()
    del fields["started"], fields["end_offset"]
    return fields | {"time": record.started}


def conclude(
    recorder: Recorder,
    folder: str,
    logs: Mapping[int, str],
    ending: Ending,
    flags: LaunchFlags,
    observer: Observer,
    analyst: Analyst,
) -> Outcome:
    """Complete the record, have it judged, and tell. `logs`: log file of every pid."""
    for pid, log in logs.items():
        # The script may have moved or removed its log; that is no reason to fail here.
        with contextlib.suppress(OSError):
            size = os.path.getsize(os.path.join(folder, log))
            recorder.write("size", {"pid": pid, "bytes": size})
    reason = "failed" if ending.reason in ("peer", "refused") else ending.reason
    end = {"reason": reason, "interrupted_by": ending.interrupted_by, **now()}
    recorder.write("end", end)
    record = read_back(recorder.path)
    conclusion = analyst.conclude(record)
    refused = ending.reason == "refused"
    code = exit_codes.USAGE if refused else exit_code(conclusion, record)
    recorder.write("end", {**end, "exit_code": code, "verdict": conclusion.verdict})
    if recorder.trouble:
        observer.notice(Noted(_record_trouble(recorder.trouble), "WARNING"))
    recorder.close()
    observer.notice(Finished(record, code, conclusion.culprits, conclusion.role))
    return Outcome(code, flags, read_back(recorder.path), conclusion)


def read_back(path: str) -> RunRecord:
    """The record as anyone else would read it."""
    with open(path, "rb") as stream:
        record = parse_record(stream.read(), path)
    return record if record is not None else RunRecord(path, 0)


def _record_trouble(trouble: str) -> Text:
    return Text(f"the run record is incomplete: {trouble}", f"运行记录不完整：{trouble}")
