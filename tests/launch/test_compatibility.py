"""docs/compatibility.md has a row for all that Paddle's launchers know, and each row holds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pdtriage.launch.console.event_lines import lines_of
from pdtriage.launch.options.elastic import ttl_of
from pdtriage.launch.options.flags import FLAGS
from pdtriage.launch.options.parse import parse_flags
from pdtriage.launch.options.unsupported import is_given, refuse_unsupported
from pdtriage.launch.plan.cluster import how_to_meet
from pdtriage.launch.plan.environment import child_environment
from pdtriage.launch.supervise.events import Planned
from pdtriage.support.errors import UserError

from .conftest import SCRIPTS, Launcher
from .test_command_lines import CPU_WHEEL
from .test_command_lines import plan_of as collective_plan
from .test_environment import PLANS
from .test_ps_brpc import PYTHON as PADDLE_26
from .test_ps_brpc import why_not

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"
FLAG_OF = {name: flag for flag in FLAGS for name in flag.names}
OF_OLDER_LAUNCHERS = {"--selected_gpus"}
OF_THE_LEGACY_LAUNCHER = {"PADDLE_ELASTIC_SERVER", "PADDLE_ELASTIC_NP", "PADDLE_ELASTIC_JOB_ID"}


def table(heading: str) -> list[list[str]]:
    """The rows of the table below a heading, without the marks around code."""
    section = PAGE.read_text().split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip().strip("`") for cell in row.strip("| ").split(" | ")] for row in rows]


def value_of(name: str) -> str:
    flag = FLAG_OF[name]
    if flag.choices:
        return flag.choices[-1]
    return {int: "7", float: "7", bool: "true"}.get(flag.kind, "7:8")  # type: ignore[call-overload]


@pytest.mark.live
@pytest.mark.parametrize(
    "python",
    [
        pytest.param(Path(sys.executable), id="3.3"),
        pytest.param(
            PADDLE_26,
            id="2.6",
            marks=pytest.mark.skipif(bool(why_not()), reason=why_not() or "-"),
        ),
    ],
)
def test_each_flag_and_variable_of_paddle_has_a_row(python: Path) -> None:
    done = subprocess.run(
        [python, SCRIPTS / "list_paddles_flags.py"], capture_output=True, text=True, check=True
    )
    theirs: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    rows = {row[0] for row in table("Flags")}
    assert set(theirs["flags"]) <= rows
    known = {variable: flag for variable, flag, _ in table("Variables that stand for flags")}
    assert {
        name: f"--{flag}" for name, flag in theirs["variables"].items()
    }.items() <= known.items()
    if python != PADDLE_26:  # and no row of a flag that the newest has not
        assert rows == {*theirs["flags"], *OF_OLDER_LAUNCHERS}
        assert known.keys() - theirs["variables"] == OF_THE_LEGACY_LAUNCHER


@pytest.mark.parametrize(("name", "launcher", "here"), table("Flags"))
def test_a_flag_does_what_its_row_says(name: str, launcher: str, here: str) -> None:
    assert launcher in ("both", "new", "legacy")
    flags = parse_flags([f"{name}={value_of(name)}", "train.py"], {})
    assert FLAG_OF[name].name in flags.given
    if here.startswith("refused"):
        with pytest.raises(UserError):
            refuse_unsupported(flags)
    else:
        assert here == "yes" or here.startswith("differs: ")
        refuse_unsupported(flags)


@pytest.mark.parametrize(("variable", "name", "here"), table("Variables that stand for flags"))
def test_a_variable_does_what_its_row_says(variable: str, name: str, here: str) -> None:
    flag = FLAG_OF[name]
    flags = parse_flags(["train.py"], {variable: value_of(name)})
    changed = getattr(flags, flag.name) != flag.default
    assert changed is not here.startswith("differs")
    if here.startswith("refused"):
        with pytest.raises(UserError):
            refuse_unsupported(flags)


def test_each_variable_of_a_child_has_a_row_and_is_there() -> None:
    """In every mode: no more and no less than the page says."""
    rows = table("The environment of a child")
    for mode in ("collective", "rpc", "ps", "ps-heter"):
        rows_of = {name for name, modes, _ in rows if mode in modes.split(", ")}
        make, line, _ = PLANS[mode.removeprefix("ps-")]
        plans = [make(line)]
        if mode == "collective":
            plans.append(collective_plan("--nproc_per_node=2 train.py", wheel=CPU_WHEEL))
        given = {
            name
            for plan in plans
            for process in plan.processes
            for name in child_environment({}, process.variables, "backup")
        }
        assert given - {"PDTRIAGE_LAUNCH"} == rows_of, mode


@pytest.mark.parametrize(
    ("variable", "here"), [(r[0], r[2]) for r in table("Variables of platforms")]
)
def test_a_platforms_variable_changes_what_is_started(variable: str, here: str) -> None:
    assert here.startswith("yes")
    if variable == "PADDLE_ELASTIC_TTL":
        assert ttl_of({variable: "7"}) == 7
        return
    if variable == "TRAINING_ROLE":
        assert is_given("ps", {variable: "TRAINER", "PADDLE_PSERVERS_IP_PORT_LIST": "10.0.0.1:1"})
        return
    if variable in ("PADDLE_TRAINER_ENDPOINTS", "PADDLE_LAUNCH_WITH_ARGS"):
        listed = {"PADDLE_TRAINER_ENDPOINTS": "10.0.0.1:71,10.0.0.2:71"}
        flags = parse_flags(["train.py"], {})
        with_args = variable != "PADDLE_TRAINER_ENDPOINTS"
        environ = {**listed, "PADDLE_LAUNCH_WITH_ARGS": "1"} if with_args else listed
        _, flags = how_to_meet(flags, environ)
        assert (flags.nnodes, flags.master) == ("2", None if with_args else "10.0.0.1:71")
        return
    cloud = {
        "PADDLE_TRAINERS": "10.0.0.1,10.0.0.2",
        "POD_IP": "10.0.0.2",
        "PADDLE_TRAINER_ID": "1",
        "PADDLE_TRAINERS_NUM": "2",
        "TRAINER_PORTS_NUM": "2",
        "PADDLE_PORT": "6200",
    }
    others = {
        "PADDLE_TRAINERS": (cloud, "10.0.0.3,10.0.0.2"),
        "PADDLE_TRAINER_ID": (cloud, "0"),
        "PADDLE_TRAINERS_NUM": (cloud, "1"),
        "TRAINER_PORTS_NUM": (cloud, "1"),
        "PADDLE_PORT": (cloud, "6300"),
        "DISTRIBUTED_TRAINER_ENDPOINTS": (
            cloud,
            "10.0.0.1:71,10.0.0.1:72,10.0.0.2:71,10.0.0.2:72",
        ),
        "FLAGS_START_PORT": ({}, "6400"),
        "CUDA_VISIBLE_DEVICES": ({}, "1,3"),
    }
    environ, value = others[variable]
    ips = "--ips=127.0.0.1,127.0.0.2 " if variable == "FLAGS_START_PORT" else ""

    def started(environ: dict[str, str]) -> object:
        try:
            plan = collective_plan(f"{ips}--nproc_per_node=2 train.py", environ)
        except UserError as refused:
            return refused.text
        return [
            (process.device, process.variables.get("PADDLE_TRAINER_ENDPOINTS"), process.rank)
            for process in plan.processes
        ], plan.cluster.nodes

    assert started({**environ, variable: value}) != started(environ)


def test_lines_and_files_are_there(launcher: Launcher, tmp_path: Path) -> None:
    runs = [
        launcher.run(*words, log_dir=tmp_path / f"log{number}")
        for number, words in enumerate(
            [
                ("--ips=127.0.0.1", "--nproc_per_node=2", "act.py", "1=exit:3:0.5", "0=sleep"),
                ("--server_num=1", "--worker_num=2", "--heter_worker_num=1", "ps_net.py"),
                ("--server_num=1", "--worker_num=1", "--coordinator_num=1", "ps_net.py"),
                ("--nproc_per_node=2", "act.py"),
            ]
        )
    ]
    said = normal("".join(run.err for run in runs) + said_with_cards())
    lines = [row[0] for row in table("Lines on the console")]
    assert lines
    assert [line for line in lines if normal(line) not in said] == []
    written = {file.name for run in runs for file in run.log_dir.iterdir()}
    pods = {name for name in written if re.fullmatch(r"default\.[a-z]{6}\.log", name)}
    made = {name.replace("N", "0") for name, _ in table("Files in the log folder")}
    assert made - {"<job>.<pod>.log", "<job>.gpu.log"} <= written
    assert len(pods) == len(runs)


def said_with_cards() -> str:
    """What a node with cards adds, by the flags of the legacy launcher."""
    words = "--backend=nccl --gpus=0,1 train.py"
    flags = parse_flags(words.split(), {})
    return "".join(str(line) for _, line in lines_of(Planned(collective_plan(words)), flags))


def normal(text: str) -> str:
    """Without numbers and made-up names."""
    return re.sub(r"\d+", "N", re.sub(r"Pod: [a-z]{6},", "Pod: X,", text))
