"""Given a Ray cluster, when the logs are read there, then the report is the same, come what may.

One cluster serves all: `cluster_story.py` plays the stories, the tests here look at how they ended.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from pdtriage.model import LogFile
from pdtriage.reading.on_ray import Wanted, batches_of
from pdtriage.sources import Source
from pdtriage.sources.byte_stream import Memory
from tests.cli.conftest import Command

ROOT = Path(__file__).parents[2]
ALONE = (["unshare", "-n"], ["unshare", "-rn"])
"""A network of its own, as root and as anybody else; the loopback in it has to be switched on."""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    told = tmp_path_factory.mktemp("ray") / "outcome.json"
    command = [*_network(), sys.executable, "-m", "tests.reading.cluster_story", str(told)]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    with tempfile.TemporaryDirectory(prefix="ray-") as short:  # paths of sockets must be
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**inherited, "RAY_TMPDIR": short},
            capture_output=True,
            timeout=1200,
            check=False,
        )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    outcome: dict[str, Any] = json.loads(told.read_text())
    return outcome


def _network() -> list[str]:
    """Ray opens many ports and looks for an address that others can reach: not from here."""
    for alone in ALONE if shutil.which("unshare") and shutil.which("ip") else ():
        network = [*alone, "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
        if subprocess.run([*network, "true"], capture_output=True, check=False).returncode == 0:
            return network
    pytest.skip("needs a network namespace of its own (unshare -n)")


def test_the_report_is_the_same(outcome: dict[str, Any]) -> None:
    assert outcome["same_report"]["same"] == [True, True, True]
    assert outcome["same_report"]["read_by_driver"] == [], "the nodes did it"


def test_many_batches_are_folded_by_the_nodes(outcome: dict[str, Any]) -> None:
    assert outcome["many_batches_are_folded"]["same"]
    assert max(outcome["many_batches_are_folded"]["folded"]) == 3


def test_what_only_the_driver_sees_is_read_by_the_driver(outcome: dict[str, Any]) -> None:
    assert outcome["what_only_the_driver_sees"]["same"]
    assert len(outcome["what_only_the_driver_sees"]["read_by_driver"]) == 4


def test_nodes_with_another_version_are_told_once(outcome: dict[str, Any]) -> None:
    told = outcome["nodes_with_another_version"]
    assert told["code"] == 2
    assert told["out"] == ""
    assert "pip install pdtriage==9.9.9" in told["said"]
    assert len(told["said"].splitlines()) == 1, "though every task of every node had failed"


def test_a_connection_that_stays_survives_it(outcome: dict[str, Any]) -> None:
    assert outcome["stopped_early_on_a_connection_that_stays"]["stopped"] == 50


def test_what_ray_gives_up_is_read_by_the_driver(outcome: dict[str, Any]) -> None:
    assert outcome["tasks_that_die_each_time"]["same"]
    assert len(outcome["tasks_that_die_each_time"]["read_by_driver"]) == 4


def test_ctrl_c_ends_the_work_on_the_nodes(outcome: dict[str, Any]) -> None:
    told = outcome["ctrl_c"]
    assert told["code"] == 130
    assert told["out"] == ""
    assert not told["traceback"]
    assert told["sent_later"] == told["sent"] < 100


def test_a_ctrl_c_that_python_dropped_counts(outcome: dict[str, Any]) -> None:
    told = outcome["ctrl_c_in_a_callback"]
    assert told["swallowed"]
    assert (told["code"], told["out"]) == (130, "")
    assert told["sent"] < 150


def test_a_lost_node_changes_nothing_but_the_time(outcome: dict[str, Any]) -> None:
    told = outcome["a_node_is_lost"]
    assert told["same"], "byte for byte, whatever Ray has to say about it"
    assert told["length"] > 1000
    assert told["code"] == 1, "the job had failed; the driver did not have to read"
    assert told["said"] == ""
    assert told["sent_before"] < 15, "it was lost in the middle"


def test_without_an_address_one_is_started(outcome: dict[str, Any]) -> None:
    assert outcome["one_of_its_own"]["same"], outcome["one_of_its_own"]["said"]
    assert outcome["one_of_its_own"]["said"] == ""


def test_small_logs_travel_together() -> None:
    def log(number: int, size: int) -> Wanted:
        file = LogFile(f"log/workerlog.{number}", "worker", "log", number, size=size)
        return Source(file, Memory(b"")), "anywhere"

    wanted = [log(n, 10_000) for n in range(100)] + [log(100, 9_000_000), log(101, 5)]
    batches = batches_of(wanted, 2 << 20)
    assert [len(batch) for batch in batches] == [64, 36, 1, 1]
    assert [one for batch in batches for one in batch] == wanted, "in their order"


def test_nobody_at_the_address(pdtriage: Command, tmp_path: Path) -> None:
    (tmp_path / "workerlog.0").write_text("step 1\n")
    told = pdtriage("analyze", "workerlog.0", "--engine", "ray", "--address", "127.0.0.1:9")
    assert told.code == 2
    assert told.err.startswith("pdtriage: --engine ray: no cluster at 127.0.0.1:9")
    assert len(told.err.splitlines()) == 1


def test_without_ray_the_command_says_what_to_install(pdtriage: Command, tmp_path: Path) -> None:
    (tmp_path / "ray.py").write_text("raise ImportError('not here')\n")
    (tmp_path / "workerlog.0").write_text("step 1\n")
    told = pdtriage("analyze", "workerlog.0", "--engine", "ray", PYTHONPATH=str(tmp_path))
    assert told.code == 2
    assert "pip install 'pdtriage[ray]'" in told.err
    told = pdtriage("analyze", "workerlog.0", PYTHONPATH=str(tmp_path))
    assert told.code == 0, "and nobody else needs it"
