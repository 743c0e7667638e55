"""Elastic jobs in tests: nodes of one job, and what their processes saw of the world."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from pathlib import Path

from pdtriage.record.reader import read_records
from pdtriage.record.schema import RunRecord

from ..etcd import RealEtcd
from ..running import wait_until
from .conftest import Launch, Launcher

_JOBS = (f"job{number}" for number in itertools.count())


@dataclass
class ElasticJob:
    """`pdtriage run` on several nodes that meet at one etcd."""

    launcher: Launcher
    etcd: RealEtcd
    size: str = "2"
    timeout: int = 1
    ttl: int = 2
    """More where nothing is to happen: on a busy machine a node may be slow to renew its lease."""
    name: str = field(default_factory=lambda: next(_JOBS))
    nodes: list[Launch] = field(default_factory=list)

    @property
    def finish_line(self) -> Path:
        return self.launcher.folder / "finish"

    def add(self, *flags: str, script: tuple[str, ...] = (), legacy: bool = False) -> Launch:
        place = f"{self.etcd.host}:{self.etcd.port}"
        where = (
            (f"--elastic_server={place}", f"--np={self.size}")
            if legacy
            else (f"--master=etcd://{place}", f"--nnodes={self.size}")
        )
        launch = self.launcher.start(
            *where,
            *(f"--job_id={self.name}", f"--elastic_timeout={self.timeout}", "--grace=2"),
            *("--nproc_per_node=1", *flags, "world.py", "--until", str(self.finish_line), *script),
            log_dir=self.launcher.folder / f"n{len(self.nodes)}",
            env={"PADDLE_ELASTIC_TTL": str(self.ttl)},
        )
        self.nodes.append(launch)
        return launch

    def add_paddle(self, script: tuple[str, ...] = ()) -> Launch:
        """A node under Paddle's own launcher, whose client of etcd needs the slow protobuf."""
        launch = self.launcher.start(
            f"--master={self.etcd.url}",
            *(f"--nnodes={self.size}", f"--job_id={self.name}", "--host=127.0.0.1"),
            *(f"--elastic_timeout={self.timeout}", "--elastic_level=1", "--nproc_per_node=1"),
            *("world.py", "--until", str(self.finish_line), *script),
            log_dir=self.launcher.folder / f"n{len(self.nodes)}",
            env={"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"},
            module="paddle.distributed.launch",
        )
        self.nodes.append(launch)
        return launch

    def await_world(self, size: int, *nodes: Launch, seconds: float = 90.0) -> None:
        """Each of `nodes` trains in a world of so many."""
        for launch in nodes or self.nodes:
            assert wait_until(lambda launch=launch: met(launch) == size, seconds), (
                f"{launch.log_dir.name} met {met(launch)}, not {size}: {launch.log()[-600:]}"
            )

    def finish(self) -> None:
        self.finish_line.touch()


def met(launch: Launch, local_rank: int = 0) -> int:
    """The size of the world its process is in and has checked; 0 while there is none."""
    log = launch.log(local_rank)
    lines = [line for line in log.splitlines() if line.startswith(("WORLD ", "MET "))]
    return int(lines[-1].split()[1]) if lines and lines[-1].startswith("MET") else 0


def worlds(*launches: Launch) -> list[dict[str, object]]:
    """What every process ever started said of its world."""
    return [
        json.loads(line.removeprefix("WORLD "))
        for launch in launches
        for log in sorted(launch.log_dir.glob("workerlog.*"))
        for line in log.read_text().splitlines()
        if line.startswith("WORLD ")
    ]


def check_worlds(*launches: Launch) -> int:
    """Processes of one attempt saw the same, and each rank was held once; how many attempts."""
    by_attempt: dict[int, list[dict[str, object]]] = {}
    for world in worlds(*launches):
        by_attempt.setdefault(int(str(world["attempt"])), []).append(world)
    for attempt, seen in by_attempt.items():
        ranks = [world.pop("rank") for world in seen]
        assert len({json.dumps(world, sort_keys=True) for world in seen}) == 1, (attempt, seen)
        size = int(str(seen[0]["size"]))
        assert size == len(seen[0]["endpoints"])  # type: ignore[arg-type]
        assert len(set(ranks)) == len(ranks), (attempt, ranks)
        assert set(ranks) <= set(range(size)), (attempt, ranks, size)
    logs = [log for launch in launches for log in launch.log_dir.glob("workerlog.*")]
    assert all("WRONG" not in log.read_text() for log in logs)
    return len(by_attempt)


def sizes(launch: Launch) -> list[int | None]:
    """Of its worlds, one after the other; how often one was formed anew is not told."""
    return [size for size, _ in itertools.groupby(r.world_size for r in records(launch))]


def records(launch: Launch) -> list[RunRecord]:
    found = read_records(launch.log_dir)
    assert len({record.launch for record in found}) <= 1, "all attempts are of one launch"
    kept = [record.attempt for record in found]
    assert len(set(kept)) == len(kept), kept
    # Not the other way round: a process may have been stopped before its first line.
    assert {world["attempt"] for world in worlds(launch)} <= set(kept)
    return found
