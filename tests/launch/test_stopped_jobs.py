"""A job of two nodes that somebody stops: both tell the same."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from pdtriage.analysis.pipeline import analyze

from ..ports import free_port, free_run
from .conftest import NO_SECRET, Launch, Launcher

SLEEPING = ("act.py", *(f"{rank}=sleep" for rank in range(4)))


def meeting(how: str) -> list[tuple[str, ...]]:
    """The flags of two nodes."""
    if how == "master":
        common = (f"--master=127.0.0.1:{free_port()}", "--nnodes=2", "--nproc_per_node=2")
        return [(*common, f"--rank={node}") for node in (0, 1)]
    hosts = ("127.0.0.1", "127.0.0.2")
    port = free_run(3)
    common = (f"--ips={','.join(hosts)}", f"--start_port={port}", f"--facts-port={port + 2}")
    return [(*common, "--nproc_per_node=2", f"--host={host}") for host in hosts]


def start(
    launcher: Launcher, tmp_path: Path, how: str, *script: str, env: dict[str, str] | None = None
) -> list[Launch]:
    return [
        launcher.start(*flags, *script, log_dir=tmp_path / f"n{i}", module="pdtriage run", env=env)
        for i, flags in enumerate(meeting(how))
    ]


@pytest.mark.parametrize("told", [(0,), (1,), (0, 1)], ids=["first", "second", "both"])
@pytest.mark.parametrize("how", ["ips", "master"])
def test_a_job_that_is_stopped_is_interrupted_on_every_node(
    launcher: Launcher, tmp_path: Path, how: str, told: tuple[int, ...]
) -> None:
    number = signal.SIGTERM if len(told) > 1 else signal.SIGINT
    nodes = start(launcher, tmp_path, how, *SLEEPING)
    for node in nodes:
        node.wait_for_log("sleep", 2)
    for one in told:
        nodes[one].signal(number)
    for i, node in enumerate(nodes):
        assert node.finish().code == 128 + number, node.err
        assert "INTERRUPTED" in node.err
        assert "FAILED" not in node.err
        record = node.record()
        assert (record.reason, record.interrupted_by) == ("interrupted", number)
        assert all(death.stopped for death in record.deaths)
        address = "127.0.0.1" if how == "master" else f"127.0.0.{told[0] + 1}"
        stop = f"node {told[0]} ({address}) was told to stop by {number.name}"
        if i not in told:
            assert stop in node.err
        if len(told) == 1:
            assert f"INTERRUPTED: the launcher, host {address}" in node.err
        seen = [(m.role, m.text.en) for m in analyze(node.log_dir).timeline if m.kind == "signal"]
        stops = {en for role, en in seen if role == "launcher"}
        assert stops == {stop} or (len(told) == 2 and stops), stops
        assert all("was told to stop by" in en for en in stops)


def test_a_node_that_is_slow_to_stop_does_not_keep_the_others_in_the_dark(
    launcher: Launcher, tmp_path: Path
) -> None:
    """They are told when the signal comes, not when the last process has gone."""
    script = ("act.py", "0=stubborn", "1=sleep", "2=sleep", "3=sleep")
    nodes = start(launcher, tmp_path, "ips", "--grace=20", *script)
    for node in nodes:
        node.wait_for_log(" s", 2)
    nodes[0].signal(signal.SIGTERM)
    assert nodes[1].finish().code == 143, nodes[1].err
    assert nodes[0].process.poll() is None
    nodes[0].signal(signal.SIGINT)
    assert nodes[0].finish().code == 143


@pytest.mark.live
def test_without_a_secret_the_others_break_and_know_why(launcher: Launcher, tmp_path: Path) -> None:
    nodes = start(launcher, tmp_path, "ips", "gloo_steady.py", env=NO_SECRET)
    for node in nodes:
        node.wait_for_log("step 3", 2, seconds=90)
    nodes[1].signal(signal.SIGTERM)
    for node in nodes:
        assert node.finish(90).code == 143, node.err[-3000:]
        assert "INTERRUPTED" in node.err
    assert "likely: node 1 (127.0.0.2) was told to stop" in " ".join(nodes[0].err.split())


@pytest.mark.live
@pytest.mark.parametrize("told", [0, 1])
def test_under_paddles_launcher_the_others_hear_of_a_stop_before_their_master_goes(
    launcher: Launcher, tmp_path: Path, told: int
) -> None:
    """It is served by the launcher of the first node, which is told to stop."""
    nodes = start(launcher, tmp_path, "master", "--launcher=paddle", "gloo_steady.py")
    for node in nodes:
        node.wait_for_log("step 3", 2, seconds=90)
    nodes[told].signal(signal.SIGTERM)
    for node in nodes:
        assert node.finish(90).code == 143, node.err[-3000:]
        assert "INTERRUPTED" in node.err
        assert "FAILED" not in node.err


@pytest.mark.live
@pytest.mark.parametrize(("how", "gone"), [("ips", 1), ("master", 0)])
def test_a_node_that_vanished_is_named_not_its_ranks(
    launcher: Launcher, tmp_path: Path, how: str, gone: int
) -> None:
    """Whatever is noticed first: that it is silent, or that its ranks are gone."""
    nodes = start(launcher, tmp_path, how, "gloo_steady.py")
    for node in nodes:
        node.wait_for_log("step 3", 2, seconds=90)
    nodes[gone].process.kill()
    left = nodes[1 - gone].finish(90)
    assert left.code == 1
    address = "127.0.0.1" if how == "master" else f"127.0.0.{gone + 1}"
    silent = [peer for peer in left.record().peers if peer.kind == "silent"]
    assert [(peer.node, peer.host) for peer in silent] == [(gone, address)]
    told = " ".join(left.err.split())
    assert f"the launcher, host {address}" in told
    assert f"likely: node {gone} ({address}) stopped answering" in told


@pytest.mark.live
@pytest.mark.parametrize(
    ("flags", "number"),
    [((), signal.SIGTERM), (("--launcher=paddle",), signal.SIGINT)],
    ids=["ours", "paddle"],
)
def test_whatever_ranks_say_a_stopped_job_was_interrupted_and_no_rank_is_named(
    launcher: Launcher, tmp_path: Path, flags: tuple[str, ...], number: signal.Signals
) -> None:
    """They survived an error before, and log what they raise when they are told to stop."""
    script = ("--nproc_per_node=2", "gloo_leaving.py")
    launch = launcher.start(*flags, *script, module="pdtriage run")
    launch.wait_for_log("step 5", 2, seconds=90)
    launch.signal(number)
    assert launch.finish(90).code == 128 + number, launch.err
    live = json.loads((launch.log_dir / "pdtriage" / "report.json").read_text())
    told = [(live["verdict"], [cause["ranks"] for cause in live["root_causes"]])]
    console = tmp_path / "console.log"
    console.write_text(launch.out + launch.err)
    for kept in (launch.log_dir, tmp_path, console):
        report = analyze(kept)
        told.append((report.verdict, [list(cause.ranks) for cause in report.root_causes]))
    assert told == 4 * [("interrupted", [[]])]
