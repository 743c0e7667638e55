"""From the pods of a cluster to the culprit: collected with the real kubectl, then analysed.

What the pods print comes from real jobs of tests/fixtures/scenarios, one rank to a pod.
"""

from __future__ import annotations

import pytest

import pdtriage
from tests.collect.conftest import Collect, needs_kubectl
from tests.collect.pods import AGAIN, cluster_of, ended, event, job, pod, running

pytestmark = needs_kubectl


def test_a_killed_worker_is_told_from_its_victims(collect: Collect) -> None:
    cluster = cluster_of(
        [pod("worker", 0, ended(250)), pod("worker", 1, ended(137, "OOMKilled"))],
        {
            "train-worker-0": "silent-sigkill/log/workerlog.0",
            "train-worker-1": "silent-sigkill/log/workerlog.1",
        },
        jobs=[job()],
    )
    report = pdtriage.analyze(collect(cluster).folder)
    (cause,) = report.root_causes
    assert (report.verdict, cause.category, cause.signature) == (
        "failed",
        "memory.host",
        "k8s.oom-killed",
    )
    assert (cause.rank, cause.host, cause.confidence) == (1, "train-worker-1", "proven")
    assert "OOMKilled" in cause.evidence[0].text
    assert cause.evidence[0].file.endswith("pods/train-worker-1/pod.json")
    assert "on gpu01" in cause.why[0].en
    assert "16Gi" in cause.why[0].en
    assert [(v.rank, v.reason) for v in report.victims] == [(0, "peer")]
    assert (report.job.id, report.job.world_size, report.job.mode) == ("train", 2, "collective")


def test_an_evicted_pod_has_no_log_and_is_still_named(collect: Collect) -> None:
    evicted = pod(
        "worker",
        1,
        reason="Evicted",
        message="The node was low on resource: ephemeral-storage. Container paddle was using 9Gi",
    )
    cluster = cluster_of(
        [pod("worker", 0, ended(250)), evicted],
        {"train-worker-0": "silent-sigkill/log/workerlog.0"},
        jobs=[job()],
    )
    report = pdtriage.analyze(collect(cluster).folder)
    cause = report.root_causes[0]
    assert (cause.category, cause.rank, cause.host) == ("external.kill", 1, "train-worker-1")
    assert "ephemeral-storage" in cause.why[0].en
    assert [victim.rank for victim in report.victims] == [0]


def test_a_pod_without_a_machine_keeps_the_others_waiting(collect: Collect) -> None:
    no_room = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/8 nodes are available: 8 Insufficient nvidia.com/gpu.",
    }
    cluster = cluster_of(
        [
            pod("worker", 0, running(), phase="Running"),
            pod("worker", 1, phase="Pending", conditions=[no_room]),
        ],
        {"train-worker-0": "node-never-comes/console.log"},
        jobs=[job(phase="Pending")],
        events=[event("train-worker-1", "FailedScheduling", no_room["message"])],
    )
    report = pdtriage.analyze(collect(cluster).folder)
    cause = report.root_causes[0]
    assert (report.verdict, cause.signature, cause.category) == (
        "hung",
        "k8s.unschedulable",
        "comm.init",
    )
    assert (cause.rank, cause.host) == (1, "train-worker-1")
    assert "Insufficient nvidia.com/gpu" in cause.why[0].en


def test_the_log_before_the_restart_holds_the_cause(collect: Collect) -> None:
    """Only the culprit was started again; it waits for peers that are gone."""
    cluster = cluster_of(
        [
            pod("worker", 0, ended(250)),
            pod("worker", 1, running(AGAIN), before=ended(1), restarts=1, phase="Running"),
            pod("worker", 2, ended(250)),
        ],
        {
            "train-worker-0": "data-errno5-worker/log/workerlog.0",
            "train-worker-1": b"waiting for the others\n",
            "train-worker-1/previous": "data-errno5-worker/log/workerlog.1",
            "train-worker-2": "data-errno5-worker/log/workerlog.2",
        },
        jobs=[job(3)],
    )
    report = pdtriage.analyze(collect(cluster).folder)
    cause = report.root_causes[0]
    assert (cause.category, cause.rank, cause.host) == ("data.io", 1, "train-worker-1")
    assert cause.evidence[0].file.endswith("console_paddle_previous.log")
    assert {victim.rank for victim in report.victims} == {0, 2}
    assert [(run.launch, run.attempt) for run in report.runs] == [(1, 0), (1, 1)]
    assert report.run == 1


def test_all_pods_restarted_are_two_attempts(collect: Collect) -> None:
    def twice(index: int, code: int) -> dict[str, object]:
        now = ended(0, "Completed", startedAt=AGAIN)
        return pod("worker", index, now, before=ended(code), restarts=1, phase="Succeeded")

    cluster = cluster_of(
        [twice(0, 250), twice(1, 137)],
        {
            "train-worker-0": "run-success/log/workerlog.0",
            "train-worker-1": "run-success/log/workerlog.1",
            "train-worker-0/previous": "silent-sigkill/log/workerlog.0",
            "train-worker-1/previous": "silent-sigkill/log/workerlog.1",
        },
        jobs=[job(phase="Completed")],
    )
    folder = collect(cluster).folder
    last, first = pdtriage.analyze(folder), pdtriage.analyze(folder, run=1)
    assert [(run.attempt, run.verdict) for run in last.runs] == [(0, "failed"), (1, "succeeded")]
    assert (last.run, last.verdict, last.root_causes) == (2, "succeeded", ())
    cause = first.root_causes[0]
    assert (cause.rank, cause.host, cause.category) == (1, "train-worker-1", "external.kill")


def test_a_dead_server_is_named_not_its_trainers(collect: Collect) -> None:
    logs = "ps-server-dies/log"
    cluster = cluster_of(
        [
            pod("ps", 0, ended(143)),
            pod("ps", 1, ended(1)),
            pod("worker", 0, ended(1)),
            pod("worker", 1, ended(1)),
        ],
        {
            "train-ps-0": f"{logs}/serverlog.0",
            "train-ps-1": f"{logs}/serverlog.1",
            "train-worker-0": f"{logs}/workerlog.0",
            "train-worker-1": f"{logs}/workerlog.1",
        },
        jobs=[job(2, 2)],
    )
    report = pdtriage.analyze(collect(cluster).folder)
    cause = report.root_causes[0]
    assert (report.job.mode, report.verdict) == ("ps", "failed")
    assert (cause.role, cause.rank, cause.host) == ("server", 1, "train-ps-1")
    assert {(victim.role, victim.rank) for victim in report.victims} >= {
        ("worker", 0),
        ("worker", 1),
    }


@pytest.mark.parametrize("shm", [False, True])
def test_a_bus_error_without_memory_at_dev_shm(collect: Collect, shm: bool) -> None:
    cluster = cluster_of(
        [pod("worker", 0, ended(250), shm=shm), pod("worker", 1, ended(1), shm=shm)],
        {
            "train-worker-0": "shm-bus-error/log/workerlog.0",
            "train-worker-1": "shm-bus-error/log/workerlog.1",
        },
        jobs=[job()],
    )
    cause = pdtriage.analyze(collect(cluster).folder).root_causes[0]
    assert (cause.category, cause.rank) == ("memory.shm", 1)
    spoken = [why.en for why in cause.why if "mounts nothing at /dev/shm" in why.en]
    shown = [line for line in cause.evidence if line.file.endswith("pod.json")]
    assert (bool(spoken), bool(shown)) == (not shm, not shm)


def test_a_job_that_went_well_is_silent(collect: Collect) -> None:
    done = ended(0, "Completed")
    cluster = cluster_of(
        [pod("worker", n, done, phase="Succeeded", shm=False) for n in range(2)],
        {f"train-worker-{n}": f"success-scary/log/workerlog.{n}" for n in range(2)},
        jobs=[job(phase="Completed")],
        events=[event("train-worker-0", "FailedScheduling", "0/8 nodes are available")],
    )
    report = pdtriage.analyze(collect(cluster).folder)
    assert (report.verdict, report.root_causes) == ("succeeded", ())
    assert {row.status for row in report.ranks} == {"finished"}


def test_a_pod_that_is_gone_is_told_by_the_job_and_by_an_event(collect: Collect) -> None:
    cluster = cluster_of(
        [pod("worker", 0, ended(250))],
        {"train-worker-0": "silent-sigkill/log/workerlog.0"},
        jobs=[job(2)],
        events=[
            event("train-worker-1", "Preempted", "Preempted by ml/big-1 on node gpu01"),
            event("other-worker-0", "Evicted", "The node was low on resource: memory."),
        ],
    )
    report = pdtriage.analyze(collect(cluster).folder)
    (cause,) = report.root_causes
    assert (cause.signature, cause.rank, cause.host) == ("k8s.preempted", 1, "train-worker-1")
    assert any("gone" in note.en and "train-worker-1" in note.en for note in report.notes)
