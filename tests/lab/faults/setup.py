"""Ranks that disagree, ports that are taken, launches that are wrong."""

from __future__ import annotations

import signal

from .fault import Fault, Outside

DISAGREE = ("config.rank", "comm.backend", "comm.peer", "comm.timeout", "code.operator")
HOLD = (
    "import socket, time\n"
    "server = socket.socket()\n"
    "server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
    "server.bind(('0.0.0.0', 6070))\n"
    "server.listen()\n"
    "time.sleep(300)\n"
)

FAULTS = (
    Fault(
        "fewer-steps",
        "disagree",
        ("comm.peer", "unknown", "config.rank", "code.python"),
        "log_done()\nsys.exit(0)",
        moments=("middle",),
    ),
    Fault(
        "other-network",
        "disagree",
        DISAGREE,
        build="hidden = 32",
        communication="data-parallel",
        key="",
        moments=("init",),
        exits=(1, 134, 139),
        may_name_nobody=True,
        weight=6,
    ),
    Fault(
        "other-collective",
        "disagree",
        (*DISAGREE, "hang"),
        "gathered = []\ndist.all_gather(gathered, paddle.ones([5]))",
        moments=("middle",),
        verdicts=("failed", "hung"),
        exits=(1, 134, 139),
        least_ranks=3,
        weight=4,
    ),
    Fault(
        "node-missing",
        "launch",
        ("comm.init", "external.kill", "hang"),
        verdicts=("interrupted", "hung", "failed"),
        who="nobody",
        moments=("launch",),
        arguments=("--nnodes", "2", "--master", "127.0.0.1:49178", "--rank", "0"),
        outside=Outside(signal.SIGTERM, "launcher"),
        launchers=("new", "run", "run-paddle"),
        exits=(143,),
        needs_console=True,
        weight=6,
    ),
    Fault(
        "port-in-script",
        "port",
        ("comm.port",),
        "import socket\nmetrics = socket.socket()\nmetrics.bind(('0.0.0.0', 6070))\n"
        "metrics.listen()",
        "Address already in use",
        moments=("before-init", "init", "middle"),
        helper=HOLD,
    ),
    Fault(
        "port-of-store",
        "port",
        ("comm.port", "comm.init"),
        moments=("init",),
        who="first",
        helper=HOLD,
        arguments=("--ips", "127.0.0.1", "--start_port", "6070"),
        launchers=("new",),
        exits=(1, 134),
        weight=5,
    ),
    Fault(
        "script-missing",
        "launch",
        ("config.launch",),
        script="trian.py",
        key="trian.py",
        who="all",
        may_name_nobody=True,
        moments=("import",),
        exits=(2, 1),
        needs_console=True,
    ),
    Fault(
        "bad-flag-value",
        "launch",
        ("config.launch",),
        arguments=("--nproc_per_node", "two"),
        key="two",
        who="nobody",
        moments=("import",),
        exits=(2, 1),
        needs_console=True,
        weight=6,
    ),
    Fault(
        "syntax-error",
        "launch",
        ("code.python",),
        at="def broken(:",
        key="SyntaxError",
        who="all",
        moments=("import",),
    ),
    Fault(
        "device-missing",
        "launch",
        ("device.missing", "device.library"),
        "paddle.set_device('gpu:0')",
        "not compiled with CUDA",
        who="all",
        moments=("before-init",),
    ),
)
