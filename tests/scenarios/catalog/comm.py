"""Ranks that wait for each other, and jobs stopped from outside."""

import signal
from dataclasses import replace

from ..scenario import Launch, Scenario, Stop, Truth, blame

NAMESPACES = "two nodes are two network namespaces"
INTERRUPTED = Truth("interrupted", "external.kill")
TWO_NODES = (
    "--nnodes",
    "2",
    "--master",
    "10.77.0.1:49178",
)
NODES = (("--rank", "0", "--host", "10.77.0.1"), ("--rank", "1", "--host", "10.77.0.2"))
KNOWN_PORT = "a network in which port 6070 is known to be free otherwise"
AT_6070 = ("--ips", "127.0.0.1", "--start_port", "6070")
BUSY_6070 = {"prepare": "hold_port.py", "keep_running": True}
GLOO = {"GLOO_SOCKET_IFNAME": "eth0"}


def on_two_nodes(
    category: str, rank: int, also: tuple[str, ...] = (), key: str | None = None
) -> Truth:
    """Blame of one of the four ranks; the second node has ranks 2 and 3."""
    victims = tuple(other for other in range(4) if other != rank)
    host = "10.77.0.1" if rank < 2 else "10.77.0.2"
    return Truth(
        "failed",
        category,
        also_ok=also,
        culprit_ranks=(rank,),
        culprit_host=host,
        victim_ranks=victims,
        key_line=key,
    )


SCENARIOS = (
    Scenario(
        "interrupt-sigint",
        "Ctrl-C in the terminal of the launcher",
        INTERRUPTED,
        (Launch(script="long_run.py", stop=Stop("step 4 ", signal.SIGINT)),),
    ),
    Scenario(
        "interrupt-sigterm",
        "a scheduler sends SIGTERM to the launcher",
        INTERRUPTED,
        (Launch(ranks=3, script="long_run.py", stop=Stop("step 6 ", signal.SIGTERM)),),
    ),
    Scenario(
        "interrupt-sigint-legacy",
        "Ctrl-C in the terminal of the legacy launcher",
        INTERRUPTED,
        (Launch(launcher="legacy", script="long_run.py", stop=Stop("step 4 ", signal.SIGINT)),),
    ),
    Scenario(
        "hang-one-rank",
        "rank 2 of 4 stops before a step, the others wait for it until the job is terminated",
        Truth(
            "hung",
            "hang",
            also_ok=("comm.timeout",),
            verdict_also_ok=("interrupted",),
            culprit_ranks=(2,),
            victim_ranks=(0, 1, 3),
        ),
        (Launch(ranks=4, stop=Stop("step 4 batch", signal.SIGTERM, after=15)),),
    ),
    Scenario(
        "hang-timeout",
        "rank 1 stops before a step; after 30 seconds gloo gives up on rank 0",
        Truth(
            "failed",
            "comm.timeout",
            also_ok=("hang",),
            verdict_also_ok=("hung",),
            culprit_ranks=(1,),
            victim_ranks=(0,),
            key_line="unbound_buffer.cc:80] TIMEOUT",
        ),
    ),
    Scenario(
        "hang-timeout-legacy",
        "rank 1 stops before a step; after 30 seconds gloo gives up on rank 0",
        Truth(
            "failed",
            "comm.timeout",
            also_ok=("hang",),
            verdict_also_ok=("hung",),
            culprit_ranks=(1,),
            victim_ranks=(0,),
            key_line="unbound_buffer.cc:80] TIMEOUT",
        ),
        (Launch(launcher="legacy", script="hang_timeout.py"),),
    ),
    Scenario(
        "mismatched-collectives",
        "rank 1 of 3 gathers while the others reduce",
        blame("config.rank", 1, of=3, also=("comm.timeout", "comm.backend", "comm.peer", "hang")),
        (Launch(ranks=3),),
    ),
    Scenario(
        "rank-never-joins",
        "rank 1 never comes to the rendezvous; the job is terminated while rank 0 still waits",
        Truth(
            "hung",
            "comm.init",
            also_ok=("hang",),
            verdict_also_ok=("interrupted", "failed"),
            culprit_ranks=(1,),
            victim_ranks=(0,),
        ),
        (Launch(stop=Stop("building the sample index", signal.SIGTERM, after=25)),),
    ),
    Scenario(
        "node-never-comes",
        "the second node is never started; somebody gives up",
        Truth(
            "interrupted",
            "comm.init",
            also_ok=("external.kill",),
            verdict_also_ok=("hung", "failed"),
        ),
        (
            Launch(
                script="healthy_run.py",
                flags=("--nnodes", "2", "--master", "127.0.0.1:49178", "--rank", "0"),
                stop=Stop("Waiting peer start", signal.SIGTERM, after=10),
            ),
        ),
    ),
    Scenario(
        "master-unreachable",
        "nobody listens where the master should be; somebody gives up",
        Truth(
            "interrupted",
            "comm.init",
            also_ok=("external.kill",),
            verdict_also_ok=("hung", "failed"),
            key_line="master not ready",
        ),
        (
            Launch(
                script="healthy_run.py",
                flags=("--nnodes", "2", "--master", "127.0.0.2:49178", "--rank", "1"),
                stop=Stop("master not ready", signal.SIGINT, after=6),
            ),
        ),
    ),
    Scenario(
        "port-in-use",
        "another process has the port rank 0 wants for the store; libuv aborts without saying so",
        blame("comm.port", 0, also=("comm.init",), key="uv__finish_close: Assertion"),
        (Launch(script="healthy_run.py", flags=AT_6070, **BUSY_6070),),
        root=KNOWN_PORT,
    ),
    Scenario(
        "port-in-use-sockets",
        "another process has the port rank 0 wants for the store, which uses plain sockets here",
        blame("comm.port", 0, also=("comm.init",)),
        (
            Launch(
                script="healthy_run.py",
                flags=AT_6070,
                env={"FLAGS_tcp_store_using_libuv": "0"},
                **BUSY_6070,
            ),
        ),
        root=KNOWN_PORT,
    ),
    Scenario(
        "port-in-script",
        "rank 1 serves its metrics at a port another process has",
        blame("comm.port", 1, key="OSError: [Errno 98] Address already in use"),
        (Launch(**BUSY_6070),),
        root=KNOWN_PORT,
    ),
    Scenario(
        "nodes-errno5",
        "a DataLoader worker of rank 3, on the second node, gets EIO",
        on_two_nodes("data.io", 3, key="OSError: [Errno 5] Input/output error"),
        (Launch(flags=TWO_NODES, node_flags=NODES, env=GLOO),),
        root=NAMESPACES,
    ),
    Scenario(
        "nodes-segfault",
        "rank 2, the first of the second node, segfaults",
        on_two_nodes("code.crash", 2),
        (Launch(flags=TWO_NODES, node_flags=NODES, env=GLOO),),
        root=NAMESPACES,
    ),
    Scenario(
        "nodes-sigkill",
        "rank 3, on the second node, is killed by SIGKILL",
        on_two_nodes("external.kill", 3, also=("memory.host", "unknown")),
        (Launch(flags=TWO_NODES, node_flags=NODES, env=GLOO),),
        root=NAMESPACES,
    ),
    Scenario(
        "nodes-success",
        "four ranks on two nodes train to the end",
        Truth("succeeded"),
        (Launch(script="healthy_run.py", flags=TWO_NODES, node_flags=NODES, env=GLOO),),
        root=NAMESPACES,
    ),
    Scenario(
        "nodes-success-then-segfault",
        "two launches on two nodes into the same folders; rank 2 of the second segfaults",
        replace(on_two_nodes("code.crash", 2), runs=2),
        (
            Launch(script="healthy_run.py", flags=TWO_NODES, node_flags=NODES, env=GLOO),
            Launch(script="nodes_segfault.py", flags=TWO_NODES, node_flags=NODES, env=GLOO),
        ),
        root=NAMESPACES,
    ),
    Scenario(
        "hang-interrupted-legacy",
        "rank 1 stops before a step; somebody presses Ctrl-C while rank 0 waits for it",
        Truth(
            "hung",
            "hang",
            also_ok=("comm.timeout",),
            verdict_also_ok=("interrupted",),
            culprit_ranks=(1,),
            victim_ranks=(0,),
        ),
        (
            Launch(
                launcher="legacy",
                script="hang_timeout.py",
                stop=Stop("step 4 forward", signal.SIGINT, after=15),
            ),
        ),
    ),
    Scenario(
        "hang-ring",
        "rank 3 of 4 waits for a lock it holds; the others time out, and some name each other",
        Truth(
            "failed",
            "comm.timeout",
            also_ok=("hang",),
            verdict_also_ok=("hung",),
            culprit_ranks=(3,),
            victim_ranks=(0, 1, 2),
        ),
        (Launch(ranks=4),),
    ),
)
