"""Pods as nodes: which files belong to which pod, and what Kubernetes says of it."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence

from pdtriage.model import Event, FileFacts, Pod, PodJob, Role, Text
from pdtriage.scan.kubernetes.pods import pod_name_parts
from pdtriage.support.lazy_regex import lazy_compile

MOST_EXPECTED = 10_000
LATE = 300.0
"""Seconds after its end: what then happens to a pod did not end it."""
_WORDS: dict[Role, str] = {"worker": "worker", "server": "ps", "heter": "heter"}
_PREVIOUS = lazy_compile(r"[._-]prev(?:ious)?$")
_EXTENSION = lazy_compile(r"(?:\.(?:log|txt|out|gz|zst|xz|bz2))+$")
_CONSOLE = lazy_compile(r"console_(?P<container>[^_]+)(?:_previous)?")
"""How `pdtriage collect k8s` calls the output of a container."""


class ClusterFacts:
    """All that the files from kubectl say."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.folders: dict[str, str] = {}
        """The folder of the file that tells of a pod."""
        self.alone: dict[str, str] = {}
        """By folder: the pod whose status lies there, where it is the only one."""
        self.signs: list[tuple[str, Event]] = []
        self.jobs: list[PodJob] = []
        self.notes: list[Text] = []


def read_cluster(facts: Sequence[FileFacts], consoles: Sequence[FileFacts]) -> ClusterFacts:
    """Pods from their statuses; where there is none, from the names of files and folders."""
    cluster = ClusterFacts()
    for found in facts:
        cluster.jobs.extend(found.pod_jobs)
        cluster.notes.extend(found.notes)
        cluster.signs.extend((found.file.path, event) for event in found.events)
        for pod in found.pods:
            known = cluster.pods.get(pod.name)
            if known is None or len(pod.lives) > len(known.lives):
                cluster.pods[pod.name] = pod
                cluster.folders[pod.name] = found.file.folder
    if not cluster.pods:
        cluster.pods = _pods_by_names(consoles)
    crowded = Counter(cluster.folders.values())
    cluster.alone = {home: pod for pod, home in cluster.folders.items() if crowded[home] == 1}
    heard = {pod_of_file(console, cluster) for console in consoles}
    _keep_own_pods(cluster, heard)
    _add_missing(cluster)
    _keep_own_signs(cluster, heard)
    return cluster


def pod_of_file(console: FileFacts, cluster: ClusterFacts) -> str | None:
    """The pod that wrote a file: by its folder's name, by its own, or by the status beside it."""
    return pod_of_folder(console.file.folder, cluster) or _by_file_name(console, cluster.pods)


def pod_of_folder(folder: str, cluster: ClusterFacts) -> str | None:
    for part in reversed(folder.split("/")):
        if part in cluster.pods:
            return part
    return cluster.alone.get(folder) if len(cluster.pods) > 1 else None


def is_previous(console: FileFacts) -> bool:
    """Whether a file holds what a container printed before it was restarted."""
    return bool(_PREVIOUS.search(_EXTENSION.sub("", posixpath.basename(console.file.path))))


def of_training(consoles: list[FileFacts], pod: Pod) -> list[FileFacts]:
    """Logs of the training containers; all logs where training never started."""
    if not pod.container or (not pod.lives and pod.phase == "Pending"):
        return consoles
    own = []
    for console in consoles:
        named = _CONSOLE.match(posixpath.basename(console.file.path))
        if named is None or _EXTENSION.sub("", named["container"]) == pod.container:
            own.append(console)
    return own


def _by_file_name(console: FileFacts, pods: Container[str]) -> str | None:
    """`train-worker-1_paddle.log` belongs to `train-worker-1`: the longest name that fits."""
    stem = _EXTENSION.sub("", posixpath.basename(console.file.path))
    ends = [len(stem), *(found.start() for found in reversed([*re.finditer(r"[._-]", stem)]))]
    return next((stem[:end] for end in ends if stem[:end] in pods), None)


def _pods_by_names(consoles: Sequence[FileFacts]) -> dict[str, Pod]:
    """Pods by names of files alone: two of one job at least, since one name proves little."""
    found: dict[str, dict[str, Pod]] = {}
    for console in consoles:
        stem = _PREVIOUS.sub("", _EXTENSION.sub("", posixpath.basename(console.file.path)))
        for name in (stem, posixpath.basename(console.file.folder)):
            told = pod_name_parts(name)
            if told:
                job, role, index = told
                found.setdefault(job, {})[name] = Pod(name, role, index, job)
                break
    jobs = [pods for pods in found.values() if len(pods) > 1]
    return {name: pod for pods in jobs for name, pod in pods.items()}


def _add_missing(cluster: ClusterFacts) -> None:
    """Pods the job should have, or an event speaks of, and which are gone."""
    if not cluster.pods:
        return
    jobs = {pod.job for pod in cluster.pods.values()}
    expected = [name for job in cluster.jobs if job.name in jobs for name in _expected_pods(job)]
    spoken = [event.fields["pod"] for _, event in cluster.signs if "pod" in event.fields]
    for name in dict.fromkeys([*expected, *spoken]):
        told = pod_name_parts(name)
        if name not in cluster.pods and told and told[0] in jobs:
            job, role, index = told
            numbered = any(pod.numbered for pod in cluster.pods.values())
            cluster.pods[name] = Pod(name, role, index, job, numbered, phase="Deleted")


def _keep_own_pods(cluster: ClusterFacts, heard: set[str | None]) -> None:
    """Keeps the pods of this job: a list of a whole namespace has those of others in it."""
    jobs = {cluster.pods[name].job for name in heard if name in cluster.pods}
    if jobs:
        own = {n: pod for n, pod in cluster.pods.items() if n in heard or pod.job in jobs - {None}}
        cluster.pods = own


def _expected_pods(job: PodJob) -> Iterator[str]:
    for role, count in job.replicas.items():
        if role in _WORDS:
            yield from (f"{job.name}-{_WORDS[role]}-{n}" for n in range(min(count, MOST_EXPECTED)))


def _keep_own_signs(cluster: ClusterFacts, heard: set[str | None]) -> None:
    """Keeps the signs of the job's pods; what hindered a start only for one that never came."""
    if not cluster.signs:
        return
    from pdtriage.scan.kubernetes.reasons import STRONGEST  # few folders have any

    kept = []
    for path, event in cluster.signs:
        pod = cluster.pods.get(event.fields.get("pod", ""))
        if pod is None and cluster.pods:
            continue
        started = event.fields.get("pod") in heard or bool(pod and pod.lives)
        if event.fields.get("hindered"):
            if not started:
                kept.append((path, event))
        elif not _came_late(event, pod):
            kept.append((path, event))
    order = {name: place for place, name in enumerate(STRONGEST)}
    cluster.signs = sorted(kept, key=lambda one: order.get(one[1].signature, len(order)))


def _came_late(event: Event, pod: Pod | None) -> bool:
    """A machine that is lost, or drained, after the container on it had ended."""
    ends = [life.finished for life in pod.lives[-1:]] if pod else []
    finished = ends[0] if ends else None
    return event.time is not None and finished is not None and event.time > finished + LATE
