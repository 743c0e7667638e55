"""What is common to all processes of a launch reaches the children of every mode."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from pdtriage.launch.options.parse import parse_flags
from pdtriage.launch.plan.environment import child_environment, launch_variables
from pdtriage.launch.plan.parameter_server import plan_given
from pdtriage.launch.plan.process_plan import Plan

from .conftest import Launcher
from .test_command_lines import START
from .test_command_lines import plan_of as collective_plan
from .test_ps_command_lines import plan_of as ps_plan

SERVERS = "--servers=127.0.0.1 --workers=127.0.0.1,127.0.0.1"


def given_plan(line: str) -> Plan:
    environ = {"TRAINING_ROLE": "TRAINER", "PADDLE_PSERVERS_IP_PORT_LIST": "10.0.0.1:6170"}
    return plan_given(parse_flags(shlex.split(line), environ), environ, START)


PLANS = {
    "collective": (collective_plan, "--devices=0,1 train.py", {"worker"}),
    "rpc": (collective_plan, "--run_mode=rpc --devices=0,1 train.py", {"worker"}),
    "ps": (ps_plan, f"{SERVERS} train.py", {"server", "worker"}),
    "heter": (
        ps_plan,
        f"{SERVERS} --heter_workers=127.0.0.1;127.0.0.1 train.py",
        {"server", "worker", "heter"},
    ),
    "coordinator": (
        ps_plan,
        f"{SERVERS} --coordinators=127.0.0.1 train.py",
        {"server", "worker", "coordinator"},
    ),
    "given": (given_plan, "train.py", {"worker"}),
}


@pytest.mark.parametrize("mode", PLANS)
def test_all_modes_have_what_is_common_to_a_launch(mode: str) -> None:
    make, line, roles = PLANS[mode]
    plan = make(line)
    assert {process.role for process in plan.processes} == roles
    for attempt in (0, 2):
        common = launch_variables(START.launch, attempt)
        assert common
        for process in plan.as_attempt(attempt).processes:
            assert common.items() <= process.variables.items()
            assert "PADDLE_LOG_DIR" in process.variables
            assert common.items() <= child_environment({}, process.variables, "backup").items()


def test_paddles_launcher_has_it_too(launcher: Launcher, tmp_path: Path) -> None:
    """Its children inherit what it was given."""
    package, written = tmp_path / "paddle" / "distributed" / "launch", tmp_path / "written.json"
    package.mkdir(parents=True)
    for folder in (package, *package.parents[:2]):
        (folder / "__init__.py").touch()
    (package / "__main__.py").write_text(
        f"import json, os\njson.dump(dict(os.environ), open({str(written)!r}, 'w'))\n"
    )
    done = launcher.run("--launcher=paddle", "train.py", env={"PYTHONPATH": str(tmp_path)})
    assert done.code == 0, done.err
    environment = json.loads(written.read_text())
    assert launch_variables(environment["PDTRIAGE_LAUNCH"]).items() <= environment.items()
