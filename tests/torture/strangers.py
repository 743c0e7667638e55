"""Strangers at the place where nodes tell each other what they saw, while a job of two nodes runs.

`python -m tests.torture.strangers [--acts 600] [--seed N]` says what it changed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import socket
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from pdtriage.launch.rendezvous.kv import KVClient

from ..ports import free_port, free_run
from ..running import clean_environment, wait_until

NODES = ("127.0.0.1", "127.0.0.2")
ACTS = ("lie", "pod", "delete", "replay", "hold", "garbage", "flood", "head")
MOST_HELD = 300
SCRIPT = """
import os, sys, time
print("step 1", flush=True)
while not os.path.exists("go"):
    time.sleep(0.05)
sys.exit(int(sys.argv[1]) if os.environ["PADDLE_TRAINER_ID"] == "0" else 0)
"""
RANK = {"role": "worker", "rank": 1, "exit": {"order": 0, "signal": 11, "time": 1.0}}


class Harm(NamedTuple):
    """What strangers changed of a job; all empty: nothing."""

    stopped: str = ""
    verdict: str = ""

    def __bool__(self) -> bool:
        return any(self)


class Strangers:
    """All that whoever reaches the port may try."""

    def __init__(self, port: int, master: str, seed: str) -> None:
        mark = zlib.crc32(",".join((*NODES, master)).encode())
        self.keys = [f"/default/pdtriage/{mark:08x}/{node}" for node in (0, 1)]
        self.port = port
        self.client = KVClient(NODES[0], port, 2)
        self.dice = random.Random(seed)
        self.held: list[socket.socket] = []
        self.done: Counter[str] = Counter()

    def act(self) -> None:
        what = self.dice.choice(ACTS)
        self.done[what] += 1
        key, number = self.dice.choice(self.keys), self.dice.randrange(10**6)
        if what == "lie":
            self.client.put(key, self._lie(number))
        elif what == "pod":
            self.client.put(f"/default/info/extra{number}/-1", self._lie(number))
        elif what == "delete":
            self.client.delete(key)
        elif what == "replay":
            for old, text in (self.client.get_prefix("/default/") or {}).items():
                self.client.put(old, text)
        elif what == "flood":
            self.client.put(f"/default/{number}", "x" * (1 << 20))
        else:
            self._say(what, number)

    def _lie(self, number: int) -> str:
        facts = {"failed": True, "role": "worker", "rank": 1, "signal": 11, "ranks": [RANK]}
        lie = {"beat": number, "version": number, "state": "failed", "replicas": 99}
        return json.dumps({**lie, "leaving": False, "facts": facts})

    def _say(self, what: str, number: int) -> None:
        words = {
            "hold": b"PUT /default/x HTTP/1.1\r\nContent-Le",
            "head": b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * (number % 9999),
            "garbage": self.dice.randbytes(number % 9999),
        }
        with contextlib.suppress(OSError):
            connection = socket.create_connection((NODES[0], self.port), 2)
            self.held.append(connection)
            connection.sendall(words[what])
        while len(self.held) > (MOST_HELD if what == "hold" else MOST_HELD // 2):
            self.held.pop(0).close()


def play(acts: int, seed: str, *, secret: bool, failing: bool) -> tuple[Harm, Counter[str], int]:
    """One job; what was changed of it, what was tried, and the most memory of its node 0 in kB."""
    with tempfile.TemporaryDirectory(prefix="strangers-") as made:
        folder, first, port = Path(made), free_run(2), free_port()
        (folder / "train.py").write_text(SCRIPT)
        environment = clean_environment()
        if secret:
            environment["PDTRIAGE_JOB_SECRET"] = "of this job and no other"
        run = [sys.executable, "-m", "pdtriage", "run", f"--ips={','.join(NODES)}"]
        run += [f"--start_port={first}", f"--facts-port={port}"]
        nodes = [
            subprocess.Popen(
                [*run, f"--host={host}", "--log_dir", host, "train.py", "7" if failing else "0"],
                cwd=folder,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for host in NODES
        ]
        logs = [folder / host / "workerlog.0" for host in NODES]
        assert wait_until(lambda: all(log.exists() and log.read_text() for log in logs), 120)
        strangers = Strangers(port, f"{NODES[0]}:{first}", seed)
        for _ in range(acts):
            strangers.act()
        lived = [node.poll() is None for node in nodes]
        memory = _most_memory(nodes[0].pid)
        (folder / "go").touch()
        codes = [node.wait(120) for node in nodes]
        for connection in strangers.held:
            connection.close()
        return _harm(folder, lived, codes, failing), strangers.done, memory


def _harm(folder: Path, lived: list[bool], codes: list[int], failing: bool) -> Harm:
    wanted = 7 if failing else 0
    report = json.loads((folder / NODES[0] / "pdtriage/report.json").read_text())
    found = [report["verdict"], *(cause["rank"] for cause in report["root_causes"])]
    stopped = "" if all(lived) else f"ended before its time with {codes}"
    if codes[0] != wanted or (not failing and codes[1] != 0):
        stopped = stopped or f"ended with {codes}"
    right = ["failed", 0] if failing else ["succeeded"]
    return Harm(stopped, "" if found == right else f"{found} instead of {right}")


def _most_memory(pid: int) -> int:
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0])
    return 0


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--acts", type=int, default=600)
    reader.add_argument("--seed", type=int, default=0)
    asked = reader.parse_args()
    print("| job | hostile acts | stopped | verdict changed | most memory of node 0 |")
    print("|---|---|---|---|---|")
    harmed, done = 0, Counter[str]()
    for secret in (True, False):
        for failing in (False, True):
            seed = f"{asked.seed}/{secret}/{failing}"
            harm, tried, memory = play(asked.acts // 4, seed, secret=secret, failing=failing)
            harmed += bool(harm)
            done += tried
            name = (
                f"{'with' if secret else 'without'} a secret, {'fails' if failing else 'ends well'}"
            )
            row = (name, tried.total(), harm.stopped or 0, harm.verdict or 0, f"{memory >> 10} MB")
            print(f"| {' | '.join(map(str, row))} |", flush=True)
    print(f"\n{done.total()} acts: " + ", ".join(f"{count} {what}" for what, count in done.items()))
    return int(harmed > 0)


if __name__ == "__main__":
    sys.exit(main())
