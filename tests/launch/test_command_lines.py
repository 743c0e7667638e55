"""Every documented command line leads to the right plan.

The lines are those of the users' documentation; what follows `python -m paddle.distributed.launch`
or `fleetrun` there follows `pdtriage run` here. Cards are a stand-in: no machine of ours has any.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.options.parse import parse_flags
from pdtriage.launch.options.unsupported import run_mode_of
from pdtriage.launch.plan import cluster as clusters
from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.plan.collective import plan_collective
from pdtriage.launch.plan.devices import assign, find_devices
from pdtriage.launch.plan.interpreter import PaddleWheel
from pdtriage.launch.plan.process_plan import Plan, Start
from pdtriage.support.errors import UserError

GPU_WHEEL = PaddleWheel("gpu", "3.3.1", "paddlepaddle-gpu")
CPU_WHEEL = PaddleWheel("cpu", "3.3.1", "paddlepaddle")

START = Start("python", "podpod", "launch")


@dataclass
class StandInCards:
    """Answers as a machine with so many cards would."""

    cards: Mapping[str, int]

    def count(self, kind: str) -> int | None:
        return self.cards.get(kind)


def plan_of(
    line: str,
    environ: Mapping[str, str] | None = None,
    *,
    cards: int = 8,
    wheel: PaddleWheel | None = GPU_WHEEL,
    host: str | None = None,
) -> Plan:
    variables = dict(environ or {})
    flags = parse_flags(shlex.split(line), variables)
    if host is not None:
        flags = flags._replace(host=host)
    devices = find_devices(flags, variables, wheel, StandInCards({"gpu": cards}))
    assignments = assign(flags, devices)
    cluster = _cluster(flags, len(assignments), variables)
    return plan_collective(flags, devices, assignments, cluster, START)


def _cluster(flags: LaunchFlags, processes: int, environ: Mapping[str, str]) -> Cluster:
    meeting, flags = clusters.how_to_meet(flags, environ)
    make = {"cloud": clusters.from_cloud, "ips": clusters.from_ips, "alone": clusters.alone}
    return make[meeting](flags, processes, environ)


def cards_of(plan: Plan) -> list[str]:
    return [process.variables["FLAGS_selected_gpus"] for process in plan.processes]


TWO = '--ips="192.168.0.1,192.168.0.2"'


@pytest.mark.parametrize(
    ("line", "environ", "cards"),
    [
        ("--gpus 0,1,2,3,4,5,6,7 train.py --batch_size=64", {}, list("01234567")),
        ("--gpus 2,3 train.py --batch_size=64", {}, ["2", "3"]),
        ("--gpus 0,1,2,3,4,5,6,7 train_script", {}, list("01234567")),
        ("--gpus=0,1 train_fleet_dygraph.py", {}, ["0", "1"]),
        ("--gpus=0,1 train_fleet_static.py", {}, ["0", "1"]),
        ("--gpus=0 train.py", {}, ["0"]),
        ("train.py", {"CUDA_VISIBLE_DEVICES": "0"}, ["0"]),
        ("--gpus=0,1,2,3 train.py", {}, list("0123")),
        ("train.py", {"CUDA_VISIBLE_DEVICES": "0,1,2,3"}, list("0123")),
        ("res_app.py", {"CUDA_VISIBLE_DEVICES": "0,1,2,3"}, list("0123")),
        ("train.py", {}, list("01234567")),
        ("--gpus=4,5 train.py", {"CUDA_VISIBLE_DEVICES": "4,5,6,7"}, ["0", "1"]),
        ("--gpus=4,5,6,7 train.py", {"CUDA_VISIBLE_DEVICES": "4,5,6,7"}, list("0123")),
        ("--selected-gpus 1,2 train.py", {}, ["1", "2"]),
        ("--devices=3 train.py", {}, ["3"]),
        ("train.py", {"CUDA_VISIBLE_DEVICES": "all"}, list("01234567")),
        ("--nproc_per_node 2 train.py", {}, ["0", "1"]),
        ("--nproc-per-node=1 train.py", {}, ["0,1,2,3,4,5,6,7"]),
        ("--legacy true --nproc_per_node 2 train.py", {}, ["0,1,2,3", "4,5,6,7"]),
    ],
)
def test_one_node(line: str, environ: dict[str, str], cards: list[str]) -> None:
    plan = plan_of(line, environ)
    assert cards_of(plan) == cards
    assert plan.world_size == len(cards)
    assert [process.rank for process in plan.processes] == list(range(len(cards)))
    assert len(set(plan.cluster.all_endpoints)) == len(cards)
    script = next(word for word in shlex.split(line) if word.startswith(("train", "res_app")))
    behind = shlex.split(line)[shlex.split(line).index(script) :]
    argv = list(plan.processes[0].argv)
    assert argv == (["python", "-u"] if script.endswith(".py") else []) + behind


@pytest.mark.parametrize(
    ("line", "environ", "each"),
    [
        (f'--gpus="0,1,2,3,4,5,6,7" {TWO} train.py --batch_size=64', {}, 8),
        (f"--gpus=0,1,2,3 {TWO} train.py --batch_size=64", {}, 4),
        (f"--gpus=0,1 {TWO} train.py --batch_size=64", {}, 2),
        (f"--gpus=2,3 {TWO} train.py --batch_size=64", {}, 2),
        (f'--gpus="0,1,2,3" {TWO} train.py', {}, 4),
        (f"{TWO} train.py", {}, 8),
        (f'--gpus="0,1" {TWO} train.py', {}, 2),
        (f"{TWO} train_script", {}, 8),
        (f"--gpus=0,1,2,3 {TWO} train_script", {}, 4),
        (f"{TWO} --gpus 0,1,2,3,4,5,6,7 train_fleet_dygraph.py", {}, 8),
        (f"{TWO} --gpus 0,1,2,3,4,5,6,7 train_fleet_static.py", {}, 8),
        (f"{TWO} --gpus=0,1,2,3 train.py", {}, 4),
        (f"{TWO} train.py", {"CUDA_VISIBLE_DEVICES": "0,1,2,3"}, 4),
    ],
)
@pytest.mark.parametrize("node", [0, 1])
def test_two_nodes_by_their_addresses(
    line: str, environ: dict[str, str], each: int, node: int
) -> None:
    plan = plan_of(line, environ, host=f"192.168.0.{node + 1}")
    expected = [f"{ip}:{6070 + i}" for ip in ("192.168.0.1", "192.168.0.2") for i in range(each)]
    assert list(plan.cluster.all_endpoints) == expected
    assert [p.rank for p in plan.processes] == [node * each + i for i in range(each)]
    assert [p.log for p in plan.processes] == [f"workerlog.{i}" for i in range(each)]
    first = plan.processes[0].variables
    assert first["PADDLE_TRAINERS_NUM"] == str(2 * each)
    assert first["PADDLE_CURRENT_ENDPOINT"] == expected[node * each]
    assert first["PADDLE_MASTER"] == expected[0]


CLOUD = {
    "PADDLE_TRAINERS": "10.0.0.1,10.0.0.2",
    "PADDLE_TRAINERS_NUM": "2",
    "TRAINER_PORTS_NUM": "20",
    "PADDLE_PORT": "2379",
}


@pytest.mark.parametrize("line", ['--gpus="0,1,2,3,4,5,6,7" train.py', "train.py"])
@pytest.mark.parametrize("node", [0, 1])
def test_paddlecloud_needs_no_addresses(line: str, node: int) -> None:
    environ = CLOUD | {"POD_IP": f"10.0.0.{node + 1}", "PADDLE_TRAINER_ID": str(node)}
    plan = plan_of(line, environ)
    assert plan.cluster.node_rank == node
    assert plan.cluster.all_endpoints[8] == "10.0.0.2:2379"
    assert [p.rank for p in plan.processes] == list(range(node * 8, node * 8 + 8))


def test_paddlecloud_with_listed_endpoints() -> None:
    listed = [f"10.0.0.{n}:{p}" for n in (1, 2) for p in (7001, 7002, 7003)]
    environ = CLOUD | {
        "POD_IP": "10.0.0.2",
        "PADDLE_TRAINER_ID": "1",
        "TRAINER_PORTS_NUM": "3",
        "DISTRIBUTED_TRAINER_ENDPOINTS": ",".join(listed),
    }
    plan = plan_of("--gpus=0,1 train.py", environ)
    assert plan.cluster.all_endpoints == (
        *("10.0.0.1:7001", "10.0.0.1:7002"),
        *("10.0.0.2:7001", "10.0.0.2:7002"),
    )


def test_a_paddlejob_pod_may_be_known_by_name() -> None:
    """paddle-operator with `intranet: Service` puts names where others put addresses."""
    environ = CLOUD | {
        "PADDLE_TRAINERS": "resnet-worker-0,resnet-worker-1",
        "PADDLE_TRAINER_ENDPOINTS": "resnet-worker-0:2379,resnet-worker-1:2379",
        "POD_IP": "resnet-worker-1",
        "PADDLE_TRAINER_ID": "1",
        "TRAINING_ROLE": "TRAINER",
    }
    plan = plan_of("train_fleet.py", environ, cards=1)
    assert plan.cluster.own_endpoints == ("resnet-worker-1:2379",)
    assert plan.processes[0].rank == 1


@pytest.mark.parametrize(
    ("line", "mode"),
    [
        ("--server_num=1 --worker_num=2 --gpus=0,1 train.py", "ps"),
        ("--server_num=1 --worker_num=4 train.py", "ps"),
        (
            '--servers="xx.xx.xx.xx:6170,yy.yy.yy.yy:6171" '
            '--workers="xx.xx.xx.xx:6172,yy.yy.yy.yy:6176" train.py',
            "ps",
        ),
        ("--server_num=1 --worker_num=2 --heter_worker_num=2 train.py", "ps-heter"),
        ('--heter_workers="192.168.0.16:6172,192.168.0.17:6172" train.py', "ps-heter"),
        ("--run_mode ps train.py", "ps"),
        ("--run_mode collective --gpus 0 train.py", "collective"),
        ("train.py", "collective"),
    ],
)
def test_the_mode_follows_from_the_flags(line: str, mode: str) -> None:
    assert run_mode_of(parse_flags(shlex.split(line), {})) == mode


def test_elastic_and_rendezvous_flags_are_understood() -> None:
    line = "--elastic_server=127.0.0.1:2379 --np=2 --job_id=job1 --host 10.0.0.3 train.py"
    flags = parse_flags(shlex.split(line), {})
    assert (flags.elastic_server, flags.np) == ("127.0.0.1:2379", "2")
    assert (flags.job_id, flags.host) == ("job1", "10.0.0.3")
    flags = parse_flags(shlex.split("--master 123.45.67.89:25880 --nnodes=2 demo.py"), {})
    assert clusters.how_to_meet(flags, {})[0] == "master"
    flags = parse_flags(["--nnodes=2", "demo.py"], {})
    assert clusters.how_to_meet(flags, {})[0] == "master"
    assert parse_flags(["--help"], {}).help


@pytest.mark.parametrize(
    ("line", "environ", "says"),
    [
        ("--gpus=0,9 train.py", {}, "Card 9 of --gpus is not visible"),
        ("--gpus=2 train.py", {"CUDA_VISIBLE_DEVICES": "4,5"}, "visible are 4,5"),
        ("--gpus=1,1 train.py", {}, "twice"),
        ("--nproc_per_node=9 train.py", {}, "needs 9 cards"),
        ("--nproc_per_node=0 train.py", {}, "cannot be 0"),
        ("--nproc_per_node=two train.py", {}, "a number"),
        ("--gpu_list=1 train.py", {}, "no flag --gpu_list"),
        ("--gpuss=1 train.py", {}, "--gpus?"),
        ("--gpus", {}, "needs a value"),
        ("", {}, "No training script"),
        ("--run_mode=cluster train.py", {}, "collective, ps"),
        ("--nnodes=x train.py", {}, "--nnodes cannot be"),
        ("--log_ train.py", {}, "may mean"),
        (f"{TWO} train.py", {}, "is not in --ips"),
        ("--ips=192.168.0.1,127.0.0.1 train.py", {}, "different machine on every node"),
        ("--gpus=0 train.py", {"CUDA_VISIBLE_DEVICES": ""}, "CUDA_VISIBLE_DEVICES hides them"),
        ("train.py", CLOUD | {"POD_IP": "a", "PADDLE_TRAINER_ID": "5"}, "names 2 nodes"),
    ],
)
def test_what_cannot_work_is_refused_with_a_sentence(
    line: str, environ: dict[str, str], says: str
) -> None:
    with pytest.raises(UserError) as refused:
        plan_of(line, environ)
    assert says in refused.value.text.en
    assert refused.value.text.zh != refused.value.text.en


def test_a_cpu_wheel_means_cpu_whatever_the_machine_has() -> None:
    plan = plan_of("--nproc_per_node=2 train.py", wheel=CPU_WHEEL)
    assert [p.variables["PADDLE_DISTRI_BACKEND"] for p in plan.processes] == ["gloo", "gloo"]
    assert all("FLAGS_selected_gpus" not in p.variables for p in plan.processes)
    with pytest.raises(UserError, match="only use the CPU"):
        plan_of("--gpus=0,1 train.py", wheel=CPU_WHEEL)


def test_a_plugin_makes_the_cpu_wheel_an_npu_wheel() -> None:
    wheel = PaddleWheel("npu", "3.3.0", "paddle-custom-npu", custom=True)
    flags = parse_flags(["--npus=1,2", "train.py"], {})
    devices = find_devices(flags, {}, wheel, StandInCards({"npu": 8}))
    plan = plan_collective(
        flags,
        devices,
        assign(flags, devices),
        clusters.alone(flags, 2, {}),
        START,
    )
    variables = plan.processes[1].variables
    assert variables["FLAGS_selected_npus"] == "2"
    assert variables["PADDLE_DISTRI_BACKEND"] == "xccl"
    assert variables["PADDLE_XCCL_BACKEND"] == "npu"


def test_variables_override_flags_and_say_so() -> None:
    environ = {"PADDLE_NNODES": "4", "PADDLE_LOG_DIR": "out", "PADDLE_JOB_ID": "same"}
    flags = parse_flags(["--nnodes=2", "--job_id=same", "train.py"], environ)
    assert (flags.nnodes, flags.log_dir, flags.job_id) == ("4", "out", "same")
    notes = sorted(note.en for note in flags.notes)
    assert notes == [
        "environment variable PADDLE_LOG_DIR=out sets --log_dir",
        "environment variable PADDLE_NNODES=4 overrides --nnodes",
    ]


def test_start_port_of_the_legacy_launcher() -> None:
    environ = {"FLAGS_START_PORT": "21000"}
    plan = plan_of("--gpus=0,1 train.py", environ)
    assert [e.rpartition(":")[2] for e in plan.cluster.all_endpoints] == ["21000", "21001"]
    newer = parse_flags(["train.py"], environ | {"PADDLE_START_PORT": "22000"})
    assert newer.start_port == 22000


def test_two_pods_on_one_host_get_ports_of_their_own() -> None:
    line = "--ips=10.1.1.1,10.1.1.1 --rank=1 --nproc_per_node=2 train.py"
    plan = plan_of(line, wheel=CPU_WHEEL)
    ports = [e.rpartition(":")[2] for e in plan.cluster.all_endpoints]
    assert ports == ["6070", "6071", "6072", "6073"]
    assert [p.rank for p in plan.processes] == [2, 3]


def test_our_own_flags_do_not_reach_paddles_launcher() -> None:
    words = ["--launcher", "paddle", "--auto_tuner_json", "t.json", "--settle=1", "--new_flag", "3"]
    flags = parse_flags([*words, "--quiet", "train.py", "--settle", "9"], {})
    assert flags.passthrough == (
        *("--auto_tuner_json", "t.json", "--new_flag", "3"),
        *("train.py", "--settle", "9"),
    )
    assert flags.training_script_args == ("--settle", "9")


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["--log_overwrite", "true"], True),
        (["--log-overwrite=0"], False),
        (["--log_overwrite"], True),
    ],
)
def test_switches_take_a_word_or_none(words: list[str], value: bool) -> None:
    flags = parse_flags([*words, "train.py"], {})
    assert flags.log_overwrite is value
    assert flags.training_script == "train.py"


def test_a_unique_beginning_is_enough() -> None:
    assert parse_flags(["--nproc", "3", "--dev=0", "train.py"], {}).nproc_per_node == 3
