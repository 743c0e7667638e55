"""Elastic jobs as users run them: real launchers, a real etcd, trainers that check their world."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from pdtriage.launch.elastic.generation import Keys

from ..etcd import RealEtcd, running_etcd
from ..ports import free_port
from ..running import is_running, wait_until
from .conftest import Launcher
from .elastic import ElasticJob, check_worlds, met, records, sizes


@pytest.fixture
def job(launcher: Launcher, etcd: RealEtcd) -> ElasticJob:
    return ElasticJob(launcher, etcd)


def test_nodes_join_leave_and_are_killed(job: ElasticJob) -> None:
    job.size, job.ttl = "1:3", 6
    first = job.add()
    job.await_world(1)
    second, third = job.add(), job.add()
    job.await_world(3)
    spare = job.add()
    members, client = Keys(job.name).members, job.etcd.client()
    assert wait_until(lambda: len(client.read(members).entries) == 4)
    time.sleep(1.5)
    assert (met(first), met(spare)) == (3, 0)
    second.signal(signal.SIGTERM)
    job.await_world(3, first, third, spare)
    assert second.finish().code == 143
    trainer = records(third)[-1].processes[0].pid
    third.signal(signal.SIGKILL)
    job.await_world(2, first, spare)
    third.finish()
    assert wait_until(lambda: not is_running(trainer)), "a killed launcher leaves no orphan"
    job.finish()
    assert (first.finish().code, spare.finish().code) == (0, 0), first.err[-2000:]
    kept = records(first)
    assert check_worlds(*job.nodes) == len(kept)
    assert [record.attempt for record in kept] == list(range(len(kept)))
    assert [record.reason for record in kept] == ["interrupted"] * (len(kept) - 1) + ["completed"]
    # The two that joined may have been taken up one after the other.
    assert sizes(first) in ([1, 3, 2], [1, 2, 3, 2])
    whys = " / ".join(record.restart.why.en for record in kept if record.restart is not None)
    assert whys.find("joined") < whys.find(" left") < whys.find("is gone"), whys
    assert "joined" in whys
    assert f"Job: {job.name}, mode collective, replicas 3[1:3], elastic True" in first.err
    assert "Waiting peer ready..." in first.err
    assert "waits as spare 1" in spare.err


def test_a_node_that_has_finished_starts_again_when_another_one_fails(job: ElasticJob) -> None:
    job.timeout = 10
    quick = job.add(script=("--until", "/dev/null", "--linger=2"))
    members, client = Keys(job.name).members, job.etcd.client()
    assert wait_until(lambda: len(client.read(members).entries) == 1), "it is rank 0"
    failing = job.add(script=("--fail=1:7", "--fail-at=35"))
    assert wait_until(lambda: failing.log().count("MET 2") == 2, 40)
    assert wait_until(lambda: quick.log().count("DONE") == 2)
    job.finish()
    assert (quick.finish().code, failing.finish().code) == (0, 0)
    reasons = [record.reason for record in records(quick)]
    assert reasons == ["failed", "completed"], "the first attempt failed, though not there"


def test_the_limit_of_restarts_ends_the_job_everywhere(job: ElasticJob) -> None:
    flags = ("--max_restart=1", "--restart-on=always")
    nodes = [job.add(*flags, script=("--fail=0:9:always",), legacy=True) for _ in range(2)]
    assert [node.finish().code for node in nodes] == [9, 9]
    for node in nodes:
        assert [record.restart and record.restart.again for record in records(node)] == [
            True,
            False,
        ]
        assert "not restarted: the limit of 1 restart" in node.err
    assert records(nodes[0])[0].restart == records(nodes[1])[0].restart, "one decides, all say why"
    assert check_worlds(*nodes) == 2


def test_too_few_nodes_end_the_job_with_a_word(job: ElasticJob) -> None:
    job.size, job.timeout = "2:2", 3
    first, second = job.add(), job.add()
    job.await_world(2)
    second.signal(signal.SIGINT)
    assert second.finish().code == 130
    assert first.finish().code == 1
    assert "Too few nodes after 3 s: 1 node(s) are here, --nnodes is 2:2" in first.err
    assert "Exit code 1" in first.err


def test_without_etcd_nothing_is_started(launcher: Launcher) -> None:
    place = f"127.0.0.1:{free_port()}"
    flags = (f"--master=etcd://{place}", "--nnodes=2:3", "--elastic_timeout=1", "--lang=zh")
    run = launcher.run(*flags, "act.py")
    assert run.code == 2
    assert f"1 秒内无法使用 {place} 上的 etcd" in run.err
    assert not list(run.log_dir.glob("workerlog.*"))


def test_training_goes_on_while_etcd_is_away(job: ElasticJob) -> None:
    job.ttl = 4
    nodes = [job.add("--nproc_per_node=2"), job.add("--nproc_per_node=2")]
    job.await_world(4)
    job.etcd.pause()
    try:
        time.sleep(job.ttl + 1)
    finally:
        job.etcd.resume()
    assert wait_until(lambda: all("answers again" in str(records(n)[-1].notes) for n in nodes))
    time.sleep(1.0)
    job.finish()
    assert [node.finish().code for node in nodes] == [0, 0]
    for node in nodes:
        assert [record.reason for record in records(node)] == ["completed"]
        assert "does not answer" in node.err
        assert "answers again after" in node.err


def test_an_etcd_that_never_comes_back_ends_the_wait_between_attempts(
    job: ElasticJob, tmp_path: Path
) -> None:
    script = ("--fail=1:7", "--fragile")
    with running_etcd(tmp_path) as job.etcd:
        nodes = [job.add("--restart-on=always", script=script) for _ in range(2)]
        job.await_world(2)
    assert {node.finish(60).code for node in nodes} == {1, 7}
    for node in nodes:
        assert "etcd cannot be reached, so the nodes cannot agree on a restart" in node.err


def test_level_0_goes_on_without_the_node_that_failed(job: ElasticJob) -> None:
    job.size, script = "1:2", ("--fail=1:7",)
    nodes = [job.add("--elastic_level=0", script=script) for _ in range(2)]
    job.await_world(2)
    assert wait_until(lambda: any(node.process.poll() is not None for node in nodes), 90)
    (failed,) = [node for node in nodes if node.process.poll() is not None]
    (healthy,) = [node for node in nodes if node is not failed]
    assert failed.finish().code == 7
    assert "the node that failed ends, the others go on" in failed.err
    job.await_world(1, healthy)
    job.finish()
    assert healthy.finish().code == 0


def test_level_minus_1_ends_the_job_when_a_node_comes(job: ElasticJob) -> None:
    job.size = "1:2"
    first = job.add("--elastic_level=-1")
    job.await_world(1)
    second = job.add("--elastic_level=-1")
    assert (first.finish().code, second.finish().code) == (1, 1)
    assert "not restarted: node 127.0.0.1 joined" in first.err
    assert "the job has failed on the other nodes" in second.err


def test_a_trainer_may_ask_for_a_restart(job: ElasticJob) -> None:
    job.size = "1"
    node = job.add(script=("--fail=0:101",))
    assert wait_until(lambda: node.log().count("MET 1") == 2)
    job.finish()
    assert node.finish().code == 0
    assert "exit code 101 asks for a restart" in node.err


def test_a_signal_is_obeyed_while_the_others_are_waited_for(job: ElasticJob) -> None:
    job.ttl = 6
    first, second = (job.add(script=("--fragile",)) for _ in range(2))
    job.await_world(2)
    second.signal(signal.SIGKILL)
    second.finish()
    assert wait_until(lambda: bool(first.record().deaths)), "it fails, as a collective would"
    time.sleep(0.8)
    first.signal(signal.SIGTERM)
    assert first.finish(10).code == 143
    assert len(records(first)) == 1
