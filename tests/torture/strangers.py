"""Strangers where the nodes of a job meet, and where they tell each other what they saw.

`python -m tests.torture.strangers [--acts 600] [--seed N]` says what it changed. With
`--launcher paddle` jobs at a master under `python -m paddle.distributed.launch`, for comparison.
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
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

from pdtriage.launch.rendezvous.kv import KVClient

from ..ports import free_port, free_run
from ..running import clean_environment, wait_until

NODES = ("127.0.0.1", "127.0.0.2")
ACTS = ("lie", "pod", "delete", "replay", "hold", "garbage", "flood", "head")
UNREADABLE = (
    *("", "{", "[]", "3", "null", "[" * 9999, '{"candidate": 7, "endpoints": "a:1"}'),
    '{"name": "a\\nb", "candidate": "127.0.0.1:1", "endpoints": "127.0.0.1:2"}',
    '{"candidate": "127.0.0.1:1\\u001b[2J", "endpoints": "127.0.0.1:2"}',
    '{"replicas": "99", "candidate": "127.0.0.1:1", "endpoints": "127.0.0.1:2"}',
    '{"servers": ["a:1"], "trainers": "a:2", "gloo_port": 3}',
)
"""Announcements of nodes that there are not; one that could be of a node is taken for one where the
job has no secret (docs/reliability.md)."""
OURS = (sys.executable, "-m", "pdtriage", "run")
PADDLE = (sys.executable, "-m", "paddle.distributed.launch")
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

    def __init__(self, port: int, seed: str, master: str = "") -> None:
        """`master` is the first endpoint of a job of `--ips`; keys of others are asked for."""
        mark = zlib.crc32(",".join((*NODES, master)).encode())
        self.keys = [f"/default/pdtriage/{mark:08x}/{node}" for node in (0, 1)] if master else []
        self.port = port
        self.client = KVClient(NODES[0], port, 2)
        self.dice = random.Random(seed)
        self.held: list[socket.socket] = []
        self.done: Counter[str] = Counter()

    def act(self) -> None:
        what = self.dice.choice(ACTS)
        self.done[what] += 1
        key, number = self.dice.choice(self._keys()), self.dice.randrange(10**6)
        if what == "lie":
            self.client.put(key, self._lie(number))
        elif what == "pod":
            said = self.dice.choice((self._lie(number), *UNREADABLE))
            self.client.put(f"/default/info/extra{number}/-1", said)
        elif what == "delete":
            self.client.delete(key)
        elif what == "replay":
            for old, text in (self.client.get_prefix("/default/") or {}).items():
                self.client.put(old, text)
        elif what == "flood":
            self.client.put(f"/default/{number}", "x" * (1 << 20))
        else:
            self._say(what, number)

    def _keys(self) -> list[str]:
        found = self.keys or sorted(self.client.get_prefix("/default/") or {})
        return found or ["/default/info/aaaaaa/-1"]

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


def meet(
    acts: int, seed: str, *, secret: bool, failing: bool, launcher: Sequence[str] = OURS
) -> tuple[Harm, Counter[str], int]:
    """The same for a job whose nodes meet at `--master`: strangers are there before the second."""
    with tempfile.TemporaryDirectory(prefix="strangers-") as made:
        folder, port = Path(made), free_port()
        run = [f"--master={NODES[0]}:{port}", "--nnodes=2"]
        strangers = Strangers(port, seed)
        launch = partial(_start, folder, run, secret=secret, failing=failing, launcher=launcher)
        nodes = [launch(NODES[0])]
        assert wait_until(strangers.client.is_ready, 120)
        for _ in range(acts // 2):
            strangers.act()
        nodes.append(launch(NODES[1]))
        for _ in range(acts - acts // 2):
            strangers.act()
            time.sleep(0.02)  # some before the second node is there, some while they meet
        harm, done, memory = _end(folder, nodes, strangers, failing)
        return (harm if launcher == OURS else harm._replace(verdict="")), done, memory


def play(acts: int, seed: str, *, secret: bool, failing: bool) -> tuple[Harm, Counter[str], int]:
    """One job; what was changed of it, what was tried, and the most memory of its node 0 in kB."""
    with tempfile.TemporaryDirectory(prefix="strangers-") as made:
        folder, first, port = Path(made), free_run(2), free_port()
        run = [f"--ips={','.join(NODES)}", f"--start_port={first}", f"--facts-port={port}"]
        nodes = [_start(folder, run, host, secret=secret, failing=failing) for host in NODES]
        assert wait_until(lambda: _all_started(folder), 120)
        strangers = Strangers(port, seed, f"{NODES[0]}:{first}")
        for _ in range(acts):
            strangers.act()
        return _end(folder, nodes, strangers, failing)


def _start(
    folder: Path,
    run: list[str],
    host: str,
    *,
    secret: bool,
    failing: bool,
    launcher: Sequence[str] = OURS,
) -> subprocess.Popen[bytes]:
    (folder / "train.py").write_text(SCRIPT)
    environment = clean_environment()
    if secret:
        environment["PDTRIAGE_JOB_SECRET"] = "of this job and no other"
    words = [*run, f"--host={host}", "--log_dir", host, "train.py", "7" if failing else "0"]
    return subprocess.Popen(
        [*launcher, *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _all_started(folder: Path) -> bool:
    logs = [folder / host / "workerlog.0" for host in NODES]
    return all(log.exists() and log.read_text() for log in logs)


def _end(
    folder: Path, nodes: list[subprocess.Popen[bytes]], strangers: Strangers, failing: bool
) -> tuple[Harm, Counter[str], int]:
    """Let the job end, and see how it did."""
    wait_until(lambda: _all_started(folder) or any(node.poll() is not None for node in nodes), 120)
    lived = [node.poll() is None for node in nodes]
    memory = _most_memory(nodes[0].pid)
    if not _all_started(folder):
        for node in nodes:
            node.kill()
    (folder / "go").touch()
    codes = [node.wait(120) for node in nodes]
    for connection in strangers.held:
        connection.close()
    return _harm(folder, lived, codes, failing), strangers.done, memory


def _harm(folder: Path, lived: list[bool], codes: list[int], failing: bool) -> Harm:
    wanted = 7 if failing else 0
    found, other = (_verdict(folder / host / "pdtriage/report.json") for host in NODES)
    stopped = "" if all(lived) else f"ended before its time with {codes}"
    if codes[0] != wanted or (not failing and codes[1] != 0):
        stopped = stopped or f"ended with {codes}"
    right = ["failed", 0] if failing else ["succeeded"]
    if found == right and other not in (right, ["succeeded"]):
        found = other
    return Harm(stopped, "" if found == right else f"{found} instead of {right}")


def _verdict(report: Path) -> list[object]:
    if not report.exists():
        return ["no report"]
    read = json.loads(report.read_text())
    return [read["verdict"], *(cause["rank"] for cause in read["root_causes"])]


def _most_memory(pid: int) -> int:
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0])
    return 0


def play_all(
    acts: int, seed: int, launcher: str = "pdtriage"
) -> Iterator[tuple[str, Harm, Counter[str], int]]:
    """Every kind of job: its name, what was changed of it, what was tried, memory of its node 0."""
    jobs: list[tuple[Callable[..., tuple[Harm, Counter[str], int]], bool, bool]] = [
        *product((play, meet), (True, False), (False, True))
    ]
    if launcher == "paddle":
        met = partial(meet, launcher=PADDLE)
        jobs = [(met, False, failing) for failing in (False, True)]
    for job, secret, failing in jobs:
        own = f"{seed}/{secret}/{failing}"
        harm, tried, memory = job(acts // len(jobs), own, secret=secret, failing=failing)
        name = (
            f"{'--ips' if job is play else '--master'}, "
            f"{'with' if secret else 'without'} a secret, {'fails' if failing else 'ends well'}"
        )
        yield name, harm, tried, memory


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--acts", type=int, default=600)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--launcher", choices=["pdtriage", "paddle"], default="pdtriage")
    asked = reader.parse_args()
    print("| job | hostile acts | stopped | verdict changed | most memory of node 0 |")
    print("|---|---|---|---|---|")
    harmed, done = 0, Counter[str]()
    for name, harm, tried, memory in play_all(asked.acts, asked.seed, asked.launcher):
        harmed += bool(harm)
        done += tried
        row = (name, tried.total(), harm.stopped or 0, harm.verdict or 0, f"{memory >> 10} MB")
        print(f"| {' | '.join(map(str, row))} |", flush=True)
    print(f"\n{done.total()} acts: " + ", ".join(f"{count} {what}" for what, count in done.items()))
    return int(harmed > 0)


if __name__ == "__main__":
    sys.exit(main())
