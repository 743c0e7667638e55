"""Launches that are wrong in themselves, and ranks that do not agree."""

import signal

from ..scenario import Launch, Scenario, Stop, Truth, blame

LAUNCH = ("-m", "paddle.distributed.launch")

SCENARIOS = (
    Scenario(
        "script-not-found",
        "the script's name is misspelt",
        blame("config.launch", 0, 1, key="can't open file '/srv/train/tools/trian.py'"),
        (Launch(entry=(*LAUNCH, "--nproc_per_node", "2", "tools/trian.py")),),
    ),
    Scenario(
        "bad-flag-value",
        "the number of processes is not a number; no rank is ever started",
        Truth(
            "failed",
            "config.launch",
            key_line="error: argument --nproc_per_node: invalid int value",
        ),
        (Launch(entry=(*LAUNCH, "--nproc_per_node", "two", "train.py")),),
    ),
    Scenario(
        "bad-flag-legacy",
        "the legacy launcher does not take several hosts without GPUs; no rank is ever started",
        Truth("failed", "config.launch", key_line="CPUONLY launch only support single trainer"),
        (
            Launch(
                launcher="legacy",
                script="healthy_run.py",
                flags=("--ips", "10.77.0.1,10.77.0.2", "--backend", "gloo"),
            ),
        ),
    ),
    Scenario(
        "devices-flag-without-devices",
        "--devices on a machine that has none; no rank is ever started",
        Truth(
            "failed",
            "device.missing",
            also_ok=("config.launch",),
            key_line="ValueError: substring not found",
        ),
        (Launch(ranks=0, script="healthy_run.py", flags=("--devices", "0,1")),),
    ),
    Scenario(
        "device-missing",
        "the script asks for a GPU that the CPU build cannot use",
        blame("device.missing", 0, 1, also=("device.library",)),
    ),
    Scenario(
        "device-missing-legacy",
        "the script asks for a GPU that the CPU build cannot use",
        blame("device.missing", 0, 1, 2, of=3, also=("device.library",)),
        (Launch(ranks=3, launcher="legacy", script="device_missing.py"),),
    ),
    Scenario(
        "parameter-mismatch",
        "rank 0 and rank 1 build networks of different size: neither is right by itself",
        blame("config.rank", 0, 1, also=("comm.backend",), key="op.preamble.length <= op.nbytes"),
    ),
    Scenario(
        "nodes-nproc-mismatch",
        "one node starts two processes, the other one: two ranks 1 wait until they are stopped",
        Truth(
            "hung",
            "config.launch",
            also_ok=("config.rank", "comm.init", "hang"),
            verdict_also_ok=("failed", "interrupted"),
        ),
        (
            Launch(
                ranks=0,
                script="healthy_run.py",
                flags=("--ips", "10.77.0.1,10.77.0.2"),
                node_flags=(
                    ("--nproc_per_node", "2", "--host", "10.77.0.1"),
                    ("--nproc_per_node", "1", "--host", "10.77.0.2"),
                ),
                env={"GLOO_SOCKET_IFNAME": "eth0", "FLAGS_stop_check_timeout": "15"},
                stop=Stop("Watching Pod", signal.SIGTERM, after=40),
            ),
        ),
        root="two nodes are two network namespaces",
    ),
    Scenario(
        "nodes-nnodes-mismatch",
        "one node was told of two nodes, the other one of three: both wait until they are stopped",
        Truth(
            "hung",
            "config.launch",
            also_ok=("config.rank", "comm.init", "hang"),
            verdict_also_ok=("failed", "interrupted"),
        ),
        (
            Launch(
                script="healthy_run.py",
                flags=("--master", "10.77.0.1:49178"),
                node_flags=(
                    ("--nnodes", "2", "--rank", "0", "--host", "10.77.0.1"),
                    ("--nnodes", "3", "--rank", "1", "--host", "10.77.0.2"),
                ),
                env={"GLOO_SOCKET_IFNAME": "eth0"},
                stop=Stop("Watching Pod", signal.SIGTERM, after=25),
            ),
        ),
        root="two nodes are two network namespaces",
    ),
)
