"""Measures the map step on a Ray cluster of several nodes on this machine against `local`.

    python benchmarks/cluster.py [--nodes 2] [--small 2000] [--large 32] [--rounds 2] [--into FILE]

The same archives, many small logs and few large ones, are read by this machine's own processes and
by a cluster with as many CPUs; the facts must be equal. From what a task and a file cost beyond
the reading itself it projects a cluster of 100 nodes, with the assumptions beside it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

# Ray keeps to 127.0.0.1, as on a laptop, and tells nobody that it was used.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import ray
from logs import write_set
from ray.cluster_utils import Cluster

from pdtriage.analysis.job import Job
from pdtriage.knowledge import load_knowledge
from pdtriage.reading import mapper_of, on_ray
from pdtriage.reading.local import Read, read_here, read_one
from pdtriage.runs import assemble
from pdtriage.scan import Engine
from pdtriage.sources import Source, find

SMALL, LARGE = 64_000, 8_000_000
TINY = 200
"""Tasks of one tiny log each: what is left is what a task costs."""
NODES, CPUS, FILES, FILE_SIZE = 100, 16, 1_000_000, 10_000_000
"""What is projected: 10 TB in a million logs."""
STORAGE = 1_000_000_000
"""Bytes a second that each node gets from the storage: a network of 10 Gbit/s, nearly."""


@dataclass(frozen=True)
class Taken:
    """Wall clock and CPU of this process, and what came of it."""

    seconds: float
    cpu: float
    read: list[Read]


@dataclass(frozen=True)
class Measured:
    files: int
    megabytes: float
    local: Taken
    cluster: Taken


@dataclass(frozen=True)
class Costs:
    """CPU seconds; wall clock would measure what else this machine does."""

    core: float
    """Bytes a second of one core."""
    task: float
    file: float
    """Of the driver, for each task and for each file."""
    verdict: float
    """For each file, once all are read."""


def main() -> None:
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--small", type=int, default=2000, help="logs of 64 kB")
    parser.add_argument("--large", type=int, default=32, help="logs of 8 MB")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--into", type=Path, help="append the tables to this file, too")
    arguments = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="pdtriage-bench-", dir=arguments.scratch))
    try:
        with tempfile.TemporaryDirectory(prefix="ray-") as own:  # nothing is left behind
            os.environ["RAY_TMPDIR"] = own
            text = measured(scratch, arguments)
    finally:
        shutil.rmtree(scratch)
    print(text)
    if arguments.into:
        with arguments.into.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def measured(scratch: Path, arguments: argparse.Namespace) -> str:
    seed = (write_set("a", scratch / "seed", LARGE // 1_000_000 + 1) / "workerlog.0").read_bytes()
    for name, count, size in (
        ("small", arguments.small, SMALL),
        ("large", arguments.large, LARGE),
        ("tiny", TINY, 1_000),
    ):
        write_ranks(scratch / name, count, seed[seed.index(b"\n", len(seed) - size) + 1 :])
    engine = Engine(load_knowledge())
    kinds = {name: find([scratch / name]).sources for name in ("small", "large", "tiny")}
    alone = timed(partial(one_core, kinds["large"][:8], engine))
    locally: dict[str, list[Taken]] = {name: [] for name in kinds}
    there: dict[str, list[Taken]] = {name: [] for name in kinds}
    with beside(kinds, engine) as ask, cluster(arguments.nodes) as began:
        for sources in kinds.values():  # the processes of the cluster start, and compile
            remote(sources[:64], engine)
        for _ in range(arguments.rounds):  # in turn: a noisy machine is noisy for both
            for name, sources in kinds.items():
                locally[name].append(ask(name))
                there[name].append(timed(partial(remote, sources, engine)))
        apart = timed(partial(one_by_one, kinds["tiny"], engine))
    for name in kinds:
        assert repr(locally[name][0].read) == repr(there[name][0].read), f"{name}: other facts"
    rows = [
        Measured(len(kinds[name]), _megabytes(kinds[name]), best(locally[name]), best(there[name]))
        for name in ("small", "large")
    ]
    verdict = timed(partial(judged, locally["small"][0].read, engine))
    each_file = best(there["small"]).cpu / arguments.small
    costs = Costs(
        core=_megabytes(kinds["large"][:8]) * 1e6 / alone.cpu,
        task=apart.cpu / TINY - each_file,
        file=each_file,
        verdict=verdict.cpu / arguments.small,
    )
    return "\n\n".join([table(rows, arguments.nodes, began), projection(costs)])


def write_ranks(folder: Path, ranks: int, content: bytes) -> None:
    """Every rank ends with the error the log ends with."""
    folder.mkdir()
    for rank in range(ranks):
        (folder / f"workerlog.{rank}").write_bytes(b"rank %d\n" % rank + content)


@contextmanager
def cluster(nodes: int) -> Iterator[float]:
    """A head that only keeps the books, and nodes of one CPU; how long they took to start."""
    began = time.perf_counter()
    options = {"node_ip_address": "127.0.0.1", "object_store_memory": 100 << 20}
    head = {"num_cpus": 0, "include_dashboard": False, **options}
    made = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(nodes):
            made.add_node(wait=False, num_cpus=1, **options)
        made.wait_for_nodes()
        ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
        yield time.perf_counter() - began
    finally:
        ray.shutdown()
        made.shutdown()


@contextmanager
def beside(
    kinds: dict[str, tuple[Source, ...]], engine: Engine
) -> Iterator[Callable[[str], Taken]]:
    """A process that reads as `--engine local` does: beside the threads of Ray none is forked."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()

    def serve() -> None:
        while name := there.recv():
            there.send(timed(partial(local, kinds[name], engine)))

    def ask(name: str) -> Taken:
        here.send(name)
        taken: Taken = here.recv()
        return taken

    process = context.Process(target=serve)
    process.start()
    try:
        yield ask
    finally:
        here.send("")
        process.join()


def local(sources: tuple[Source, ...], engine: Engine) -> list[Read]:
    return list(read_here(sources, engine, lambda *_: None))


def remote(sources: tuple[Source, ...], engine: Engine) -> list[Read]:
    return list(mapper_of("ray", cache=False)(sources, engine, lambda *_: None))


def one_core(sources: tuple[Source, ...], engine: Engine) -> list[Read]:
    return [read_one(source, engine) for source in sources]


def one_by_one(sources: tuple[Source, ...], engine: Engine) -> list[Read]:
    """Every log is a task of its own."""
    before, on_ray.MOST_BATCH = on_ray.MOST_BATCH, 1
    try:
        return remote(sources, engine)
    finally:
        on_ray.MOST_BATCH = before


def judged(read: list[Read], engine: Engine) -> list[Read]:
    Job(assemble([facts for facts, _ in read], []), engine.knowledge).report("last", "en")
    return read


def timed(call: Callable[[], list[Read]]) -> Taken:
    began, cpu = time.perf_counter(), time.process_time()
    read = call()
    return Taken(time.perf_counter() - began, time.process_time() - cpu, read)


def best(taken: list[Taken]) -> Taken:
    return min(taken, key=lambda it: it.seconds)


def table(rows: list[Measured], nodes: int, began: float) -> str:
    lines = [
        f"Map step on this machine ({os.cpu_count()} cores) and on a Ray {ray.__version__} cluster "
        f"of {nodes} nodes with one CPU each on the same machine; same facts. The cluster took "
        f"{began:.0f} s to start, which is not in the table. Load {os.getloadavg()[0]:.1f} at the "
        "end.",
        "",
        "| logs | MB | local | Ray | overhead per file | CPU of the driver per file |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        over = (row.cluster.seconds - row.local.seconds) / row.files * 1000
        lines.append(
            f"| {row.files} × {row.megabytes / row.files:.2f} MB | {row.megabytes:.0f} "
            f"| {row.local.seconds:.2f} s | {row.cluster.seconds:.2f} s | {over:+.2f} ms "
            f"| {row.cluster.cpu / row.files * 1000:.2f} ms |"
        )
    return "\n".join(lines)


def projection(costs: Costs) -> str:
    """What bounds a large cluster: its CPUs, its storage, or the one driver."""
    whole = FILES * FILE_SIZE
    batch = min(on_ray.MOST_BATCH, whole / (NODES * CPUS * on_ray.EACH_CPU))
    tasks = whole / batch
    scan, storage = whole / (costs.core * NODES * CPUS), whole / (STORAGE * NODES)
    driver, verdict = tasks * costs.task + FILES * costs.file, FILES * costs.verdict
    together = max(scan, storage, driver) + verdict
    alone = max(whole / (costs.core * CPUS), whole / STORAGE) + verdict
    rows = [
        ("scan by all CPUs", scan, f"{costs.core / 1e6:.0f} MB/s a core"),
        ("storage to all nodes", storage, f"{STORAGE / 1e9:.0f} GB/s a node"),
        (
            "driver: tasks out, facts in",
            driver,
            f"{costs.task * 1000:.1f} ms a task, {costs.file * 1e6:.0f} µs a file",
        ),
        ("jobs and verdict, once", verdict, f"{costs.verdict * 1e6:.0f} µs a file"),
        ("together", together, f"one such node without Ray: {alone:.0f} s"),
    ]
    lines = [
        f"Projected, not measured: {NODES} nodes of {CPUS} CPUs, {FILES:,} logs of "
        f"{FILE_SIZE / 1e6:.0f} MB ({whole / 1e12:.0f} TB), {batch / 1e6:.0f} MB a task. The "
        "first three run at the same time and the slowest counts; the verdict follows. Assumed: "
        "CPUs like this one, storage as fast as said for all nodes at once, costs that grow with "
        "the number of files and tasks and not faster, no node slower than the others, and in the "
        "driver memory for all facts. It is one job of that many logs; usually an archive is many "
        "jobs, each with a verdict of its own.",
        "",
        "| step | seconds | from |",
        "|---|---:|---|",
    ]
    return "\n".join([*lines, *(f"| {name} | {took:.0f} | {told} |" for name, took, told in rows)])


def _megabytes(sources: tuple[Source, ...]) -> float:
    return sum(source.file.size or 0 for source in sources) / 1e6


if __name__ == "__main__":
    main()
