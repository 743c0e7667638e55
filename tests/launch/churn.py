"""Nodes in network namespaces that come, go and are killed at random, on one elastic job.

Every process asks every other one of its world who it thinks is there, so a wrong size, order or
endpoint cannot go unnoticed; what is left on disk and in the process table is checked at the end.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..etcd import RealEtcd
from ..running import clean_environment, wait_until
from .conftest import SCRIPTS, Launch
from .elastic import check_worlds, met, records, worlds

TTL = 2
PATIENCE = 40.0
_NETWORK = "10.78.31"


@dataclass
class Hub:
    """Namespaces joined by a bridge; etcd lives in one of its own."""

    tag: str
    nodes: int

    def name(self, node: int) -> str:
        return f"pdt{self.tag}n{node}"

    def address(self, node: int) -> str:
        return f"{_NETWORK}.{node + 1}"

    @property
    def middle(self) -> str:
        return f"pdt{self.tag}hub"


@contextlib.contextmanager
def hub(nodes: int) -> Iterator[Hub]:
    built = Hub(f"{os.getpid() % 100_000}", nodes)
    names = [built.middle, *(built.name(node) for node in range(nodes))]
    try:
        for name in names:
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", built.middle, "link", "add", "br0", "type", "bridge")
        _ip("-n", built.middle, "addr", "add", f"{_NETWORK}.254/24", "dev", "br0")
        _ip("-n", built.middle, "link", "set", "br0", "up")
        for node in range(nodes):
            port, name = f"p{node}", built.name(node)
            _ip("-n", built.middle, "link", "add", port, "type", "veth",
                "peer", "name", "eth0", "netns", name)  # fmt: skip
            _ip("-n", built.middle, "link", "set", port, "master", "br0", "up")
            _ip("-n", name, "addr", "add", f"{built.address(node)}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
        yield built
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@dataclass
class Churn:
    """One job; `step` changes something, `settle` waits until everybody has found its place."""

    hub: Hub
    folder: Path
    size: str
    seed: int
    fragile: bool = True
    disturbed: bool = False
    """Etcd is paused or restarted in between."""
    running: dict[int, Launch] = field(default_factory=dict)
    ever: list[Launch] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    longest_settling: float = 0.0
    disturbances: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.least, self.most = (int(number) for number in self.size.split(":"))
        prefix = ("ip", "netns", "exec", self.hub.middle)
        self.etcd = RealEtcd(self.folder, f"{_NETWORK}.254", prefix)
        self.etcd.start(wait=False)

    def fill(self) -> None:
        """Begin with as many nodes as can take part: nobody then waits for more."""
        for node in range(self.most):
            self.join(node)
        self.settle()

    def join(self, node: int) -> None:
        logs = self.folder / f"{len(self.ever):03d}-node{node}"
        words = [sys.executable, "-m", "pdtriage.launch", "--log_dir", str(logs)]
        words += [f"--master={self.etcd.url}", f"--nnodes={self.size}", "--job_id=churn"]
        words += [f"--host={self.hub.address(node)}", "--nproc_per_node=2", "--grace=2"]
        # A node that comes or goes is no failure: not a single one may be counted.
        words += ["--elastic_timeout=20", "--max_restart=0", "world.py"]
        words += ["--until", str(self.folder / "finish")] + ["--fragile"] * self.fragile
        errors = (self.folder / f"{logs.name}.err").open("w")
        process: subprocess.Popen[str] = subprocess.Popen(
            ["ip", "netns", "exec", self.hub.name(node), *words],
            cwd=SCRIPTS,
            env=clean_environment() | {"PADDLE_ELASTIC_TTL": str(TTL)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            text=True,
        )
        errors.close()
        self.running[node] = Launch(process, logs)
        self.ever.append(self.running[node])

    def step(self) -> str:
        """Something random; often before the nodes have got over the last one."""
        if self.disturbed and self.chance.random() < 0.25:
            self._disturb()
        free = [node for node in range(self.hub.nodes) if node not in self.running]
        what = self.chance.choice(["join", "leave", "kill"])
        if len(self.running) <= self.least:
            what = "join"
        elif not free and what == "join":
            what = self.chance.choice(["leave", "kill"])
        node = self.chance.choice(free if what == "join" else sorted(self.running))
        if what == "join":
            self.join(node)
        else:
            launch = self.running.pop(node)
            launch.signal(signal.SIGKILL if what == "kill" else signal.SIGTERM)
            code = launch.process.wait(PATIENCE)
            # Before it has begun to listen for signals, the system itself ends it.
            ends = (-9,) if what == "kill" else (143, -15)[: 1 if launch.log_dir.exists() else 2]
            assert code in ends, (what, code, self._tail(launch))
        self.done.append(what)
        if self.chance.random() < 0.3:
            time.sleep(self.chance.uniform(0, 1.5))
        else:
            self.settle()
        return f"{what} {node}"

    def settle(self) -> None:
        """Everybody that is there trains in a world of the right size, or waits as a spare."""
        wanted = min(self.most, len(self.running))
        spares = len(self.running) - wanted
        began = time.monotonic()

        def settled() -> bool:
            sizes = sorted(self._met(launch) for launch in self.running.values())
            return sizes == [0] * spares + [2 * wanted] * wanted

        assert wait_until(settled, PATIENCE), (
            f"seed {self.seed}, after {len(self.done)} steps ({self.done[-5:]}) not {wanted} nodes "
            + "and ".join(f"\n{self._met(n)}: {self._tail(n)}" for n in self.running.values())
        )
        self.longest_settling = max(self.longest_settling, time.monotonic() - began)

    def finish(self) -> dict[str, object]:
        """Let the job complete and check everything it left; how much that was."""
        self.settle()
        (self.folder / "finish").touch()
        for launch in self.running.values():
            assert launch.process.wait(PATIENCE) == 0, self._tail(launch)
        attempts = check_worlds(*self.ever)
        last = max(int(str(world["attempt"])) for world in worlds(*self.ever))
        kept = sum(len(records(launch)) for launch in self.ever)
        left = _mentioning(str(self.folder / "finish"))
        assert not left, f"orphans: {left}"
        return {
            "seed": self.seed,
            "nodes": self.size,
            "steps": dict(Counter(self.done)),
            "etcd paused or restarted": self.disturbances,
            "launchers": len(self.ever),
            "attempts": attempts,
            "attempts nobody came to start": last + 1 - attempts,
            "processes that checked their world": len(worlds(*self.ever)),
            "run records": kept,
            "longest settling (s)": round(self.longest_settling, 1),
        }

    def close(self) -> None:
        for launch in self.running.values():
            if launch.process.poll() is None:
                launch.process.kill()
                launch.process.wait()
        self.etcd.end()

    def _disturb(self) -> None:
        seconds = self.chance.uniform(0.2, 2.5 * TTL)
        if self.chance.random() < 0.5:
            self.etcd.pause()
            time.sleep(seconds)
            self.etcd.resume()
        else:
            self.etcd.end()
            time.sleep(seconds)
            self.etcd.start(wait=False)
        self.disturbances += 1

    def _met(self, launch: Launch) -> int:
        """All its ranks agree; otherwise it is on its way."""
        sizes = {met(launch, rank) for rank in range(2)}
        return sizes.pop() if len(sizes) == 1 and launch.process.poll() is None else -1

    def _tail(self, launch: Launch) -> str:
        said = self.folder / f"{launch.log_dir.name}.err"
        return said.read_text()[-800:] + launch.log()[-200:]


def _mentioning(text: str) -> list[int]:
    """Processes with `text` in their command line, once the guardians are through."""

    def found() -> list[int]:
        pids = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    if text.encode() in (entry / "cmdline").read_bytes():
                        pids.append(int(entry.name))
        return pids

    wait_until(lambda: not found(), 10)
    return found()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
