"""Every documented command line of a parameter-server or heter job leads to the right plan."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import pytest

from pdtriage.launch.options.parse import parse_flags
from pdtriage.launch.options.unsupported import is_given, run_mode_of
from pdtriage.launch.plan.interpreter import PaddleWheel
from pdtriage.launch.plan.parameter_server import plan_given, plan_ps, ps_devices
from pdtriage.launch.plan.process_plan import Plan, ProcessPlan, Start
from pdtriage.launch.plan.ps_roles import roles_of
from pdtriage.support.errors import UserError

from ..ports import free_run
from .test_command_lines import CPU_WHEEL, GPU_WHEEL, StandInCards

START = Start("python", "podpod", "launch")
TWO_SERVERS = '--servers="192.168.0.16:6170,192.168.0.17:6170"'
FOUR_WORKERS = '--workers="192.168.0.16:6171,192.168.0.16:6172,192.168.0.17:6171,192.168.0.17:6172"'
FLEETRUN = (
    '--servers="xx.xx.xx.xx:6170,yy.yy.yy.yy:6171" --workers="xx.xx.xx.xx:6172,xx.xx.xx.xx:6173,'
    "xx.xx.xx.xx:6174,xx.xx.xx.xx:6175,yy.yy.yy.yy:6176,yy.yy.yy.yy:6177,yy.yy.yy.yy:6178,"
    'yy.yy.yy.yy:6179" train.py'
)
HETER = (
    f'{TWO_SERVERS} --workers="192.168.0.16:6171,192.168.0.17:6171" '
    '--heter_workers="192.168.0.16:6172,192.168.0.17:6172" train.py --lr=0.01'
)


def plan_of(
    line: str,
    environ: Mapping[str, str] | None = None,
    *,
    wheel: PaddleWheel = CPU_WHEEL,
    cards: int = 8,
    host: str | None = None,
) -> Plan:
    variables = dict(environ or {})
    flags = parse_flags(shlex.split(line), variables)
    if host is not None:
        flags = flags._replace(host=host)
    mode = run_mode_of(flags)
    devices = ps_devices(flags, variables, wheel, StandInCards({"gpu": cards}))
    return plan_ps(flags, mode, devices, roles_of(flags, mode, variables), START)


def of_role(plan: Plan, role: str) -> list[ProcessPlan]:
    return [process for process in plan.processes if process.role == role]


def names(plan: Plan) -> list[str]:
    return [f"{process.role} {process.rank} {process.log}" for process in plan.processes]


@pytest.mark.parametrize(
    ("line", "servers", "workers"),
    [
        ("--server_num=1 --worker_num=2 --gpus=0,1 train.py", 1, 2),
        ("--server_num=1 --worker_num=4 train.py", 1, 4),
        ("--server_num=2 --worker_num=4 train.py --lr=0.01", 2, 4),
        ("--server_num 2 --trainer_num 4 train.py", 2, 4),
        ("--run_mode ps --server-num=2 --worker-num=3 train.py", 2, 3),
        ("--run_mode ps train.py", 1, 1),
        ("--server_num=2 train.py", 2, 1),
        ("--http_port=8901 --server_num=1 --worker_num=2 train.py", 1, 2),
        ("--servers=127.0.0.1:36170 --worker_num=2 train.py", 1, 2),
        ("--server_num=1 --servers=127.0.0.1:36170 --workers=127.0.0.1,127.0.0.1 train.py", 1, 2),
    ],
)
def test_one_machine(line: str, servers: int, workers: int) -> None:
    plan = plan_of(line)
    assert plan.mode == "ps"
    assert names(plan) == [f"server {i} serverlog.{i}" for i in range(servers)] + [
        f"worker {i} workerlog.{i}" for i in range(workers)
    ]
    assert plan.world_size == workers
    endpoints = [process.endpoint for process in plan.processes]
    assert len(set(endpoints)) == servers + workers
    assert {endpoint.rpartition(":")[0] for endpoint in endpoints} == {"127.0.0.1"}
    for process in plan.processes:
        got = process.variables
        listed = "SERVERS_IP_PORT_LIST" if process.role == "server" else "TRAINER_ENDPOINTS"
        full = f"PADDLE_P{listed}" if process.role == "server" else f"PADDLE_{listed}"
        assert got[full].split(",")[process.rank] == process.endpoint
        assert f"{got['POD_IP']}:{got['PADDLE_PORT']}" == process.endpoint
        assert got["PADDLE_TRAINERS_NUM"] == str(workers)


def test_the_variables_of_the_documented_tables() -> None:
    plan = plan_of("--server_num=1 --worker_num=2 --gpus=0,1 train.py", wheel=GPU_WHEEL)
    server, first, second = plan.processes
    shared = {
        "PADDLE_TRAINERS_NUM": "2",
        "PADDLE_GLOO_RENDEZVOUS": "3",
        "PADDLE_WITH_GLOO": "0",
        "PADDLE_HETER_TRAINER_IP_PORT_LIST": "",
        "PADDLE_PSERVERS_IP_PORT_LIST": server.endpoint,
        "PADDLE_TRAINER_ENDPOINTS": f"{first.endpoint},{second.endpoint}",
        "POD_IP": "127.0.0.1",
    }
    for process in plan.processes:
        assert process.variables.items() >= shared.items()
        assert process.variables["PADDLE_GLOO_HTTP_ENDPOINT"].startswith("127.0.0.1:")
        assert process.variables["PADDLE_GLOO_FS_PATH"]
    assert server.variables["TRAINING_ROLE"] == server.variables["PADDLE_ROLE"] == "PSERVER"
    assert "PADDLE_TRAINER_ID" not in server.variables
    for process, card in ((first, "0"), (second, "1")):
        assert process.variables["TRAINING_ROLE"] == process.variables["PADDLE_ROLE"] == "TRAINER"
        assert process.variables["PADDLE_TRAINER_ID"] == str(process.rank)
        assert process.variables["CUDA_VISIBLE_DEVICES"] == card
        assert process.variables["XPU_VISIBLE_DEVICES"] == card
        assert process.variables["FLAGS_selected_gpus"] == "0"
        assert process.variables["FLAGS_selected_xpus"] == "0"
        assert process.device == f"gpu:{card}"


def test_cards_are_shared_and_physical() -> None:
    line = "--server_num=2 --worker_num=4 train.py"
    plan = plan_of(line, {"CUDA_VISIBLE_DEVICES": "4,6"}, wheel=GPU_WHEEL)
    cards = [process.variables["CUDA_VISIBLE_DEVICES"] for process in of_role(plan, "worker")]
    assert cards == ["4", "6", "4", "6"]
    assert [process.device for process in of_role(plan, "server")] == [None, None]


def test_a_cpu_wheel_ignores_cards_and_says_so() -> None:
    plan = plan_of("--server_num=1 --worker_num=2 --gpus=0,1 train.py")
    assert [process.device for process in plan.processes] == [None] * 3
    assert "no effect" in plan.cluster.notes[0].en


@pytest.mark.parametrize(
    ("line", "host", "node", "expected"),
    [
        (
            f"{TWO_SERVERS} {FOUR_WORKERS} train.py --lr=0.01",
            "192.168.0.16",
            0,
            ["server 0 serverlog.0", "worker 0 workerlog.0", "worker 1 workerlog.1"],
        ),
        (
            f"{TWO_SERVERS} {FOUR_WORKERS} train.py --lr=0.01",
            "192.168.0.17",
            1,
            ["server 1 serverlog.0", "worker 2 workerlog.0", "worker 3 workerlog.1"],
        ),
        (
            FLEETRUN,
            "yy.yy.yy.yy",
            1,
            ["server 1 serverlog.0", *(f"worker {4 + i} workerlog.{i}" for i in range(4))],
        ),
        (
            "--servers=10.0.0.1:6170 --workers=10.0.0.2:6170 train.py",
            "10.0.0.1",
            0,
            ["server 0 serverlog.0"],
        ),
        (
            "--servers=10.0.0.1:6170 --trainers=10.0.0.2:6171,10.0.0.1:6171 train.py",
            "10.0.0.2",
            1,
            ["worker 0 workerlog.0"],
        ),
    ],
)
def test_several_machines(line: str, host: str, node: int, expected: list[str]) -> None:
    plan = plan_of(line, host=host)
    assert plan.cluster.node_rank == node
    assert names(plan) == expected
    for process in of_role(plan, "worker"):
        listed = process.variables["PADDLE_TRAINER_ENDPOINTS"].split(",")
        assert listed[int(process.variables["PADDLE_TRAINER_ID"])] == process.endpoint


@pytest.mark.parametrize("host", ["192.168.0.16", "192.168.0.17"])
def test_every_node_computes_the_same_ports(host: str) -> None:
    line = (
        "--servers=192.168.0.16,192.168.0.17 --workers=192.168.0.16,192.168.0.17 "
        "--heter_workers=192.168.0.17,192.168.0.17 train.py"
    )
    variables = plan_of(line, host=host).processes[0].variables
    assert variables["PADDLE_PSERVERS_IP_PORT_LIST"] == "192.168.0.16:6170,192.168.0.17:6171"
    assert variables["PADDLE_TRAINER_ENDPOINTS"] == "192.168.0.16:6172,192.168.0.17:6173"
    heter = variables["PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST"]
    assert heter == "192.168.0.17:6174,192.168.0.17:6175"
    assert variables["PADDLE_GLOO_HTTP_ENDPOINT"] == "192.168.0.16:6767"


def test_the_documented_workers_without_ports() -> None:
    line = f'{TWO_SERVERS} --workers="192.168.0.16,192.168.0.16,192.168.0.17:7000" train.py'
    plan = plan_of(line, host="192.168.0.16")
    listed = "192.168.0.16:6172,192.168.0.16:6173,192.168.0.17:6174"
    assert plan.processes[0].variables["PADDLE_TRAINER_ENDPOINTS"] == listed
    assert "have no port" in plan.cluster.notes[-1].en


def test_ports_can_be_fixed() -> None:
    start = free_run(4)
    line = f"--server_num=2 --worker_num=2 --http_port=8901 --start_port={start} train.py"
    plan = plan_of(line)
    assert [process.endpoint for process in plan.processes] == [
        f"127.0.0.1:{start + i}" for i in range(4)
    ]
    assert plan.processes[0].variables["PADDLE_GLOO_HTTP_ENDPOINT"] == "127.0.0.1:8901"
    legacy = plan_of("--server_num=1 --worker_num=1 train.py", {"FLAGS_START_PORT": str(start)})
    assert legacy.processes[1].endpoint == f"127.0.0.1:{start + 1}"


@pytest.mark.parametrize(
    ("line", "environ", "gloo"),
    [
        ("--server_num=1 --worker_num=1 train.py", {}, "0"),
        ("--server_num=1 --trainer_num=1 train.py", {}, "1"),
        ("--server_num=1 --trainer_num=1 train.py --worker_num=3", {}, "1"),
        ("--server_num=1 --worker_num=1 --with_gloo=2 train.py", {}, "2"),
        ("--server_num=1 --worker_num=1 train.py", {"PADDLE_WITH_GLOO": "1"}, "1"),
    ],
)
def test_gloo(line: str, environ: dict[str, str], gloo: str) -> None:
    plan = plan_of(line, environ)
    assert {process.variables["PADDLE_WITH_GLOO"] for process in plan.processes} == {gloo}


def test_documented_heter_on_one_machine() -> None:
    line = "--server_num=2 --worker_num=2 --heter_worker_num=2 train.py --lr=0.01"
    plan = plan_of(line, {"CUDA_VISIBLE_DEVICES": "0,1"}, wheel=GPU_WHEEL)
    assert plan.mode == "ps-heter"
    assert [process.log for process in of_role(plan, "heter")] == ["heterlog.0", "heterlog.1"]
    trainer, heter = of_role(plan, "worker")[0].variables, of_role(plan, "heter")[1].variables
    all_heter = ",".join(process.endpoint for process in of_role(plan, "heter"))
    for variables in (trainer, heter):
        assert variables["PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST"] == all_heter
        assert variables["PADDLE_STAGE_TRAINERS_NUM"] == "[2, 2]"
        assert variables["STAGE_NUM"] == "2"
    assert (trainer["STAGE_ID"], trainer["HETER_DEVICE_TYPE"]) == ("1", "cpu")
    assert trainer["PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST"] == all_heter
    assert trainer["PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST"] == ""
    assert (heter["STAGE_ID"], heter["HETER_DEVICE_TYPE"]) == ("2", "gpu")
    assert heter["TRAINING_ROLE"] == "HETER_TRAINER"
    assert heter["PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST"] == ""
    before = heter["PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST"]
    assert before == trainer["PADDLE_TRAINER_ENDPOINTS"]
    assert "PADDLE_TRAINER_ID" not in heter
    assert [process.device for process in of_role(plan, "heter")] == ["gpu:0", "gpu:1"]
    assert of_role(plan, "worker")[0].device is None


def test_documented_heter_on_two_machines() -> None:
    plan = plan_of(HETER, {"CUDA_VISIBLE_DEVICES": "0"}, wheel=GPU_WHEEL, host="192.168.0.17")
    assert names(plan) == ["server 1 serverlog.0", "worker 1 workerlog.0", "heter 1 heterlog.0"]
    assert plan.roles["heter"] == ("192.168.0.16:6172", "192.168.0.17:6172")


def test_stages_form_a_pipeline() -> None:
    line = (
        "--server_num=1 --worker_num=1 --heter_worker_num='2;1' --heter_devices='gpu;cpu' train.py"
    )
    plan = plan_of(line, wheel=GPU_WHEEL)
    first, second, last = of_role(plan, "heter")
    worker = of_role(plan, "worker")[0]
    stages = [process.variables["STAGE_ID"] for process in (worker, first, second, last)]
    assert stages == ["1", "2", "2", "3"]
    kinds = [process.variables["HETER_DEVICE_TYPE"] for process in (worker, first, last)]
    assert kinds == ["cpu", "gpu", "cpu"]
    middle = f"{first.endpoint},{second.endpoint}"
    assert worker.variables["PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST"] == middle
    assert second.variables["PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST"] == last.endpoint
    assert last.variables["PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST"] == middle
    assert last.variables["PADDLE_STAGE_TRAINERS_NUM"] == "[1, 2, 1]"
    assert last.device is None
    listed = line.replace(
        "--heter_worker_num='2;1'", "--heter_workers='127.0.0.1:36271,127.0.0.1:36272;127.0.0.1'"
    )
    assert [p.variables["STAGE_ID"] for p in of_role(plan_of(listed), "heter")] == ["2", "2", "3"]


def test_coordinators_by_number() -> None:
    """As the legacy launcher: a process beside servers and trainers, with a log of its own."""
    plan = plan_of("--server_num=1 --worker_num=2 --coordinator_num=1 train.py")
    assert plan.mode == "ps"
    assert names(plan)[3:] == ["coordinator 0 coordinator.0"]
    coordinator = plan.processes[3]
    got = coordinator.variables
    assert got["TRAINING_ROLE"] == "COORDINATOR"
    assert got["PADDLE_COORDINATOR_NUM"] == "1"
    assert got["PADDLE_TRAINER_ID"] == "0"
    assert f"{got['POD_IP']}:{got['PADDLE_PORT']}" == coordinator.endpoint
    for process in plan.processes:
        assert process.variables["PADDLE_COORDINATOR_ENDPOINTS"] == coordinator.endpoint
    assert plan.world_size == 2


def test_coordinators_by_name() -> None:
    line = f'{TWO_SERVERS} {FOUR_WORKERS} --coordinators="192.168.0.17:6180" train.py'
    for extra in ("", "--coordinator_num=1 "):
        first, second = (plan_of(extra + line, host=f"192.168.0.{n}") for n in (16, 17))
        assert not of_role(first, "coordinator")
        assert names(second)[-1] == "coordinator 0 coordinator.0"
        listed = {p.variables["PADDLE_COORDINATOR_ENDPOINTS"] for p in first.processes}
        assert listed == {"192.168.0.17:6180"}
    alone = "--servers=127.0.0.1:36170 --workers=127.0.0.1:36171 --coordinator_num=2 train.py"
    assert len({p.endpoint for p in plan_of(alone).processes}) == 4


def test_heter_devices_default_to_those_of_the_node() -> None:
    line = "--server_num=1 --worker_num=1 --heter_worker_num=1 train.py"
    for wheel, kind in ((CPU_WHEEL, "cpu"), (GPU_WHEEL, "gpu")):
        heter = of_role(plan_of(line, wheel=wheel), "heter")[0]
        assert heter.variables["HETER_DEVICE_TYPE"] == kind


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--server_num=2 --servers=127.0.0.1:6170 --worker_num=1 train.py", "names 1, but"),
        ("--server_num=0 --worker_num=1 train.py", "--server_num cannot be 0"),
        ("--servers=127.0.0.1:6170 train.py", "Neither --workers nor --worker_num"),
        ("--heter_worker_num=2 train.py", "Neither --servers nor --server_num"),
        ("--run_mode=ps-heter --server_num=1 --worker_num=1 train.py", "--heter_worker_num"),
        ("--servers=10.0.0.1:a --worker_num=1 train.py", "cannot name '10.0.0.1:a'"),
        ("--servers=10.0.0.1:6170,10.0.0.2:6170 --worker_num=1 train.py", "where the workers run"),
        ("--servers=10.0.0.1:6170 --workers=10.0.0.1:6170 train.py", "given to 2 processes"),
        ("--servers=10.0.0.1:6170 --workers=127.0.0.1:6170 train.py", "different machine on every"),
        ("--servers=203.0.113.1:6170 --workers=203.0.113.2:6170 train.py", "is not in --servers"),
        ("--server_num=1 --worker_num=1 --heter_worker_num=2;x train.py", "cannot be 'x'"),
        (
            "--server_num=1 --worker_num=1 --coordinator_num=2 --coordinators=127.0.0.1:1 train.py",
            "--coordinators names 1, but --coordinator_num says 2",
        ),
        (f"{TWO_SERVERS} {FOUR_WORKERS} --coordinator_num=1 train.py", "where the coordinators"),
        (
            "--server_num=1 --worker_num=1 --heter_worker_num=1;1;1 --heter_devices=gpu;cpu t.py",
            "names 2 stages, but there are 3",
        ),
    ],
)
def test_what_cannot_work_is_refused(line: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        plan_of(line.replace(";", "';'"))


def test_heter_flags_in_the_wrong_mode() -> None:
    flags = parse_flags(shlex.split("--run_mode ps --heter_worker_num=2 train.py"), {})
    assert run_mode_of(flags) == "ps"


PLATFORM = {
    "PADDLE_PSERVERS_IP_PORT_LIST": "ps-0:2379,ps-1:2379",
    "PADDLE_TRAINER_ENDPOINTS": "worker-0:2379,worker-1:2379",
    "PADDLE_TRAINERS": "worker-0,worker-1",
    "PADDLE_TRAINERS_NUM": "2",
    "TRAINER_PORTS_NUM": "1",
    "PADDLE_PORT": "2379",
    "PADDLE_TRAINER_ID": "1",
}


@pytest.mark.parametrize(
    ("own", "name"),
    [
        ({"TRAINING_ROLE": "PSERVER", "POD_IP": "ps-1"}, "server 1 serverlog.0"),
        ({"TRAINING_ROLE": "TRAINER", "POD_IP": "worker-1"}, "worker 1 workerlog.0"),
    ],
)
def test_a_platform_gives_the_environment(own: dict[str, str], name: str) -> None:
    environ = PLATFORM | own
    flags = parse_flags(["train.py"], environ)
    assert is_given(run_mode_of(flags), environ)
    plan = plan_given(flags, environ, START)
    assert names(plan) == [name]
    assert plan.mode == "ps"
    assert plan.world_size == 2
    assert not plan.processes[0].variables.keys() & environ.keys()


def test_who_is_on_a_platform() -> None:
    cloud = {name: PLATFORM[name] for name in PLATFORM if "IP_PORT" not in name}
    cloud |= {"POD_IP": "10.0.0.1"}
    assert is_given("ps", cloud)
    assert not is_given("collective", cloud | {"TRAINING_ROLE": "TRAINER"})
    assert not is_given("ps", {"POD_IP": "10.0.0.1"})
