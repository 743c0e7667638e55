"""Nodes of an elastic job that come, go and are killed at random, in network namespaces (root).

    python -m benchmarks.elastic --steps 50 --nodes 4 --size 2:4 --seed 1

Prints one JSON object; stops with an error at the first wrong world, lost attempt, stuck node or
orphan.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
import time
from pathlib import Path

from tests.launch.churn import Churn, hub


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--size", default="2:4")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--disturbed", action="store_true", help="pause and restart etcd, too")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(tempfile.TemporaryDirectory(prefix="pdtriage-elastic-"))
        folder = asked.folder or Path(made)
        folder.mkdir(exist_ok=True)
        network = stack.enter_context(hub(asked.nodes))
        churn = Churn(network, folder, asked.size, asked.seed, disturbed=asked.disturbed)
        stack.callback(churn.close)
        began = time.monotonic()
        churn.fill()
        for number in range(asked.steps):
            print(f"{number + 1}: {churn.step()}", flush=True)
        found = churn.finish()
        print(json.dumps({**found, "seconds": round(time.monotonic() - began)}, indent=1))


if __name__ == "__main__":
    main()
