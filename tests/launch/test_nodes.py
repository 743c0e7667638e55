"""Several launchers on one machine: ours with ours, and ours with Paddle's."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path

import pytest

from pdtriage.launch.plan.cluster import some_of
from pdtriage.launch.rendezvous.job_secret import JobSecret
from pdtriage.launch.rendezvous.kv import KVClient

from ..ports import free_port
from ..running import wait_until
from .conftest import NO_SECRET, SECRET, Launch, Launcher


def test_nodes_meet_and_rank_themselves(launcher: Launcher, tmp_path: Path) -> None:
    place = f"127.0.0.1:{free_port()}"
    flags = (f"--master={place}", "--nnodes=2", "--nproc_per_node=2", "--log_level=DEBUG", "act.py")
    nodes = [launcher.start(*flags, log_dir=tmp_path / f"n{i}") for i in range(2)]
    records = [node.finish().record() for node in nodes]
    for node in nodes:
        assert f"at {place} are 2/2 nodes: 127.0.0.1, 127.0.0.1" in node.err
    assert [node.code for node in nodes] == [0, 0], nodes[0].err
    assert sorted(record.node_rank for record in records) == [0, 1]
    ranks = sorted(p.rank for record in records for p in record.processes if p.rank is not None)
    assert ranks == [0, 1, 2, 3]
    assert records[0].endpoints == records[1].endpoints
    assert len(set(records[0].endpoints)) == 4
    assert records[0].master == records[1].master


def test_ranks_that_were_given_are_kept(launcher: Launcher, tmp_path: Path) -> None:
    master = f"--master=127.0.0.1:{free_port()}"
    nodes = [
        launcher.start(master, "--nnodes=2", f"--rank={i}", "act.py", log_dir=tmp_path / f"n{i}")
        for i in (1, 0)
    ]
    records = [node.finish().record() for node in nodes]
    assert [record.node_rank for record in records] == [1, 0]


def test_without_a_master_the_command_to_copy_works(launcher: Launcher, tmp_path: Path) -> None:
    flags = ("--nnodes=2", "--nproc_per_node=1", "act.py")
    first = launcher.start(*flags, log_dir=tmp_path / "a", env=NO_SECRET)
    assert first.process.stderr is not None
    for line in first.process.stderr:
        copied = re.search(r"^(\w+)=(\w+) pdtriage run (--master \S+) .*act\.py$", line)
        if copied:
            break
    assert copied is not None
    second = launcher.start(
        *copied[3].split(), *flags, log_dir=tmp_path / "b", env={copied[1]: copied[2]}
    )
    assert second.finish().code == 0, second.err
    assert first.finish().code == 0
    assert first.record().node_rank == 0
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or copied[2] not in file.read_text(errors="replace"), file


def test_at_a_master_nodes_may_start_different_numbers_of_processes(
    launcher: Launcher, tmp_path: Path
) -> None:
    """As under Paddle's launcher."""
    master = f"--master=127.0.0.1:{free_port()}"
    nodes = [
        launcher.start(
            *(master, "--nnodes=2", f"--rank={i}", f"--nproc_per_node={i + 1}", "act.py"),
            log_dir=tmp_path / f"n{i}",
        )
        for i in (0, 1)
    ]
    for node in nodes:
        assert node.finish().code == 0, node.err
        assert node.record().world_size == 3
    assert [p.rank for node in nodes for p in node.record().processes] == [0, 1, 2]


def test_a_failure_on_one_node_is_told_on_the_other(launcher: Launcher, tmp_path: Path) -> None:
    port = free_port()
    flags = (f"--master=127.0.0.1:{port}", "--nnodes=2", "--nproc_per_node=2")
    actions = ("act.py", "0=sleep", "1=sleep", "2=sleep", "3=exit:9:0.8")
    nodes = [
        launcher.start(*flags, f"--rank={i}", *actions, log_dir=tmp_path / f"n{i}") for i in (0, 1)
    ]
    healthy, failing = (node.finish() for node in nodes)
    assert (healthy.code, failing.code) == (9, 9)
    assert "node 1 failed: rank 3" in healthy.err
    assert "rank=[3] was aborted" in healthy.err
    failed_at = failing.record().deaths[0].time
    told = next(peer for peer in healthy.record().peers if peer.facts.failed)
    assert told.time - failed_at < 10
    assert all(death.stopped for death in healthy.record().deaths)


def test_a_node_that_is_done_hears_how_the_job_ended_elsewhere(
    launcher: Launcher, tmp_path: Path
) -> None:
    flags = (f"--master=127.0.0.1:{free_port()}", "--nnodes=2", "--nproc_per_node=1")
    actions = ("act.py", "0=exit:0:1", "1=exit:9:1.2")
    nodes = [
        launcher.start(*flags, f"--rank={i}", *actions, log_dir=tmp_path / f"n{i}") for i in (0, 1)
    ]
    done, failing = (node.finish() for node in nodes)
    assert (done.code, failing.code) == (9, 9), done.err
    assert done.record().reason == "failed"
    assert done.record().deaths[0].code == 0


def test_static_nodes_exchange_facts_over_a_port_of_their_own(
    launcher: Launcher, tmp_path: Path
) -> None:
    start, facts = free_port(), free_port()
    flags = ("--ips=127.0.0.1,127.0.0.2", f"--start_port={start}", f"--facts-port={facts}")
    actions = ("act.py", "0=exit:0:3", "1=signal:9:1")
    nodes = [
        launcher.start(*flags, f"--host=127.0.0.{i + 1}", *actions, log_dir=tmp_path / f"n{i}")
        for i in (0, 1)
    ]
    healthy, failing = (node.finish() for node in nodes)
    assert (healthy.code, failing.code) == (137, 137)
    assert "node 1 failed: rank 1" in healthy.err


def test_static_nodes_of_different_size_are_stopped(launcher: Launcher, tmp_path: Path) -> None:
    start, facts = free_port(), free_port()
    flags = ("--ips=127.0.0.1,127.0.0.2", f"--start_port={start}", f"--facts-port={facts}")
    nodes = [
        launcher.start(
            *flags,
            f"--host=127.0.0.{i + 1}",
            f"--nproc_per_node={i + 1}",
            *("act.py", "0=sleep", "1=sleep", "2=sleep", "3=sleep"),
            log_dir=tmp_path / f"n{i}",
        )
        for i in (0, 1)
    ]
    for node in nodes:
        node.finish()
        assert node.code == 2
        assert "the same number of cards" in node.err


def test_a_killed_node_is_reported_as_silent(launcher: Launcher, tmp_path: Path) -> None:
    port = free_port()
    flags = (f"--master=127.0.0.1:{port}", "--nnodes=2", "act.py", "0=sleep", "1=sleep")
    stays = launcher.start("--rank=0", *flags, log_dir=tmp_path / "n0")
    dies = launcher.start("--rank=1", *flags, log_dir=tmp_path / "n1")
    stays.wait_for_log("sleep")
    dies.wait_for_log("sleep")
    client = KVClient("127.0.0.1", port, secret=JobSecret(SECRET["PDTRIAGE_JOB_SECRET"]))
    # A node listens to another once each has shown that it heard the other: within a few beats.
    values: dict[str, set[str]] = {"/0": set(), "/1": set()}

    def have_met() -> bool:
        for key, value in (client.get_prefix("/default/pdtriage/") or {}).items():
            values[key[-2:]].add(value)
        return all(len(seen) >= 5 for seen in values.values())

    assert wait_until(have_met)
    dies.process.kill()
    dies.finish()
    assert wait_until(lambda: any(p.kind == "silent" for p in stays.record().peers), 60)
    silent = next(p for p in stays.record().peers if p.kind == "silent")
    assert silent.node == 1
    assert silent.silent_seconds is not None
    assert silent.silent_seconds >= 3
    assert stays.process.poll() is None
    stays.signal(signal.SIGTERM)
    assert stays.finish().code == 143
    assert "node 1 (127.0.0.1) stopped answering" in stays.err


def test_a_node_that_left_before_the_start_is_forgotten(launcher: Launcher, tmp_path: Path) -> None:
    flags = (f"--master=127.0.0.1:{free_port()}", "--nnodes=3", "act.py")
    first = launcher.start(*flags, log_dir=tmp_path / "a")
    _await_waiting(first)
    gone = launcher.start(*flags, log_dir=tmp_path / "b")
    _await_waiting(gone)
    time.sleep(0.5)
    gone.signal(signal.SIGTERM)
    assert gone.finish().code == 143
    others = [launcher.start(*flags, log_dir=tmp_path / name) for name in "cd"]
    assert [node.finish().code for node in (first, *others)] == [0, 0, 0]


def test_the_meeting_stays_open_for_a_node_that_reads_late(launcher: Launcher) -> None:
    """A job may be over before the last node, here one of Paddle's, has read who takes part."""
    port = free_port()
    flags = (f"--master=127.0.0.1:{port}", "--nnodes=2", "--rank=0", "act.py")
    host = launcher.start(*flags, env=NO_SECRET)
    _await_waiting(host)
    guest = {"name": "late", "rank": 1, "replicas": 1, "dtype": "cpu"}
    guest |= {"candidate": "127.0.0.1:7000", "endpoints": "127.0.0.1:7001"}
    client = KVClient("127.0.0.1", port)
    assert wait_until(lambda: bool(client.get_prefix("/default/info")))
    assert client.put("/default/info/late/1", json.dumps(guest))
    assert wait_until(lambda: "rank 0 exit" in host.log())
    time.sleep(1)
    assert len(client.get_prefix("/default/info") or {}) == 2
    assert host.finish().code == 0


def test_what_no_node_has_written_at_the_rendezvous_is_left_out(
    launcher: Launcher, tmp_path: Path
) -> None:
    """Without a secret anybody may write there; who sees it says so once, and all nodes meet."""
    port = free_port()
    flags = (f"--master=127.0.0.1:{port}", "--nnodes=2", "act.py")
    nodes = [launcher.start(*flags, log_dir=tmp_path / "a", env=NO_SECRET)]
    _await_waiting(nodes[0])
    client = KVClient("127.0.0.1", port)
    assert wait_until(lambda: bool(client.get_prefix("/default/info")))
    for number, text in enumerate(("", "[]", '{"candidate": "a\\nb:1", "endpoints": "b:1"}')):
        assert client.put(f"/default/info/extra{number}/-1", text)
    assert nodes[0].process.stderr is not None
    assert any("cannot be understood" in line for line in nodes[0].process.stderr)
    nodes.append(launcher.start(*flags, log_dir=tmp_path / "b", env=NO_SECRET))
    for node in nodes:
        assert node.finish(60).code == 0, node.err
    note = nodes[0].record().notes[0].en  # how many it saw before the other node came
    assert re.match(r"\d announcements? at the rendezvous cannot be understood", note)


def _await_waiting(launch: Launch) -> None:
    assert launch.process.stderr is not None
    assert any("Waiting peer" in line for line in launch.process.stderr)


def test_waiting_for_nodes_can_be_interrupted(launcher: Launcher) -> None:
    launch = launcher.start(f"--master=127.0.0.1:{free_port()}", "--nnodes=2", "act.py")
    _await_waiting(launch)
    launch.signal(signal.SIGINT)
    assert launch.finish().code == 130
    assert not list(launch.log_dir.glob("workerlog.*"))


@pytest.mark.live
@pytest.mark.parametrize("paddle_node", [0])
def test_a_job_may_mix_nodes_of_both_launchers(
    launcher: Launcher, tmp_path: Path, paddle_node: int
) -> None:
    master = f"--master=127.0.0.1:{free_port()}"
    modules = ["pdtriage.launch", "pdtriage.launch"]
    modules[paddle_node] = "paddle.distributed.launch"
    nodes = [
        launcher.start(
            master,
            "--nnodes=2",
            f"--rank={i}",
            "gloo_train.py",
            log_dir=tmp_path / f"n{i}",
            module=modules[i],
            env=NO_SECRET,
        )
        for i in (0, 1)
    ]
    for i, node in enumerate(nodes):
        assert node.finish(90).code == 0, node.err[-2000:]
        assert f"trained {i} of 2" in node.log(0)
    assert _losses(nodes[0].log(0)) == _losses(nodes[1].log(0))


@pytest.mark.live
def test_losses_and_logs_are_those_of_paddles_launcher(launcher: Launcher, tmp_path: Path) -> None:
    flags = ("--nproc_per_node=2", "gloo_train.py", "4")
    ours = launcher.run(*flags, log_dir=tmp_path / "ours")
    paddles = launcher.run(*flags, log_dir=tmp_path / "paddle", module="paddle.distributed.launch")
    assert (ours.code, paddles.code) == (0, 0)
    assert len(_losses(ours.log(1))) == 4
    assert _losses(ours.log(1)) == _losses(paddles.log(1))


@pytest.mark.live
def test_worker_logs_are_byte_identical(launcher: Launcher, tmp_path: Path) -> None:
    flags = ("--nproc_per_node=2", "act.py", "1=exit:5:0.3")
    logs = {}
    for module in ("pdtriage.launch", "paddle.distributed.launch"):
        launch = launcher.run(*flags, log_dir=tmp_path / module, module=module)
        assert launch.code == 5
        logs[module] = [(tmp_path / module / f"workerlog.{i}").read_bytes() for i in (0, 1)]
    assert logs["pdtriage.launch"] == logs["paddle.distributed.launch"]


def _losses(log: str) -> list[str]:
    return re.findall(r"^step \d+ loss \S+$", log, re.MULTILINE)


def test_a_list_of_thousands_is_not_repeated() -> None:
    assert some_of(["a", "b"]) == "a,b"
    many = [f"10.0.{i // 250}.{i % 250}" for i in range(4000)]
    assert some_of(many).endswith(",10.0.0.15,… (4000)")
