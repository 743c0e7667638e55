"""`pdtriage collect k8s` with the real kubectl: what it stores, leaves out, and how it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import pdtriage as api
from pdtriage.collect.gather import is_collection, remove_collection
from pdtriage.launch.supervise.processes import running_processes
from tests.collect.conftest import Collect, Obey, Serve, needs_kubectl
from tests.collect.pods import (
    AGAIN,
    SECRET,
    cluster_of,
    ended,
    event,
    job,
    kubeflow,
    pod,
    running,
)
from tests.collect.standin import KUBEFLOW, PADDLE, Cluster, kubeconfig
from tests.running import is_running, wait_until

pytestmark = needs_kubectl
LOGS = {
    "train-worker-0": "silent-sigkill/log/workerlog.0",
    "train-worker-1": "silent-sigkill/log/workerlog.1",
}


def two_workers(**more: object) -> Cluster:
    pods = [pod("worker", 0, ended(250)), pod("worker", 1, ended(137, "OOMKilled"))]
    return cluster_of(pods, LOGS, jobs=[job()], **more)


def test_the_layout_and_the_manifest(obey: Obey, serve: Serve, tmp_path: Path) -> None:
    cluster = two_workers(events=[event("train-worker-1", "Killing", "Stopping container paddle")])
    again = pod("worker", 2, running(AGAIN), before=ended(1), restarts=1, phase="Running")
    cluster.pods += [again, pod("worker", 0, ended(0), job="other")]
    cluster.logs["train-worker-2", "paddle", False] = b"now\n"
    cluster.logs["train-worker-2", "paddle", True] = b"before\n"
    serve(cluster)
    answer = obey("train", "-n", "ml")
    assert (answer.code, answer.out) == (0, "pdtriage analyze k8s-train\n"), answer.err
    folder = tmp_path / "k8s-train"
    found = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    assert found == [
        "events.json",
        "paddlejob.json",
        "pdtriage-k8s.json",
        "pods/train-worker-0/console_paddle.log",
        "pods/train-worker-0/pod.json",
        "pods/train-worker-1/console_paddle.log",
        "pods/train-worker-1/pod.json",
        "pods/train-worker-2/console_paddle.log",
        "pods/train-worker-2/console_paddle_previous.log",
        "pods/train-worker-2/pod.json",
    ]
    manifest = json.loads((folder / "pdtriage-k8s.json").read_text())
    assert (manifest["complete"], manifest["namespace"]) == (True, "ml")
    assert [p["node"] for p in manifest["pods"]] == ["gpu00", "gpu01", "gpu02"]
    assert (folder / "pods/train-worker-2/console_paddle_previous.log").read_text() == "before\n"
    assert not [p for p in found if SECRET in (folder / p).read_text()]
    assert manifest["variables_left_out"] == 3
    assert "3 pods, 4 logs" in answer.err


def test_a_folder_that_cannot_be_looked_into(
    obey: Obey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "k8s-train").mkdir()
    monkeypatch.setattr(Path, "iterdir", refused)
    answer = obey("train")
    assert (answer.code, "cannot be looked into (Permission denied)" in answer.err) == (2, True)


def test_a_collection_is_never_overwritten_by_accident(
    obey: Obey,
    serve: Serve,
    tmp_path: Path,
) -> None:
    serve(two_workers())
    (tmp_path / "k8s-train").mkdir()
    (tmp_path / "k8s-train" / "mine.txt").write_text("mine")
    answer = obey("train", "--overwrite")
    assert (answer.code, "something else" in answer.err) == (2, True)
    assert obey("paddlejob/train", "-o", "out").code == 0
    answer = obey("train", "-o", "out")
    assert (answer.code, "there already" in answer.err) == (2, True)
    (tmp_path / "out" / "mine.txt").write_text("mine")
    stale = tmp_path / "out" / "pods" / "gone"
    stale.mkdir()
    answer = obey("train", "-o", "out", "--overwrite", "--analyze")
    assert (answer.code, "OOMKilled" in answer.out) == (1, True)
    assert (stale.exists(), (tmp_path / "out" / "mine.txt").read_text()) == (False, "mine")


@pytest.mark.parametrize(
    ("faults", "groups", "told"),
    [
        ({"/pods": "403"}, (PADDLE,), "forbids it"),
        ({"/api": "401"}, (PADDLE,), "credentials"),
        ({"paddlejobs/": "404", "/pods": "404"}, (PADDLE,), "nothing was collected"),
        ({"paddlejobs/": "403"}, (PADDLE,), "no pods of it"),
        ({}, (), "knows no PaddleJobs"),
    ],
)
def test_what_cannot_be_collected_at_all(
    obey: Obey,
    serve: Serve,
    tmp_path: Path,
    faults: dict[str, str],
    groups: tuple[str, ...],
    told: str,
) -> None:
    serve(Cluster(faults=faults, groups=groups))
    answer = obey("train")
    assert answer.code == 3
    assert told in answer.err
    assert "Traceback" not in answer.err
    assert not list(tmp_path.glob("k8s-*"))


def test_without_kubectl_without_a_cluster_without_a_context(
    obey: Obey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text(kubeconfig("http://127.0.0.1:9"))  # nobody listens there
    monkeypatch.setenv("KUBECONFIG", str(config))
    monkeypatch.setenv("HOME", str(tmp_path))
    answer = obey("train")
    assert (answer.code, "cannot be reached" in answer.err) == (3, True)
    answer = obey("train", "--context", "nowhere")
    assert (answer.code, "no such context" in answer.err) == (3, True)
    for words in (["Train"], ["a..b"], ["train", "-n", "-x"], ["train", "--since", "soon"]):
        assert obey(*words).code == 2
    monkeypatch.setenv("PATH", str(tmp_path))
    answer = obey("train")
    assert (answer.code, "kubectl is not on PATH" in answer.err) == (3, True)


def test_pods_that_the_policy_deleted(obey: Obey, serve: Serve) -> None:
    serve(Cluster(jobs=[job(cleanPodPolicy="Always")]))
    answer = obey("train")
    assert answer.code == 3
    assert "has no pods" in answer.err
    assert "cleanPodPolicy: Always" in answer.err


def test_one_bad_log_does_not_cost_the_others(collect: Collect) -> None:
    cluster = two_workers(faults={"worker-0/log": "500", "/events": "403"})
    folder, made = collect(cluster)
    assert not made.complete
    told = {(entry.get("pod"), entry["what"]): str(entry["en"]) for entry in made.left_out}
    assert "incomplete: kubectl failed" in told["train-worker-0", "log"]
    assert "forbids" in told[None, "events"]
    assert not (folder / "pods/train-worker-0/console_paddle.log").exists()
    report = api.analyze(folder)
    assert report.root_causes[0].signature == "k8s.oom-killed"
    assert any("train-worker-0/paddle" in note.en for note in report.notes)


def test_a_log_that_breaks_off_is_kept_as_far_as_it_came(collect: Collect) -> None:
    folder, made = collect(two_workers(faults={"worker-1/log": "break"}))
    (entry,) = made.left_out
    assert "what came before is kept" in str(entry["en"])
    whole = (Path(__file__).parents[1] / "fixtures/scenarios" / LOGS["train-worker-1"]).read_bytes()
    kept = (folder / "pods/train-worker-1/console_paddle.log").read_bytes()
    assert kept == whole[: len(whole) // 2]


def test_a_log_that_stands_still_is_given_up(collect: Collect) -> None:
    folder, made = collect(two_workers(faults={"worker-1/log": "stall"}), patience=10.0)
    (entry,) = made.left_out
    assert "did not answer in time" in str(entry["en"])
    assert (folder / "pods/train-worker-1/console_paddle.log").stat().st_size


def test_hostile_names_lead_nowhere(collect: Collect, tmp_path: Path) -> None:
    """No cluster has such pods, but nobody should have to trust one."""
    cluster = two_workers()
    for name in ("../../../escape", "-oyaml", "\x1b[31mred", "a/b", ".."):
        odd = pod("worker", 7, ended(1, message="x" * 50_000 + "\x1b]0;t\x07"))
        odd["metadata"]["name"] = name
        cluster.pods.append(odd)
    cluster.pods[0]["status"]["containerStatuses"].append(
        {"name": "../../sidecar", "restartCount": 0, "state": ended(0), "lastState": {}}
    )
    before = {path for path in tmp_path.rglob("*") if "k8s-train" not in path.parts}
    folder, made = collect(cluster)
    after = {path for path in tmp_path.rglob("*") if "k8s-train" not in path.parts}
    assert {path for path in after - before if "home" not in path.parts} == set()
    assert len(list((folder / "pods").iterdir())) == 7
    assert not [p for p in folder.rglob("*") if {"..", "\x1b"} & set(p.relative_to(folder).parts)]
    assert len(made.left_out) == 5
    assert not [path for path in cluster.asked if "escape" in path or "yaml" in path]
    assert api.analyze(folder).root_causes[0].host == "train-worker-1"


def test_an_interrupted_collection_says_so_and_can_be_replaced(
    obey: Obey, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(two_workers())

    def interrupted(*_words: object, **_more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("pdtriage.collect.kubectl.Kubectl.logs", interrupted)
        assert obey("train").code != 0
    notes = [note.en for note in api.analyze(tmp_path / "k8s-train").notes]
    assert any("was not finished" in note for note in notes)
    assert obey("train").code == 2
    assert obey("train", "--overwrite").code == 0
    notes = [note.en for note in api.analyze(tmp_path / "k8s-train").notes]
    assert not any("was not finished" in note for note in notes)


def test_many_logs_at_once_but_not_all(collect: Collect) -> None:
    pods = [pod("worker", n, ended(0), phase="Succeeded") for n in range(6)]
    cluster = cluster_of(pods, {f"train-worker-{n}": b"step 1\n" * 5000 for n in range(6)})
    _, made = collect(cluster, "--tail=2", "--timestamps", "--limit-bytes=60", parallel=2)
    assert made.complete
    assert {row["bytes"] for row in made.logs} == {60}
    assert cluster.at_once <= 2


def test_the_training_operator(collect: Collect) -> None:
    pods = [kubeflow(pod("worker", n, ended(137 if n == 2 else 250))) for n in range(3)]
    logs = {f"train-worker-{n}": f"data-errno5-worker/log/workerlog.{n}" for n in range(3)}
    owner = job(3)
    owner["apiVersion"] = f"{KUBEFLOW}/v1"
    cluster = cluster_of(pods, logs, jobs=[owner], groups=(KUBEFLOW,))
    folder, made = collect(cluster)
    assert made.complete
    report = api.analyze(folder)
    assert {row.host for row in report.ranks} == {f"train-worker-{n}" for n in range(3)}
    assert report.root_causes[0].host == "train-worker-1"


@pytest.mark.parametrize(
    ("policy", "phase", "told"),
    [
        ("Always", "Running", "fails or completes"),
        ("OnFailure", "Running", "when the job fails"),
        ("", "Running", "when the job completes"),
        ("Always", "Failed", "what is missing here is gone"),
        ("Never", "Running", None),
        ("OnCompletion", "Failed", None),
    ],
)
def test_the_policy_that_deletes_pods(policy: str, phase: str, told: str | None) -> None:
    from pdtriage.collect.paddle_job import deletion_warnings

    warnings = deletion_warnings(job(cleanPodPolicy=policy, phase=phase))
    assert [told in warning.en for warning in warnings if told] == ([True] if told else [])
    assert bool(warnings) == bool(told)


def test_a_kubectl_whose_log_stands_still_ends_with_a_collection_that_is_killed(
    serve: Serve, tmp_path: Path
) -> None:
    cluster = two_workers(faults={"train-worker-0/log": "stall"})
    serve(cluster)
    words = [sys.executable, "-m", "pdtriage", "collect", "k8s", "train", "-n", "ml"]
    ours = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.DEVNULL)
    assert wait_until(lambda: any("train-worker-0/log" in path for path in cluster.asked))
    below = [entry.pid for entry in running_processes() if entry.parent == ours.pid]
    assert below

    ours.kill()
    ours.wait()

    assert wait_until(lambda: not any(map(is_running, below)))
    assert not json.loads((tmp_path / "k8s-train/pdtriage-k8s.json").read_text())["complete"]


def test_what_is_left_while_a_collection_is_replaced_is_one_that_is_not_finished(
    collect: Collect,
) -> None:
    folder = collect(two_workers()).folder
    remove_collection(folder)

    assert not json.loads((folder / "pdtriage-k8s.json").read_text())["complete"]
    assert is_collection(folder), "--overwrite may go on with it"
