"""Pods, events and PaddleJobs in every form kubectl prints them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdtriage.model import FileFacts, LogFile
from pdtriage.scan.kubernetes import kubernetes_facts
from pdtriage.scan.kubernetes.documents import LONGEST, reduce_document
from tests.collect.pods import SECRET, ended, event, job, pod, running
from tests.scan.builders import facts_of

DESCRIBED = """\
Name:             train-worker-1
Namespace:        ml
Priority:         0
Service Account:  default
Node:             gpu07/192.168.3.7
Start Time:       Thu, 01 Jan 2026 08:00:00 +0800
Labels:           paddle-res-name=train-worker-1
                  paddle-res-type=worker
Annotations:      paddle-resource: worker
Status:           Failed
IP:               10.244.3.21
Controlled By:  PaddleJob/train
Containers:
  paddle:
    Container ID:  containerd://0f3c
    Image:         registry.example/paddle:3
    State:          Running
      Started:      Thu, 01 Jan 2026 09:00:12 +0800
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Thu, 01 Jan 2026 08:00:00 +0800
      Finished:     Thu, 01 Jan 2026 09:00:00 +0800
    Ready:          True
    Restart Count:  3
    Limits:
      memory:  16Gi
    Environment Variables from:
      train  ConfigMap  Optional: false
    Environment:
      PADDLE_TRAINER_ID:  1
      STORE_PASSWORD:     s3cr3t-of-the-cluster
    Mounts:
      /data from data (ro)
Conditions:
  Type              Status
  Ready             True
  PodScheduled      True
Volumes:
  data:
    Type:       PersistentVolumeClaim
Events:
  Type     Reason     Age                From               Message
  ----     ------     ----               ----               -------
  Warning  BackOff    2m (x5 over 10m)   kubelet            Back-off restarting failed container
  Normal   Killing    5m                 kubelet, gpu07     Container paddle failed liveness probe, will be restarted
"""  # noqa: E501
TABLE = """\
NAME             READY   STATUS             RESTARTS      AGE   IP            NODE    NOMINATED NODE
train-worker-0   0/1     Error              0             62m   10.244.3.20   gpu06   <none>
train-worker-1   0/1     OOMKilled          2 (5m ago)    62m   10.244.3.21   gpu07   <none>
train-worker-2   0/1     ImagePullBackOff   0             62m   <none>        gpu08   <none>
train-worker-3   0/1     Evicted            0             62m   <none>        gpu09   <none>
train-worker-4   1/1     Running            0             62m   10.244.3.24   gpu10   <none>
"""
EVENTS = """\
LAST SEEN   TYPE      REASON             OBJECT               MESSAGE
12m         Warning   FailedScheduling   pod/train-worker-1   0/8 nodes are available
3m          Normal    Scheduled          pod/train-worker-0   Successfully assigned to gpu06
1m          Warning   NodeNotReady       pod/train-worker-2   Node is not ready
"""


def facts(document: Any) -> FileFacts:
    raw = (
        document.encode() if isinstance(document, str) else json.dumps(document, indent=1).encode()
    )
    return kubernetes_facts(LogFile("pods.json", "k8s", "."), raw)


def signs(document: Any) -> list[str]:
    return [found.signature for found in facts(document).events if found.role == "cause"]


def test_a_pod_tells_its_place_and_its_lives() -> None:
    found = facts(pod("worker", 1, running(), before=ended(137, "OOMKilled"), restarts=2))
    (told,) = found.pods
    assert (told.role, told.index, told.job, told.numbered) == ("worker", 1, "train", True)
    assert (told.machine, told.address, told.restarts) == ("gpu01", "10.77.0.2", 2)
    assert [(life.code, life.running) for life in told.lives] == [(137, False), (None, True)]
    assert dict(told.environment) == {"PADDLE_TRAINER_ID": "1", "TRAINING_ROLE": "TRAINER"}
    (killed,) = found.events
    assert (killed.signature, killed.fields["attempt"]) == ("k8s.oom-killed", "1")
    assert '"reason": "OOMKilled"' in killed.text


@pytest.mark.parametrize(
    ("reason", "message", "signature"),
    [
        ("Evicted", "The node was low on resource: memory. Threshold 100Mi", "memory-pressure"),
        ("Evicted", "The node had condition: [DiskPressure]. ", "evicted"),
        ("Evicted", "Pod ephemeral local storage usage exceeds the total limit", "disk-limit"),
        ("Evicted", 'Usage of EmptyDir volume "dshm" exceeds the limit "8Gi". ', "shm-limit"),
        ("Evicted", 'Usage of EmptyDir volume "tmp" exceeds the limit "8Gi". ', "disk-limit"),
        ("NodeLost", "Node gpu01 which was running the pod is unresponsive", "node-lost"),
        ("Terminated", "Pod was terminated in response to imminent node shutdown.", "node-lost"),
        ("DeadlineExceeded", "Pod was active on the node longer than allowed", "deadline"),
    ],
)
def test_why_a_pod_was_removed(reason: str, message: str, signature: str) -> None:
    told = pod("worker", 1, ended(137), reason=reason, message=message)
    assert signs(told) == [f"k8s.{signature}"]


def test_a_disruption() -> None:
    target = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    assert signs(pod("worker", 1, ended(143), conditions=[target])) == ["k8s.preempted"]


@pytest.mark.parametrize(
    ("state", "signature"),
    [
        ({"waiting": {"reason": "ImagePullBackOff", "message": "no such tag"}}, "k8s.image"),
        ({"waiting": {"reason": "CreateContainerConfigError"}}, "k8s.cannot-start"),
        ({"waiting": {"reason": "ContainerCreating"}}, "k8s.pending"),
        (ended(128, "StartError", message="python3.9: not found"), "k8s.cannot-start"),
    ],
)
def test_why_a_container_never_started(state: dict[str, Any], signature: str) -> None:
    assert signs(pod("worker", 1, state, phase="Pending"))[0] == signature


def test_an_init_container_that_failed() -> None:
    document = pod("worker", 1, {"waiting": {"reason": "PodInitializing"}}, phase="Pending")
    document["status"]["initContainerStatuses"] = [{"name": "fetch", "state": ended(2)}]
    assert signs(document) == ["k8s.init-failed", "k8s.pending"]


def test_events_of_the_cluster() -> None:
    told = [
        event("train-worker-0", "Preempted", "Preempted by ml/x"),
        event("train-worker-1", "FailedMount", "MountVolume.SetUp failed for volume data"),
        event("train-worker-2", "Failed", 'Failed to pull image "x": not found'),
        event("train-worker-3", "Started", "Started container paddle"),
    ]
    found = facts({"kind": "EventList", "apiVersion": "v1", "items": told})
    assert [(e.fields["pod"], e.signature) for e in found.events] == [
        ("train-worker-0", "k8s.preempted"),
        ("train-worker-1", "k8s.volume"),
        ("train-worker-2", "k8s.image"),
    ]
    assert "train-worker-0" not in found.events[1].text
    assert found.events[0].line < found.events[1].line


def test_described_pods() -> None:
    found = facts(DESCRIBED + "\n\n" + DESCRIBED.replace("worker-1", "worker-2"))
    assert [told.name for told in found.pods] == ["train-worker-1", "train-worker-2"]
    told = found.pods[0]
    assert (told.role, told.index, told.job, told.machine) == ("worker", 1, "train", "gpu07")
    assert [(life.code, life.running) for life in told.lives] == [(137, False), (None, True)]
    assert told.lives[0].finished == 1767229200.0
    assert dict(told.environment) == {"PADDLE_TRAINER_ID": "1"}
    own = [e for e in found.events if e.fields["pod"] == "train-worker-1"]
    assert [e.signature for e in own] == ["k8s.oom-killed", "k8s.no-shm", "k8s.probe"]
    assert "OOMKilled" in own[0].text


def test_tables() -> None:
    found = facts(TABLE)
    assert [(told.index, told.phase, told.restarts) for told in found.pods] == [
        (0, "Failed", 0),
        (1, "Failed", 2),
        (2, "Pending", 0),
        (3, "Failed", 0),
        (4, "Running", 0),
    ]
    assert [e.signature for e in found.events if e.role == "cause"] == [
        "k8s.oom-killed",
        "k8s.image",
        "k8s.pending",
        "k8s.evicted",
    ]
    assert found.events[0].line == 3
    assert signs(EVENTS) == ["k8s.unschedulable", "k8s.node-lost"]
    assert [event.line for event in facts(EVENTS).events] == [2, 4]


def test_lines_with_the_time_of_the_node() -> None:
    """`kubectl logs --timestamps`: one clock for all lines, whatever they print themselves."""
    lines = [f"epoch 0 step {n} loss 1.0" for n in range(9)]
    lines += ["Traceback (most recent call last):", '  File "a.py", line 3, in <module>']
    lines += ["ValueError: 2020-02-02 02:02:02 is no date"]
    stamped = "".join(
        f"2026-01-01T00:00:{n:02}.500000000Z {line}\n" for n, line in enumerate(lines)
    )
    found = facts_of(stamped, "console")
    assert [step.time for step in found.progress[:2]] == [1767225600.5, 1767225601.5]
    assert [(e.text, e.time) for e in found.events] == [(lines[-1], 1767225611.5)]


def test_a_job_of_either_operator() -> None:
    (ours,) = facts(job(4, 2, phase="Running")).pod_jobs
    assert (ours.phase, dict(ours.replicas)) == ("Running", {"worker": 4, "server": 2})
    other = {
        "kind": "PaddleJob",
        "apiVersion": "kubeflow.org/v1",
        "metadata": {"name": "train"},
        "spec": {"paddleReplicaSpecs": {"Worker": {"replicas": 3}}},
        "status": {
            "conditions": [
                {"type": "Created", "status": "True"},
                {"type": "Running", "status": "False"},
                {"type": "Failed", "status": "True"},
            ]
        },
    }
    (theirs,) = facts(other).pod_jobs
    assert (theirs.phase, dict(theirs.replicas)) == ("Failed", {"worker": 3})


def test_only_what_is_allowed_is_kept() -> None:
    document = pod("worker", 1, ended(1, message="x" * 100_000))
    document["spec"]["volumes"] = [
        {"name": "token", "secret": {"secretName": SECRET}},
        {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}},
    ]
    document["spec"]["containers"][0]["envFrom"] = [{"secretRef": {"name": SECRET}}]
    kept = json.dumps(reduce_document({"kind": "PodList", "items": [document]}))
    assert SECRET not in kept
    assert '"sizeLimit": "8Gi"' in kept
    assert '"token", "secret": {}' in kept
    assert len(kept) < LONGEST + 2_000
    assert reduce_document({"kind": "Secret", "data": {"x": SECRET}}) == {}
    assert reduce_document(["nonsense"]) == {}


@pytest.mark.parametrize("secret", ["hunter2OOMKilledhunter2", "OOMKilled hunter2"])
def test_no_line_of_a_spec_is_shown(secret: str) -> None:
    document = pod("worker", 1, ended(137, "OOMKilled"))
    document["spec"]["containers"][0]["env"].append({"name": "TOKEN", "value": secret})
    described = DESCRIBED.replace("Status:  ", f"Annotations:  Reason: {secret}\nStatus:  ", 1)
    told = [facts(document), facts(json.dumps(document)), facts(described)]
    found = [next(e for e in one.events if e.signature == "k8s.oom-killed") for one in told]
    lines = ['"reason": "OOMKilled",', "OOMKilled", "Reason:       OOMKilled"]
    assert [one.text for one in found] == lines
    assert not any("hunter2" in repr(one.events) for one in told)
    assert described.splitlines()[found[2].line - 1].strip() == lines[2]


def test_many_pods_are_placed_in_one_pass() -> None:
    searched: list[int] = []

    class Searched(bytes):
        def find(self, *given: Any) -> int:
            at = super().find(*given)
            searched.append((len(self) if at < 0 else at) - (given[1] if given[1:] else 0))
            return at

        def count(self, *given: Any) -> int:
            searched.append(given[2] - given[1] if given[2:] else len(self))
            return super().count(*given)

    pods = [pod("worker", n, ended(137, "OOMKilled")) for n in range(60)]
    raw = Searched(json.dumps({"kind": "PodList", "items": pods}, indent=1).encode())
    found = kubernetes_facts(LogFile("pods.json", "k8s", "."), raw).events
    lines = [at for at, line in enumerate(raw.split(b"\n"), 1) if b"OOMKilled" in line]
    assert [event.line for event in found] == lines
    assert sum(searched) < 3 * len(raw)


def test_hostile_words_are_inert() -> None:
    hostile = "\x1b]0;owned\x07\u202e<script>\n::error::x" + "A" * 5_000
    document = pod("worker", 1, ended(137, "OOMKilled", message=hostile), message=hostile)
    document["metadata"]["name"] = "../../etc/passwd\x1b[31m"
    (told,) = facts(document).pods
    assert told.name == "../../etc/passwd"
    said = facts(document).events[0].fields["message"]
    assert (len(said), "\x1b" in said, "\n" in said, "\u202e" in said) == (500, False, False, False)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "kind",
                        "items",
                        "metadata",
                        "name",
                        "spec",
                        "status",
                        "containers",
                        "env",
                        "containerStatuses",
                        "state",
                        "terminated",
                        "conditions",
                        "ownerReferences",
                    ]
                ),
                inner | st.sampled_from(["Pod", "Event", "PodList"]),
                max_size=6,
            )
        ),
        max_leaves=25,
    )
)
def test_no_document_raises(document: object) -> None:
    facts({"kind": "Pod", "metadata": {"name": "x"}, "spec": document, "status": document})
    facts(document if isinstance(document, dict | list) else {"kind": document})
    reduce_document({"kind": "Pod", "metadata": document, "spec": document})


@given(st.binary(max_size=300))
def test_no_bytes_raise(raw: bytes) -> None:
    kubernetes_facts(LogFile("pods.json", "k8s", "."), raw)
    kubernetes_facts(LogFile("pods.json", "k8s", "."), b"Name:  x\nNamespace: y\n" + raw)
