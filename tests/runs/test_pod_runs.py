"""Folders that people filled with kubectl by hand: pods are nodes, whoever saved them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import pdtriage
from pdtriage.analysis.bundle import write_bundle
from pdtriage.knowledge import load_knowledge
from tests.collect.pods import SCENARIOS, SECRET, ended, event, job, kubeflow, pod, running

LOGS = SCENARIOS / "data-errno5-worker" / "log"
KILLED = SCENARIOS / "silent-sigkill" / "log"


def saved(folder: Path, logs: dict[str, Path | str], documents: dict[str, Any]) -> Path:
    folder.mkdir()
    for name, source in logs.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(source, str):
            target.write_text(source)
        else:
            shutil.copy(source, target)
    for name, document in documents.items():
        text = document if isinstance(document, str) else json.dumps(document)
        (folder / name).write_text(text)
    return folder


def test_logs_named_like_pods_are_nodes_of_their_own(tmp_path: Path) -> None:
    logs = {f"train-worker-{n}.log": LOGS / f"workerlog.{n}" for n in range(2)}
    report = pdtriage.analyze(saved(tmp_path / "saved", logs, {}))
    cause = report.root_causes[0]
    assert (cause.category, cause.rank, cause.host) == ("data.io", 1, "train-worker-1")
    assert [victim.rank for victim in report.victims] == [0]


def test_one_log_named_like_a_pod_is_a_log(tmp_path: Path) -> None:
    report = pdtriage.analyze(
        saved(tmp_path / "saved", {"train-worker-1.log": LOGS / "workerlog.1"}, {})
    )
    assert [(c.category, c.host) for c in report.root_causes] == [("data.io", None)]


def test_statuses_beside_the_logs(tmp_path: Path) -> None:
    pods = [pod("worker", 0, ended(250)), pod("worker", 1, ended(137, "OOMKilled"))]
    logs = {f"train-worker-{n}.log": KILLED / f"workerlog.{n}" for n in range(2)}
    folder = saved(tmp_path / "saved", logs, {"pods.json": {"kind": "PodList", "items": pods}})
    (cause,) = pdtriage.analyze(folder).root_causes
    assert (cause.signature, cause.rank, cause.confidence) == ("k8s.oom-killed", 1, "proven")


def test_other_jobs_of_the_namespace_are_left_out(tmp_path: Path) -> None:
    pods = [pod("worker", n, ended(1 if n else 250)) for n in range(2)]
    others = [pod("worker", n, ended(137, "OOMKilled"), job="other") for n in range(2)]
    others.append({"kind": "Pod", "metadata": {"name": "nginx-7d4"}, "status": {"phase": "Failed"}})
    logs = {f"train-worker-{n}.log": LOGS / f"workerlog.{n}" for n in range(2)}
    documents = {"pods.json": {"kind": "PodList", "items": [*others, *pods]}}
    report = pdtriage.analyze(saved(tmp_path / "saved", logs, documents))
    assert {row.host for row in report.ranks} == {"train-worker-0", "train-worker-1"}
    assert [cause.category for cause in report.root_causes] == ["data.io"]


def test_a_table_beside_the_logs(tmp_path: Path) -> None:
    table = (
        "NAME             READY   STATUS      RESTARTS   AGE\n"
        "train-worker-0   0/1     Error       0          62m\n"
        "train-worker-1   0/1     OOMKilled   0          62m\n"
    )
    logs = {f"train-worker-{n}.log": KILLED / f"workerlog.{n}" for n in range(2)}
    (cause,) = pdtriage.analyze(saved(tmp_path / "saved", logs, {"pods.txt": table})).root_causes
    assert (cause.signature, cause.rank) == ("k8s.oom-killed", 1)


def test_secrets_of_saved_statuses_stay_in_them(tmp_path: Path) -> None:
    """A bundle of the folder answers as the folder does, and holds the allow-list only."""
    pods = [pod("worker", 0, ended(250)), pod("worker", 1, ended(137, "OOMKilled"))]
    logs = {f"train-worker-{n}.log": KILLED / f"workerlog.{n}" for n in range(2)}
    folder = saved(tmp_path / "saved", logs, {"pods.json": {"kind": "PodList", "items": pods}})
    report = pdtriage.analyze(folder, redact=False)
    assert SECRET not in json.dumps(report.to_json())
    contents = write_bundle([folder], tmp_path / "bundle.tar")
    assert any(name.endswith("pods.json") for name in contents.members)
    assert not [name for name, held in contents.members.items() if SECRET.encode() in held]
    again = pdtriage.analyze(tmp_path / "bundle.tar")
    assert again.root_causes[0].fingerprint == report.root_causes[0].fingerprint


def test_an_accusation_by_the_address_of_a_pod(tmp_path: Path) -> None:
    """The message names 10.77.0.2 and nobody's rank."""
    lost = "RuntimeError: [../pair.cc:576] Read error [10.77.0.2]:4711: Connection reset by peer\n"
    said = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n' + lost
    pods = [pod("worker", n, ended(1 if n != 1 else 0)) for n in range(3)]
    logs = {"train-worker-0.log": said, "train-worker-1.log": "epoch 0 step 1 loss 1.0\n",
            "train-worker-2.log": said}  # fmt: skip
    folder = saved(tmp_path / "saved", logs, {"pods.json": {"kind": "PodList", "items": pods}})
    cause = pdtriage.analyze(folder).root_causes[0]
    assert (cause.rank, cause.host) == (1, "train-worker-1")


def test_several_processes_in_a_pod_are_not_told_apart_by_its_end(tmp_path: Path) -> None:
    """OOMKilled says which pod, not which of its ranks."""
    started = (
        "LAUNCH INFO 2026-01-01 00:00:00,000 Job: default, mode collective, replicas 2[2:2], "
        "elastic False\n"
        "LAUNCH INFO 2026-01-01 00:00:01,000 Run Pod: abc, replicas 4, status ready\n"
        "epoch 0 step 1 loss 1.0\n"
    )
    pods = [pod("worker", 0, ended(1)), pod("worker", 1, ended(137, "OOMKilled"))]
    logs = {f"train-worker-{n}.log": started for n in range(2)}
    folder = saved(tmp_path / "saved", logs, {"pods.json": {"kind": "PodList", "items": pods}})
    report = pdtriage.analyze(folder)
    cause = report.root_causes[0]
    assert (cause.signature, cause.host, cause.rank) == ("k8s.oom-killed", "train-worker-1", None)
    assert report.job.world_size == 8
    assert [row.rank for row in report.ranks if row.files] == [0, 4]


@pytest.mark.parametrize(
    ("scenario", "reason", "signature", "rank"),
    [
        ("nodes-errno5", "Error", "verdict.lost-log", 3),
        ("nodes-segfault", "Error", "crash.fatal-text", 2),
        ("nodes-sigkill", "Error", "verdict.lost-log", 3),
        ("nodes-sigkill", "OOMKilled", "k8s.oom-killed", 3),
    ],
)
def test_consoles_of_real_launchers_with_two_processes_each(
    tmp_path: Path, scenario: str, reason: str, signature: str, rank: int
) -> None:
    """kubectl has the console of a launcher: its own words, and the log of its first process."""
    pods = [pod("worker", 0, ended(250)), pod("worker", 1, ended(250, reason))]
    logs: dict[str, Path | str] = {
        f"train-worker-{n}.log": SCENARIOS / scenario / f"node{n}" / "console.log" for n in range(2)
    }
    folder = saved(tmp_path / "saved", logs, {"pods.json": {"kind": "PodList", "items": pods}})
    report = pdtriage.analyze(folder)
    cause = report.root_causes[0]
    assert (cause.signature, cause.rank, cause.host) == (signature, rank, "train-worker-1")
    assert [(row.rank, row.host) for row in report.ranks] == [
        (number, f"train-worker-{number // 2}") for number in range(4)
    ]
    assert 0 in {victim.rank for victim in report.victims}


def test_the_report_of_a_launch_in_the_console_of_a_pod(tmp_path: Path) -> None:
    """`pdtriage run` in the pod: its console ends with the answer, and is all that is left."""
    console = (
        "LAUNCH INFO 2026-01-01 00:00:00,000 Job: default, mode collective, replicas 1[1:1], "
        "elastic False\n"
        "LAUNCH INFO 2026-01-01 00:00:00,000 Run Pod: abc, replicas 2, status ready\n"
        "epoch 0 step 1 loss 1.0\n"
        "LAUNCH INFO 2026-01-01 00:00:02,000 Pod failed\n"
        "LAUNCH ERROR 2026-01-01 00:00:02,000 ABORT!!! Out of all 2 trainers, the trainer process "
        "with rank=[1] was aborted. Please check its log.\n"
        "FAILED: rank 1 of 2\nDevice memory is exhausted\n\n  log/workerlog.1:9\n\n"
        "More: pdtriage explain memory.gpu-oom\n"
    )
    known = load_knowledge().signatures
    signature = next(name for name, one in known.items() if one.category == "memory.gpu")
    console = console.replace("memory.gpu-oom", signature)
    documents = {"pods.json": pod("worker", 0, ended(1))}
    folder = saved(tmp_path / "saved", {"train-worker-0.log": console}, documents)
    (cause,) = pdtriage.analyze(folder).root_causes
    assert (cause.category, cause.rank, cause.confidence) == ("memory.gpu", 1, "likely")
    assert cause.host == "train-worker-0"


@pytest.mark.parametrize(("workers", "ranks"), [(2, [0, 1]), (3, [0, None, None])])
def test_the_training_operator_does_not_number_the_ranks(
    tmp_path: Path, workers: int, ranks: list[int | None]
) -> None:
    pods = [kubeflow(pod("worker", n, ended(1))) for n in range(workers)]
    logs = {f"train-worker-{n}.log": "epoch 0 step 1 loss 1.0\n" for n in range(workers)}
    folder = saved(tmp_path / "saved", logs, {"pods.json": {"kind": "PodList", "items": pods}})
    report = pdtriage.analyze(folder)
    found = {row.host: row.rank for row in report.ranks}
    assert [found[f"train-worker-{n}"] for n in range(workers)] == ranks


def test_a_running_job_is_running(tmp_path: Path) -> None:
    pods = [pod("worker", n, running(), phase="Running") for n in range(2)]
    logs = {f"train-worker-{n}.log": KILLED / "workerlog.1" for n in range(2)}
    documents = {"pods.json": {"kind": "PodList", "items": pods}, "job-k8s.json": job()}
    report = pdtriage.analyze(saved(tmp_path / "saved", logs, documents))
    assert (report.verdict, report.root_causes) == ("running", ())


def test_a_launcher_that_completed_speaks_for_its_own_pod_only(tmp_path: Path) -> None:
    console = SCENARIOS / "nodes-success" / "node0" / "console.log"
    pods = [
        pod("worker", 0, ended(0, "Completed"), phase="Succeeded"),
        pod("worker", 1, ended(137, "OOMKilled")),
    ]
    logs: dict[str, Path | str] = {
        "train-worker-0.log": console,
        "train-worker-1.log": "epoch 0 step 1 loss 1.0\n",
    }
    folder = saved(tmp_path / "saved", logs, {"pods.json": {"kind": "PodList", "items": pods}})
    report = pdtriage.analyze(folder)
    assert (report.verdict, report.root_causes[0].host) == ("failed", "train-worker-1")


def test_a_quiet_pod_is_judged_by_its_exit_code(tmp_path: Path) -> None:
    """Exit code 139 is SIGSEGV; the other pod was stopped with SIGTERM when the job was deleted."""
    pods = [pod("worker", 0, ended(143)), pod("worker", 1, ended(139))]
    logs = {f"train-worker-{n}.log": "epoch 0 step 1 loss 1.0\n" for n in range(2)}
    folder = saved(tmp_path / "saved", logs, {"pods.json": {"kind": "PodList", "items": pods}})
    report = pdtriage.analyze(folder)
    cause = report.root_causes[0]
    assert (cause.category, cause.rank, cause.host) == ("code.crash", 1, "train-worker-1")
    assert [(v.rank, v.reason) for v in report.victims] == [(0, "stopped")]


def test_what_came_before_the_start_or_long_after_the_end_is_forgotten(tmp_path: Path) -> None:
    pods = [pod("worker", 0, ended(250)), pod("worker", 1, ended(1))]
    logs = {f"train-worker-{n}.log": KILLED / f"workerlog.{n}" for n in range(2)}
    told = [
        event("train-worker-0", "FailedScheduling", "0/8 nodes", "2025-12-31T23:59:00Z"),
        event("train-worker-0", "NodeNotReady", "Node is not ready", "2026-01-03T00:00:00Z"),
    ]
    documents = {
        "pods.json": {"kind": "PodList", "items": pods},
        "events.json": {"kind": "EventList", "items": told},
    }
    report = pdtriage.analyze(saved(tmp_path / "saved", logs, documents))
    cause = report.root_causes[0]
    assert (cause.signature, cause.host) == ("verdict.exit-code", "train-worker-1")


def test_a_crash_loop_has_one_log_and_one_life(tmp_path: Path) -> None:
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    pods = [
        pod("worker", 0, ended(250)),
        pod("worker", 1, waiting, before=ended(1), restarts=4, phase="Running"),
    ]
    logs = {f"train-worker-{n}.log": LOGS / f"workerlog.{n}" for n in range(2)}
    folder = saved(tmp_path / "saved", logs, {"pods.json": {"kind": "PodList", "items": pods}})
    report = pdtriage.analyze(folder)
    assert [run.attempt for run in report.runs] == [0]
    cause = report.root_causes[0]
    assert (cause.rank, cause.category, cause.host) == (1, "data.io", "train-worker-1")
