"""Parameter-server jobs of which a random part is killed at a random moment.

    python benchmarks/roles.py [--tries 60]

Prints one JSON object: how often anything stayed behind, got stuck, or the wrong one was named.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

from launch import OURS, RUN, SCRIPTS, folder, running, wait_for

from pdtriage.analysis.pipeline import analyze
from pdtriage.record.reader import read_records
from pdtriage.record.schema import ProcessRecord, RunRecord

JOB = (
    *("--grace=1", "--server_num=1", "--worker_num=2", "--heter_worker_num=1"),
    *(str(SCRIPTS / "ps_net.py"), "steps=0"),
)
TO_LAUNCHER = {
    "killed": signal.SIGKILL,
    "terminated": signal.SIGTERM,
    "interrupted": signal.SIGINT,
    "hung up": signal.SIGHUP,
}
TO_ROLES = ("one role", "one role", "two roles", "guardian and one role", "role of a sleeper")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tries", type=int, default=60)
    tries = parser.parse_args().tries
    rng = random.Random(1)
    result = {"tries": tries, "orphans": 0, "stuck": 0, "internal_errors": 0, "wrong_blame": 0}
    done: dict[str, int] = {}
    for _ in range(tries):
        with folder() as where:
            action = one_try(rng, where, result)
        done[action] = done.get(action, 0) + 1
    print(json.dumps(result | {"actions": done}, indent=1))


def one_try(rng: random.Random, where: Path, result: dict[str, int]) -> str:
    logs = where / "log"
    with open(where / "err", "wb") as err:
        process = subprocess.Popen(
            [*rng.choice([OURS, RUN]), "--log_dir", str(logs), *JOB],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=err,
        )
    time.sleep(rng.uniform(0, 4))
    records = read_records(logs)
    action = rng.choice([*TO_LAUNCHER, *TO_ROLES])
    culprit = None
    if action in TO_LAUNCHER:
        process.send_signal(TO_LAUNCHER[action])
    elif not records or not records[-1].processes:
        action = "terminated early"
        process.terminate()
    else:
        culprit = strike(rng, action, process, records[-1])
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        result["stuck"] += 1
        process.kill()
        process.wait()
    pids = [p.pid for record in read_records(logs) for p in record.processes]
    result["orphans"] += not wait_for(lambda: not any(map(running, pids)), 15)
    result["internal_errors"] += b"internal error" in (where / "err").read_bytes()
    if culprit is not None:
        blamed = [(cause.role, cause.rank) for cause in analyze(logs).root_causes]
        result["wrong_blame"] += (culprit.role, culprit.rank) not in blamed
    return action


def strike(
    rng: random.Random, action: str, launcher: subprocess.Popen[bytes], record: RunRecord
) -> ProcessRecord | None:
    """Kill somebody; returns who is to blame, where only one can be."""
    victim = rng.choice(record.processes)
    if action == "guardian and one role" and record.guardian_pid:
        os.kill(record.guardian_pid, signal.SIGKILL)
    if action == "role of a sleeper":
        launcher.send_signal(signal.SIGSTOP)
    os.kill(victim.pid, rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV]))
    if action == "two roles":
        with contextlib.suppress(ProcessLookupError):
            os.kill(rng.choice(record.processes).pid, signal.SIGKILL)
        return None
    if action == "role of a sleeper":
        time.sleep(0.3)
        launcher.send_signal(signal.SIGCONT)
    return victim


if __name__ == "__main__":
    main()
