"""Two nodes with addresses of their own: network namespaces joined by a cable."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ..running import clean_environment, wait_until
from .conftest import NO_SECRET, SCRIPTS, SECRET, Launch

pytestmark = pytest.mark.root
ADDRESSES = ("10.77.31.1", "10.77.31.2")


@dataclass
class Nodes:
    """Two machines, as far as the network is concerned."""

    folder: Path
    names: tuple[str, str]
    devices: tuple[str, str]

    def start(
        self,
        node: int,
        *arguments: str,
        module: str = "pdtriage.launch",
        job: str = "",
        env: dict[str, str] = SECRET,
        before: str = "true",
    ) -> Launch:
        """`job` tells several jobs apart that run side by side; `before` are words for a shell."""
        logs = self.folder / f"{job}n{node}"
        command = [sys.executable, "-m", *module.split(), "--log_dir", str(logs)]
        command += [f"--host={ADDRESSES[node]}", *arguments]
        shell = ("sh", "-c", f'{before}; exec "$@"', "sh")
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.names[node], *shell, *command],
            cwd=SCRIPTS,
            env=clean_environment() | env | {"GLOO_SOCKET_IFNAME": self.devices[node]},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return Launch(process, logs)

    def cut(self) -> None:
        ip("-n", self.names[1], "link", "set", self.devices[1], "down")

    def blackhole(self, node: int, address: str) -> None:
        """No way from there to `address`."""
        ip("-n", self.names[node], "route", "add", "blackhole", f"{address}/32")

    def proxy(self, node: int, port: int, target: int) -> subprocess.Popen[bytes]:
        """Hides those who come to `port` of this node from whoever serves on `target`."""
        command = [sys.executable, SCRIPTS / "proxy.py", ADDRESSES[node], str(port), str(target)]
        return subprocess.Popen(["ip", "netns", "exec", self.names[node], *command])


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    tag = f"{os.getpid() % 100_000}"
    names = (f"pdt{tag}a", f"pdt{tag}b")
    devices = (f"v{tag}a", f"v{tag}b")
    if os.geteuid() != 0:
        pytest.skip("needs root")
    try:
        for name in names:
            ip("netns", "add", name)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespaces here: {error}")
    try:
        # the two ends of a cable between containers seldom have the same number
        ip("-n", names[1], "link", "add", "first", "type", "veth")
        ip("link", "add", devices[0], "netns", names[0], "type", "veth", "peer", "name",
           devices[1], "netns", names[1])  # fmt: skip
        ip("-n", names[1], "link", "del", "first")
        for name, device, address in zip(names, devices, ADDRESSES, strict=True):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", device)
            ip("-n", name, "link", "set", device, "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield Nodes(tmp_path, names, devices)
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@pytest.mark.live
@pytest.mark.parametrize(
    "modules",
    [
        ("pdtriage.launch", "pdtriage.launch"),
        ("paddle.distributed.launch", "pdtriage.launch"),
        ("pdtriage.launch", "paddle.distributed.launch"),
    ],
)
def test_real_training_across_two_nodes(nodes: Nodes, modules: tuple[str, str]) -> None:
    flags = (f"--master={ADDRESSES[0]}:29333", "--nnodes=2", "gloo_train.py")
    launches = [
        nodes.start(i, f"--rank={i}", *flags, module=modules[i], env=NO_SECRET) for i in (0, 1)
    ]
    for i, launch in enumerate(launches):
        assert launch.finish(120).code == 0, launch.err[-3000:]
        assert f"trained {i} of 2" in launch.log(0)


def test_the_culprit_on_the_other_node_is_named_here(nodes: Nodes) -> None:
    flags = (f"--ips={','.join(ADDRESSES)}", "--nproc_per_node=2", "act.py")
    actions = ("0=sleep", "1=sleep", "2=sleep", "3=exit:21:1.5")
    first, second = (nodes.start(i, *flags, *actions) for i in (0, 1))
    assert (first.finish(60).code, second.finish(60).code) == (21, 21)
    assert "node 1 failed: rank 3" in first.err
    told = next(peer for peer in first.record().peers if peer.facts.failed)
    assert told.time - second.record().deaths[0].time < 10
    assert first.record().address == ADDRESSES[0]
    assert second.record().node_rank == 1


def test_a_node_that_is_cut_off_is_reported_and_training_goes_on(nodes: Nodes) -> None:
    flags = (f"--ips={','.join(ADDRESSES)}", "act.py", "0=sleep", "1=sleep")
    launches = [nodes.start(i, *flags) for i in (0, 1)]
    for launch in launches:
        launch.wait_for_log("sleep")
    time.sleep(1.5)
    nodes.cut()
    for launch, peer in zip(launches, (1, 0), strict=True):
        assert wait_until(
            lambda launch=launch: any(p.kind == "silent" for p in launch.record().peers), 15
        )
        assert [p.node for p in launch.record().peers if p.kind == "silent"] == [peer]
        assert launch.process.poll() is None
    for launch in launches:
        launch.process.terminate()
        assert launch.finish(20).code == 143
        assert "stopped answering" in launch.err


NO_WAY = "the container has a network of its own"


@pytest.mark.parametrize("blocked", [False, True])
def test_a_container_with_its_own_network_is_warned_of_whom_it_does_not_reach(
    nodes: Nodes, blocked: bool
) -> None:
    marks = "mount -t tmpfs tmpfs /run; touch /run/.containerenv"
    if blocked:
        nodes.blackhole(1, ADDRESSES[0])
    flags = (f"--ips={','.join(ADDRESSES)}", "act.py")
    launch = nodes.start(1, *flags, before=marks).finish(60)
    assert launch.code == 0, launch.err
    assert (NO_WAY in launch.err) == blocked
    if blocked:
        assert f"no way from it to {ADDRESSES[0]}" in launch.err


def test_a_node_whose_network_is_hidden_is_told_that_it_cannot_be_reached(nodes: Nodes) -> None:
    hiding = nodes.proxy(0, 29444, 29333)
    try:
        common = ("--nnodes=2", "act.py", "0=exit:0:1", "1=exit:0:1")
        ports = (29333, 29444)
        launches = [
            nodes.start(i, f"--master={ADDRESSES[0]}:{ports[i]}", f"--rank={i}", *common)
            for i in (0, 1)
        ]
        for launch in launches:
            assert launch.finish(60).code == 0, launch.err
        told = f"see this node as {ADDRESSES[0]}, but are told to reach it at {ADDRESSES[1]}"
        assert [told in launch.err for launch in launches] == [False, True]
    finally:
        hiding.kill()
        hiding.wait()


def test_a_host_whose_name_is_a_loopback_address_is_called_by_another(nodes: Nodes) -> None:
    ip("-n", nodes.names[0], "route", "add", "default", "dev", nodes.devices[0])
    flags = (f"--log_dir={nodes.folder}", "--ips=203.0.113.1,203.0.113.2", "act.py")
    shell = ("unshare", "--uts", "sh", "-c", 'hostname localhost; exec "$@"', "sh")
    done = subprocess.run(
        [
            *("ip", "netns", "exec", nodes.names[0], *shell),
            *(sys.executable, "-m", "pdtriage.launch", *flags),
        ],
        cwd=SCRIPTS,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"This host ({ADDRESSES[0]}) is not in --ips" in done.stderr


@pytest.mark.parametrize("paddles", [0, 1])
def test_who_meets_paddles_own_launcher_with_a_secret_is_told_why_that_cannot_be(
    nodes: Nodes, paddles: int
) -> None:
    flags = (f"--master={ADDRESSES[0]}:29333", "--nnodes=2", "act.py", "0=sleep", "1=sleep")
    other = nodes.start(
        paddles, f"--rank={paddles}", *flags, module="paddle.distributed.launch", env=NO_SECRET
    )
    ours = nodes.start(1 - paddles, f"--rank={1 - paddles}", *flags)
    try:
        if paddles == 0:
            assert ours.finish(90).code == 2
            assert "under Paddle's own launcher, which knows no --job_secret" in ours.err
            return
        assert ours.process.stderr is not None
        for line in ours.process.stderr:
            if "does not know this job's secret" in line:
                break
        else:
            pytest.fail("nothing was said")
        assert ADDRESSES[1] in line
        assert "Paddle's own launcher knows none" in line
        around = nodes.start(1, "--launcher=paddle", *flags, job="around").finish(60)
        assert around.code == 2, around.err
        assert "has a secret, and Paddle's own launcher knows none" in around.err
    finally:
        ours.process.terminate()
        other.process.kill()  # Paddle's launcher may say that it terminates and wait on
        for launch in (ours, other):
            launch.finish(60)
