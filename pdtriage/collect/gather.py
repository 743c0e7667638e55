"""One PaddleJob into one folder: statuses, events, and what every container printed."""

from __future__ import annotations

import hashlib
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from pdtriage.collect.kubectl import Kubectl, KubectlError, not_collected
from pdtriage.collect.paddle_job import PodSelection, deletion_warnings, job_events
from pdtriage.scan.kubernetes import MANIFEST as SCHEMA
from pdtriage.scan.kubernetes import as_text
from pdtriage.scan.kubernetes.documents import (
    items_at,
    number_at,
    object_at,
    reduce_document,
    text_at,
    withheld_variables,
)
from pdtriage.scan.kubernetes.pods import pod_of
from pdtriage.support.language import Text
from pdtriage.support.whole_files import whole_text

MANIFEST = "pdtriage-k8s.json"
JOB, EVENTS, PODS, POD = "paddlejob.json", "events.json", "pods", "pod.json"
_KUBERNETES_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,199}[a-z0-9])?")
_NOT_IN_FILE_NAMES = re.compile(r"[^A-Za-z0-9.-]+")

UNFINISHED = {
    "schema": SCHEMA,
    "complete": False,
    "left_out": [
        {
            "what": "collection",
            "en": "the collection was not finished: logs may be missing or cut",
            "zh": "收集没有完成：日志可能缺失或被截断",
        }
    ],
}

Document = Mapping[str, object]
Progress = Callable[[int, int], None]
"""Called with the logs that are there and the logs there will be."""


@dataclass(frozen=True, slots=True)
class ContainerLog:
    """The output of one life of one container."""

    pod: str
    container: str
    previous: bool
    file: str
    """Below the folder of the collection."""


@dataclass
class Collection:
    """What is there, and what is missing."""

    folder: Path
    logs: list[dict[str, object]] = field(default_factory=list)
    left_out: list[dict[str, object]] = field(default_factory=list)
    warnings: list[dict[str, object]] = field(default_factory=list)
    withheld: int = 0

    @property
    def complete(self) -> bool:
        return not self.left_out

    def miss(self, what: Mapping[str, object], said: Text) -> None:
        self.left_out.append({**what, "en": said.en, "zh": said.zh})


def gather(
    selection: PodSelection,
    kubectl: Kubectl,
    folder: Path,
    options: Sequence[str] = (),
    parallel: int = 8,
    progress: Progress | None = None,
) -> Collection:
    """Fills the folder; what cannot be had is noted in the collection, never raised."""
    made = Collection(folder)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / MANIFEST, UNFINISHED)
    if selection.job is not None:
        _write(folder / JOB, reduce_document({"kind": "PaddleJob", **selection.job}))
        made.warnings.extend(
            {"en": said.en, "zh": said.zh} for said in deletion_warnings(selection.job)
        )
    else:
        for resource, error in selection.troubles:
            if error.trouble not in ("not-found", "no-type"):
                made.miss({"what": resource}, not_collected(resource, error))
    _add_events(selection, kubectl, made)
    wanted: list[ContainerLog] = []
    for pod in selection.pods:
        home = folder / PODS / safe_name(text_at(pod, "metadata", "name"))
        home.mkdir(parents=True, exist_ok=True)
        _write(home / POD, reduce_document({"apiVersion": "v1", "kind": "Pod", **pod}))
        made.withheld += withheld_variables({"kind": "Pod", **pod})
        wanted.extend(_logs_of(pod, made))
    _fetch_all(wanted, kubectl, made, options, parallel, progress)
    return made


def write_manifest(made: Collection, about: Mapping[str, object], pods: Sequence[Document]) -> None:
    """Last of all: until then it says that the collection was not finished."""
    rows = []
    for document in pods:
        pod = pod_of(document)
        if pod is not None:
            rows.append(
                {
                    "name": pod.name,
                    "folder": f"{PODS}/{safe_name(pod.name)}",
                    "role": pod.role,
                    "index": pod.index,
                    "node": pod.machine,
                    "phase": pod.phase,
                    "restarts": pod.restarts,
                }
            )
    _write(
        made.folder / MANIFEST,
        {
            "schema": SCHEMA,
            **about,
            "complete": made.complete,
            "pods": rows,
            "logs": sorted(made.logs, key=lambda log: str(log["file"])),
            "left_out": made.left_out,
            "warnings": made.warnings,
            "variables_left_out": made.withheld,
        },
    )


def is_collection(folder: Path) -> bool:
    return (folder / MANIFEST).is_file()


def remove_collection(folder: Path) -> None:
    """Removes what a collection consists of; whatever else lies in the folder stays.

    What is left says that it is a collection, and not finished, until a new one is.
    """
    _write(folder / MANIFEST, UNFINISHED)
    for name in (JOB, EVENTS):
        (folder / name).unlink(missing_ok=True)
    if (folder / PODS).is_dir() and not (folder / PODS).is_symlink():
        shutil.rmtree(folder / PODS)


def is_kubernetes_name(name: str) -> bool:
    """What Kubernetes allows as the name of a job, pod, container or namespace."""
    return bool(_KUBERNETES_NAME.fullmatch(name)) and ".." not in name


def safe_name(name: str) -> str:
    """A stranger's name as the name of a file: itself if ordinary, else like it with a number."""
    if is_kubernetes_name(name):
        return name
    number = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_NOT_IN_FILE_NAMES.sub('-', name).strip('.-')[:60] or 'unnamed'}-{number}"


def _add_events(selection: PodSelection, kubectl: Kubectl, made: Collection) -> None:
    names = {text_at(pod, "metadata", "name") for pod in selection.pods}
    try:
        events = job_events(kubectl, selection.name, names)
    except KubectlError as error:
        made.miss({"what": "events"}, not_collected("events", error))
        return
    _write(made.folder / EVENTS, reduce_document(events))


def _logs_of(pod: Document, made: Collection) -> Iterator[ContainerLog]:
    """The logs a pod may have; a container that never started has none."""
    name = text_at(pod, "metadata", "name")
    if not is_kubernetes_name(name):
        odd = KubectlError("other", "no pod can have such a name")
        made.miss({"pod": name, "what": "log"}, not_collected(name, odd, log=True))
        return
    for group in ("initContainerStatuses", "containerStatuses"):
        for status in items_at(pod, "status", group):
            container = text_at(status, "name")
            now, before = object_at(status, "state"), object_at(status, "lastState", "terminated")
            alive = bool(object_at(now, "running") or object_at(now, "terminated"))
            if group == "initContainerStatuses" and not _may_explain(status):
                continue
            if not (alive or before) or not is_kubernetes_name(container):
                continue
            file = f"{PODS}/{safe_name(name)}/console_{safe_name(container)}"
            yield ContainerLog(name, container, False, f"{file}.log")
            # while it waits for a restart, its last life is what `logs` shows without being asked
            if alive and before:
                yield ContainerLog(name, container, True, f"{file}_previous.log")


def _may_explain(status: Document) -> bool:
    """An init container that ended well has nothing to tell."""
    return number_at(status, "state", "terminated", "exitCode") != 0


def _fetch_all(
    wanted: Sequence[ContainerLog],
    kubectl: Kubectl,
    made: Collection,
    options: Sequence[str],
    parallel: int,
    progress: Progress | None,
) -> None:
    lock = threading.Lock()

    def fetch(one: ContainerLog) -> None:
        row, said = _fetch_log(one, kubectl, made.folder, options)
        with lock:
            made.logs.append(row)
            if said is not None:
                what = "previous log" if one.previous else "log"
                made.miss({"pod": one.pod, "container": one.container, "what": what}, said)

    pool = ThreadPoolExecutor(max_workers=max(1, parallel))
    try:
        waiting: set[Future[None]] = {pool.submit(fetch, one) for one in wanted}
        while waiting:
            done, waiting = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
            if progress:
                progress(len(wanted) - len(waiting), len(wanted))
    except BaseException:
        kubectl.stop.set()  # Ctrl-C: what runs is ended, what waits is dropped
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    made.left_out.sort(key=lambda entry: (str(entry.get("pod", "")), str(entry.get("what"))))


def _fetch_log(
    one: ContainerLog, kubectl: Kubectl, folder: Path, options: Sequence[str]
) -> tuple[dict[str, object], Text | None]:
    path = folder / one.file
    asked = [*options, *(["--previous"] if one.previous else [])]
    said = None
    try:
        kubectl.logs(one.pod, one.container, path, asked)
    except KubectlError as error:
        said = not_collected(f"{one.pod}/{one.container}", error, log=True)
        if not path.stat().st_size:
            path.unlink()
    size = path.stat().st_size if path.exists() else 0
    row: dict[str, object] = {
        "file": one.file,
        "container": one.container,
        "previous": one.previous,
        "bytes": size,
        "complete": said is None,
    }
    return row, said


def _write(path: Path, document: object) -> None:
    with whole_text(path) as stream:
        stream.write(as_text(document))
