"""docs/compatibility.md has a row for all that Paddle's launchers know, and each row holds."""

from __future__ import annotations

import json
import re
import signal
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
from pdtriage.launch.plan.addresses import free_ports
from pdtriage.launch.plan.cluster import how_to_meet
from pdtriage.launch.plan.environment import child_environment
from pdtriage.launch.plan.interpreter import PaddleWheel
from pdtriage.launch.supervise.events import Planned
from pdtriage.support.errors import UserError

from ..ports import free_port
from .conftest import NO_SECRET, SCRIPTS, Launcher
from .test_command_lines import CPU_WHEEL, GPU_WHEEL
from .test_command_lines import plan_of as collective_plan
from .test_environment import PLANS
from .test_ps_brpc import PYTHON as PADDLE_26
from .test_ps_brpc import why_not

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"
FLAG_OF = {name: flag for flag in FLAGS for name in flag.names}
SIDE_BY_SIDE = [
    pytest.param(Path(sys.executable), id="3.3"),
    pytest.param(
        PADDLE_26, id="2.6", marks=pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")
    ),
]
OF_OLDER_LAUNCHERS = {"--selected_gpus"}
VARIABLES = (
    "Variables that stand for flags",
    "Variables of platforms",
    "Further variables that the launchers read",
    "The environment of a child",
)
OF_THE_LEGACY_LAUNCHER = {"PADDLE_ELASTIC_SERVER", "PADDLE_ELASTIC_NP", "PADDLE_ELASTIC_JOB_ID"}


def table(heading: str) -> list[list[str]]:
    """The rows of the table below a heading, without the marks around code."""
    section = PAGE.read_text().split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip().strip("`") for cell in row.strip("| ").split(" | ")] for row in rows]


NPU = PaddleWheel("npu", "3.3.0", "paddle-custom-npu", custom=True)
XPU = PaddleWheel("xpu", "3.3.1", "paddlepaddle-xpu")


def value_of(name: str) -> str:
    flag = FLAG_OF[name]
    if flag.choices:
        return flag.choices[-1]
    return {int: "7", float: "7", bool: "true"}.get(flag.kind, "7:8")  # type: ignore[call-overload]


def ask_launchers(python: Path) -> dict[str, Any]:
    """What the launchers of an installed Paddle know."""
    done = subprocess.run(
        [python, SCRIPTS / "ask_paddles_launchers.py"], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.live
@pytest.mark.parametrize("python", SIDE_BY_SIDE)
def test_each_flag_and_variable_of_paddle_has_a_row(python: Path) -> None:
    theirs = ask_launchers(python)
    rows = {row[0] for row in table("Flags")}
    assert set(theirs["flags"]) <= rows
    known = {variable: flag for variable, flag, _ in table("Variables that stand for flags")}
    assert {
        name: f"--{flag}" for name, flag in theirs["stand_for_flags"].items()
    }.items() <= known.items()
    if python != PADDLE_26:  # and no row of a flag that the newest has not
        assert rows == {*theirs["flags"], *OF_OLDER_LAUNCHERS}
        assert known.keys() - theirs["stand_for_flags"] == OF_THE_LEGACY_LAUNCHER

    assert set(theirs["variables"]) <= {row[0] for name in VARIABLES for row in table(name)}


@pytest.mark.live
def test_each_message_of_paddle_has_a_row_and_each_row_is_a_message() -> None:
    theirs = [
        ask_launchers(param.values[0])["messages"]
        for param in SIDE_BY_SIDE[: 1 if why_not() else 2]
    ]
    shown, otherwise = table("Lines on the console"), table("Messages in other words")
    rows = [" ".join(row[0].split()) for row in (*shown, *otherwise)]
    said = {" ".join(message.split()) for messages in theirs for message in messages}

    def is_of(row: str, message: str) -> bool:
        start = message.partition("{}")[0].strip()
        return (start or message) in row or message.startswith(row)

    assert [one for one in sorted(said) if not any(is_of(row, one) for row in rows)] == []
    for row, here in otherwise:
        assert here.startswith(("yes", "differs: ", "refused: ")), row
        assert any(message.startswith(" ".join(row.split())) for message in said), row


def test_the_chinese_page_has_the_same_rows() -> None:
    pages = [PAGE, PAGE.parent / "zh" / PAGE.name]
    rows = [re.findall(r"^\| (`.+?`) \|", page.read_text(), re.MULTILINE) for page in pages]
    assert rows[0] == rows[1]
    words = [("yes", "相同"), ("differs", "不同"), ("refused", "拒绝")]
    last = [re.findall(r"\| (\w+)[^|]*\|$", page.read_text(), re.MULTILINE) for page in pages]
    kinds = [
        [word[side] for cell in last[side] for word in words if cell.startswith(word[side])]
        for side in (0, 1)
    ]
    assert [dict(words)[kind] for kind in kinds[0]] == kinds[1]


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
            plans.append(
                collective_plan("--npus=0,1 train.py", {"NPU_VISIBLE_DEVICES": "0,1"}, wheel=NPU)
            )
        if mode == "ps":
            plans.append(PLANS["coordinator"][0](PLANS["coordinator"][1]))
        given = {
            name
            for plan in plans
            for process in plan.processes
            for name in child_environment({}, process.variables, "backup")
        }
        assert given - {"PDTRIAGE_LAUNCH"} == rows_of, mode


def test_a_further_variable_does_what_its_row_says() -> None:
    rows = {
        variable: here for variable, _, here in table("Further variables that the launchers read")
    }
    etcd = {f"PADDLE_ELASTIC_ETCD_SERVICE_{part}": "7" for part in ("HOST", "PORT")}
    fixed = str(free_port())
    ports = range(int(fixed), int(fixed) + 100)
    held = {
        "PORT_RANGE": set(free_ports(3, {"PORT_RANGE": f"{ports[0]}:{ports[-1]}"})) <= {*ports},
        "FLAGS_FIXED_PORT": free_ports(1, {"FLAGS_FIXED_PORT": fixed}) == (int(fixed),),
        "PADDLE_ENV_LIMIT_LEN": "PADDLE_TRAINER_ENDPOINTS"
        not in child_environment(
            {"PADDLE_ENV_LIMIT_LEN": "5"}, {"PADDLE_TRAINER_ENDPOINTS": "a:1,b:2"}, "backup"
        ),
        **dict.fromkeys(etcd, parse_flags(["train.py"], etcd) == parse_flags(["train.py"], {})),
    }
    for proxy in ("http_proxy", "https_proxy"):
        held[proxy] = proxy not in child_environment({proxy: "http://10.0.0.1"}, {}, "backup")
    for visible in ("XPU_VISIBLE_DEVICES", "XPULINK_VISIBLE_DEVICES"):
        plan = collective_plan("--xpus=5 train.py", {visible: "4,5"}, wheel=XPU)
        held[visible] = plan.processes[0].variables["FLAGS_selected_xpus"] == "1"
    assert {name for name, here in rows.items() if here.startswith("yes")} == held.keys()
    assert all(held.values()), held
    assert all(here.startswith("differs: ") for name, here in rows.items() if name not in held)


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
    meeting = told_while_nodes_meet(launcher, tmp_path / "meeting")
    said = normal("".join(run.err for run in runs) + said_with_cards() + meeting)
    lines = [row[0] for row in table("Lines on the console")]
    assert lines
    assert [line for line in lines if normal(line) not in said] == []
    written = {file.name for run in runs for file in run.log_dir.iterdir()}
    pods = {name for name in written if re.fullmatch(r"default\.[a-z]{6}\.log", name)}
    made = {name.replace("N", "0") for name, _ in table("Files in the log folder")}
    assert made - {"<job>.<pod>.log", "<job>.gpu.log"} <= written
    assert len(pods) == len(runs)


@pytest.mark.live
def test_the_configuration_lists_what_paddles_launcher_lists(
    launcher: Launcher, tmp_path: Path
) -> None:
    ours = launcher.run("--nproc_per_node=1", "act.py", log_dir=tmp_path / "ours", env=NO_SECRET)
    paddles = launcher.run(
        *("--nproc_per_node=1", "act.py"),
        log_dir=tmp_path / "paddle",
        module="paddle.distributed.launch",
    )
    listed, expected = (
        dict(re.findall(r"^LAUNCH INFO \S+ \S+ (\w+): (.*)$", run.err, re.MULTILINE))
        for run in (ours, paddles)
    )
    tuners = {name for name in expected if name.startswith("auto_")}
    assert tuners == {"auto_cluster_config", "auto_parallel_config", "auto_tuner_json"}
    assert listed.keys() == expected.keys() - tuners
    assert {name for name in listed if listed[name] != expected[name]} == {"log_dir"}


def said_with_cards() -> str:
    """What a node with cards adds, by the flags of the legacy launcher."""
    plans = [
        ("--backend=nccl --gpus=0,1 train.py", {}, GPU_WHEEL),
        ("--xpus=0,1 train.py", {"XPU_VISIBLE_DEVICES": "0,1"}, XPU),
    ]
    return "".join(
        str(line)
        for words, environ, wheel in plans
        for _, line in lines_of(
            Planned(collective_plan(words, environ, wheel=wheel)),
            parse_flags(words.split(), environ),
        )
    )


def told_while_nodes_meet(launcher: Launcher, folder: Path) -> str:
    """What the first of two nodes says until it is told to stop."""
    node = launcher.start("--nnodes=2", "act.py", log_dir=folder)
    said = ""
    assert node.process.stderr is not None
    for line in node.process.stderr:
        said += line
        if "Waiting peer start..." in said and said.count("-" * 80) == 2:
            break
    node.signal(signal.SIGTERM)
    return said + node.finish().err


def normal(text: str) -> str:
    """Without numbers and made-up names."""
    return re.sub(r"\d+", "N", re.sub(r"Pod: [a-z]{6},", "Pod: X,", text))
