"""What happens on a Ray cluster of three nodes on this machine; told as JSON for test_on_ray.py.

Run in a process, and where possible in a network namespace, of its own: Ray opens many ports.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# As on a laptop: Ray keeps to 127.0.0.1 instead of looking for an address that others can reach.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import ray
from ray.cluster_utils import Cluster

import pdtriage
from pdtriage.analysis.pipeline import analyze
from pdtriage.reading import mapper_of, on_ray
from pdtriage.support.errors import NotAvailableError
from tests.sources.web import Web, serving

SCENARIOS = Path(__file__).parents[1] / "fixtures" / "scenarios"
NAMES = ("data-errno5-worker", "nodes-segfault", "ps-server-dies")
NODE = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 80 << 20}
STORIES: list[Callable[[Cluster], dict[str, Any]]] = []


def story(tell: Callable[[Cluster], dict[str, Any]]) -> Callable[[Cluster], dict[str, Any]]:
    STORIES.append(tell)
    return tell


class Here:
    """Counts what the driver reads by itself."""

    def __enter__(self) -> list[str]:
        self._genuine = on_ray.read_one
        read: list[str] = []

        def counting(source: Any, engine: Any) -> Any:
            read.append(source.file.path)
            return self._genuine(source, engine)

        on_ray.read_one = counting
        return read

    def __exit__(self, *_: object) -> None:
        on_ray.read_one = self._genuine


def told(*paths: object, engine: str = "ray") -> str:
    mapper = mapper_of(engine, cache=False)  # type: ignore[arg-type]
    return json.dumps(analyze(*map(str, paths), mapper=mapper).to_json())


@story
def same_report(_: Cluster) -> dict[str, Any]:
    with Here() as here:
        same = [told(SCENARIOS / n) == told(SCENARIOS / n, engine="local") for n in NAMES]
    return {"same": same, "read_by_driver": here}


@story
def many_batches_are_folded(_: Cluster) -> dict[str, Any]:
    before = on_ray.MOST_BATCH, on_ray.WORTH_A_TREE, on_ray.FAN_IN
    folded: list[int] = []
    genuine = on_ray._Run._groups

    def groups(self: Any) -> list[list[int]]:
        found = genuine(self)
        folded.extend(map(len, found))
        return found

    on_ray.MOST_BATCH, on_ray.WORTH_A_TREE, on_ray.FAN_IN = 1, 2, 3
    on_ray._Run._groups = groups  # type: ignore[method-assign]
    try:
        path = SCENARIOS / "nodes-segfault"
        return {"same": told(path) == told(path, engine="local"), "folded": folded}
    finally:
        on_ray.MOST_BATCH, on_ray.WORTH_A_TREE, on_ray.FAN_IN = before
        on_ray._Run._groups = genuine  # type: ignore[method-assign]


@story
def what_only_the_driver_sees(_: Cluster) -> dict[str, Any]:
    genuine = on_ray.sighting_of
    path = SCENARIOS / NAMES[0]
    on_ray.sighting_of = lambda _source: (1, 1)  # as if the nodes saw another file there
    try:
        with Here() as here:
            return {"same": told(path) == told(path, engine="local"), "read_by_driver": here}
    finally:
        on_ray.sighting_of = genuine


@story
def nodes_with_another_version(cluster: Cluster) -> dict[str, Any]:
    with serving(slow_web(20, 0.0)) as web:
        process = begun(web, cluster, first="import pdtriage; pdtriage.__version__ = '9.9.9'")
        out, err = process.communicate(timeout=180)
    return {"code": process.returncode, "out": out.decode(), "said": err.decode()}


@story
def stopped_early_on_a_connection_that_stays(_: Cluster) -> dict[str, Any]:
    """Each time while other tasks are about to answer."""
    genuine = pdtriage.__version__, on_ray.MOST_BATCH
    pdtriage.__version__, on_ray.MOST_BATCH = "9.9.9", 1
    stopped = 0
    try:
        for _ in range(50):
            try:
                told(SCENARIOS / NAMES[0])
            except NotAvailableError:
                stopped += 1
    finally:
        pdtriage.__version__, on_ray.MOST_BATCH = genuine
    return {"stopped": stopped}


@story
def tasks_that_die_each_time(_: Cluster) -> dict[str, Any]:
    genuine, tries = on_ray.read_batch, on_ray.TRIES

    def dying(*_: object) -> None:
        os._exit(1)

    on_ray.read_batch, on_ray.TRIES = dying, 0  # type: ignore[assignment]
    path = SCENARIOS / NAMES[0]
    try:
        with Here() as here:
            return {"same": told(path) == told(path, engine="local"), "read_by_driver": here}
    finally:
        on_ray.read_batch, on_ray.TRIES = genuine, tries


@story
def one_of_its_own(_: Cluster) -> dict[str, Any]:
    command = [sys.executable, "-m", "pdtriage", "analyze", str(SCENARIOS / NAMES[1])]
    ways = [[], ["--engine", "ray"]]
    done = [subprocess.run([*command, *way], capture_output=True, check=False) for way in ways]
    return {"same": done[0].stdout == done[1].stdout, "said": done[1].stderr.decode()}


@story
def ctrl_c(cluster: Cluster) -> dict[str, Any]:
    with serving(slow_web(200, 0.5)) as web:
        process = begun(web, cluster)
        until(lambda: len(web.sent) > 3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=180)
        sent = steady(lambda: len(web.sent))  # what was under way may end
        time.sleep(0.7)
        return {
            "code": process.returncode,
            "out": out.decode(),
            "traceback": "Traceback" in err.decode(),
            "sent": sent,
            "sent_later": len(web.sent),
        }


@story
def ctrl_c_in_a_callback(cluster: Cluster) -> dict[str, Any]:
    """It comes while a destructor runs, where Python drops what a signal raises."""
    first = (
        "import gc, ray, signal\n"
        "class Ends:\n"
        "    def __del__(self): signal.raise_signal(signal.SIGINT)\n"
        "genuine = ray.wait\n"
        "def wait(*words, **named):\n"
        "    ray.wait = genuine\n"
        "    Ends()\n"
        "    return genuine(*words, **named)\n"
        "ray.wait = wait"
    )
    with serving(slow_web(200, 0.1)) as web:
        process = begun(web, cluster, first=first)
        out, err = process.communicate(timeout=180)
    return {
        "code": process.returncode,
        "out": out.decode(),
        "swallowed": "Exception ignored in" in err.decode(),
        "sent": len(web.sent),
    }


@story
def a_node_is_lost(cluster: Cluster) -> dict[str, Any]:
    """Last: the cluster is smaller afterwards."""
    victim = next(node for node in cluster.list_all_nodes() if not node.head)
    with serving(slow_web(20, 0.15)) as web:
        expected, _ = begun(web).communicate(timeout=180)
        web.sent.clear()
        process = begun(web, cluster)
        until(lambda: len(web.sent) > 4)
        sent = len(web.sent)
        cluster.remove_node(victim, allow_graceful=False)
        out, err = process.communicate(timeout=300)
    until(lambda: sum(node["Alive"] for node in ray.nodes()) == 2)
    return {
        "same": out == expected,
        "length": len(expected),
        "code": process.returncode,
        "said": err.decode(),
        "sent_before": sent,
    }


def begun(web: Web, cluster: Cluster | None = None, first: str = "") -> subprocess.Popen[bytes]:
    """The command line, on a cluster if there is one; then every file is a task of its own, and
    a driver that reads by itself fails."""
    script = (
        f"{first}\n"
        "import sys\n"
        "from pdtriage.reading import on_ray\n"
        "on_ray.MOST_BATCH = 1\n"
        "on_ray.read_one = None\n"
        "from pdtriage.__main__ import main\n"
        "main(sys.argv[1:])\n"
    )
    flags = ["--engine", "ray", "--address", cluster.address] if cluster else []
    command = ["analyze", f"{web.url}/log/", "--no-cache", "-f", "json", *flags]
    return subprocess.Popen(
        [sys.executable, "-c", script, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def slow_web(files: int, delay: float) -> Web:
    folder = SCENARIOS / NAMES[0] / "log"
    tree = {f"log/{path.name}": path.read_bytes() for path in folder.iterdir()}
    calm = b"step 1 loss 0.5\n" * 50
    return Web({**{f"log/workerlog.{n}": calm for n in range(3, files)}, **tree}, delay=delay)


def until(happened: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.02)


def steady(count: Callable[[], int], seconds: float = 1.5) -> int:
    """The number, once it has stayed the same for so long."""
    changed, last = time.monotonic(), count()

    def has_stayed() -> bool:
        nonlocal changed, last
        if count() != last:
            changed, last = time.monotonic(), count()
        return time.monotonic() - changed > seconds

    until(has_stayed)
    return last


def main() -> None:
    cluster = Cluster(initialize_head=True, head_node_args={"include_dashboard": False, **NODE})
    try:
        for _ in range(2):
            cluster.add_node(wait=False, **NODE)
        cluster.wait_for_nodes()
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        outcome = {}
        for tell in STORIES:
            began = time.monotonic()
            outcome[tell.__name__] = {**tell(cluster), "seconds": time.monotonic() - began}
        Path(sys.argv[1]).write_text(json.dumps(outcome))
    finally:
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main()
