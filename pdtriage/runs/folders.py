"""Files sorted by node: one log folder is one node, a console beside it belongs to it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from operator import attrgetter

from pdtriage.model import KINDS, FileFacts, Pod, Role
from pdtriage.model.kinds import launch_of_log
from pdtriage.record.schema import RunRecord
from pdtriage.runs.pod_files import (
    ClusterFacts,
    is_previous,
    of_training,
    pod_of_file,
    pod_of_folder,
    read_cluster,
)
from pdtriage.support.errors import assert_never
from pdtriage.support.fast_namedtuple import NamedTuple


class Log:
    """The log of one process, its rotated pieces oldest first."""

    __slots__ = ("index", "key", "pieces", "role")

    def __init__(self, role: Role, index: int | None, pieces: list[FileFacts]) -> None:
        self.role = role
        self.index = index
        self.key: tuple[str, int] = (role, -1 if index is None else index)
        self.pieces = pieces

    @property
    def modified(self) -> float | None:
        return self.pieces[-1].file.modified


class NodeFolder:
    """All files of one node."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.logs: list[Log] = []
        self.consoles: list[FileFacts] = []
        self.previous: list[FileFacts] = []
        """What its container printed before it was restarted."""
        self.environments: list[FileFacts] = []
        self.pods: list[FileFacts] = []
        self.backups: list[FileFacts] = []
        self.endpoints: list[FileFacts] = []
        self.cards: list[FileFacts] = []
        self.records: list[RunRecord] = []
        self.pod: Pod | None = None
        """What Kubernetes says of it, where the node is a pod."""
        self._by_key: dict[tuple[str, int], Log] = {}

    def add_log(self, role: Role, piece: FileFacts) -> None:
        log = Log(role, piece.file.index, [piece])
        known = log if log.index is None else self._by_key.setdefault(log.key, log)
        if known is log:
            self.logs.append(log)
        else:
            known.pieces.append(piece)


class _Nodes(dict[str, NodeFolder]):
    """The nodes by folder; one that is asked for is made."""

    def __missing__(self, folder: str) -> NodeFolder:
        self[folder] = node = NodeFolder(folder)
        return node


class JobFolder(NamedTuple):
    nodes: list[NodeFolder]
    kernel: list[FileFacts]
    cluster: ClusterFacts


def sort_files(
    facts: Iterable[FileFacts], records: Sequence[tuple[str, RunRecord]] = ()
) -> JobFolder:
    """Nodes in the order of their folder names; `records` come with the folder of their log."""
    nodes = _Nodes()
    consoles, kernel, told = _file_others(_file_logs(facts, nodes), nodes)
    nodes = _Nodes(sorted(nodes.items()))
    for folder, record in records:
        nodes[folder].records.append(record)
    cluster = read_cluster(told, consoles)
    for console in _give_to_pods(nodes, consoles, cluster):
        _node_of_console(nodes, console).consoles.append(console)
    for node in nodes.values():
        node.logs.sort(key=attrgetter("key"))
        for log in node.logs:
            if len(log.pieces) > 1:
                _sort_pieces(log)
        node.records.sort(key=lambda record: record.number)
    return JobFolder([nodes[folder] for folder in sorted(nodes)], kernel, cluster)


def _sort_pieces(log: Log) -> None:
    """Rotated pieces oldest first, and files that each launch has of its own in their time."""
    named = {piece.file.path: launch_of_piece(piece) for piece in log.pieces}
    if any(named.values()):
        log.pieces[:] = _without_copies(log.pieces)
    newest: dict[str, float] = {}
    for piece in log.pieces:
        launch = named[piece.file.path]
        newest[launch] = max(newest.get(launch, 0.0), _last_time(piece))
    log.pieces.sort(
        key=lambda piece: (
            newest[named[piece.file.path]],
            -piece.file.rotation,
            piece.file.path,
        )
    )


def launch_of_piece(piece: FileFacts) -> str:
    """The launch a file is called after; "" for one that all launches append to."""
    return launch_of_log(posixpath.basename(piece.file.path))


def _last_time(piece: FileFacts) -> float:
    """The last it tells, else when it was written."""
    return piece.stamps[-1].time if piece.stamps else piece.file.modified or 0.0


def _without_copies(pieces: list[FileFacts]) -> list[FileFacts]:
    """Each text once: some versions of the launcher write the same under two names."""
    kept: list[FileFacts] = []
    for piece in sorted(pieces, key=lambda piece: bool(launch_of_piece(piece))):
        if not any(piece._replace(file=other.file) == other for other in kept):
            kept.append(piece)
    return kept


def _file_logs(facts: Iterable[FileFacts], nodes: _Nodes) -> list[FileFacts]:
    """Gives numbered logs of processes to their nodes; all other files are left, in order."""
    others: list[FileFacts] = []
    for found in facts:
        file = found.file
        role = KINDS[file.kind].role
        if role and file.index is not None:
            nodes[file.folder].add_log(role, found)
        else:
            others.append(found)
    return sorted(others, key=_sort_key)


def _file_others(
    others: Iterable[FileFacts], nodes: _Nodes
) -> tuple[list[FileFacts], list[FileFacts], list[FileFacts]]:
    """Gives side files to their nodes; consoles, kernel logs and what Kubernetes says are left."""
    consoles: list[FileFacts] = []
    kernel: list[FileFacts] = []
    told: list[FileFacts] = []
    for found in others:
        file = found.file
        match file.kind:
            case "worker" | "server" | "heter" | "coordinator" as role:
                nodes[file.folder].add_log(role, found)
            case "kernel" | "ras":
                kernel.append(found)
            case "k8s":
                told.append(found)
            case "console":
                consoles.append(found)
            case "env":
                nodes[file.folder].environments.append(found)
            case "endpoints":
                nodes[file.folder].endpoints.append(found)
            case "pod":
                nodes[file.folder].pods.append(found)
            case "backup_env":
                nodes[file.folder].backups.append(found)
            case "gpu":
                nodes[file.folder].cards.append(found)
            case "record" | "report" | "other":  # records come by themselves
                pass
            case never:
                assert_never(never)
    return consoles, kernel, told


def _sort_key(facts: FileFacts) -> tuple[str, int, str]:
    """The order of logs: by folder, number (those without one first) and name."""
    file = facts.file
    return file.folder, -1 if file.index is None else file.index, file.path


def _give_to_pods(
    nodes: _Nodes, consoles: list[FileFacts], cluster: ClusterFacts
) -> list[FileFacts]:
    """Gives every pod its node and its consoles; the consoles that are of no pod are left."""
    if not cluster.pods:
        return consoles
    homes = {pod_of_folder(folder, cluster): node for folder, node in reversed(nodes.items())}
    left: list[FileFacts] = []
    heard: dict[str, list[FileFacts]] = {pod: [] for pod in cluster.pods}
    for console in consoles:
        heard.get(pod_of_file(console, cluster) or "", left).append(console)
    for name, pod in cluster.pods.items():
        own = of_training(heard[name], pod)
        if name not in homes:
            folder = own[0].file.folder if own else cluster.folders.get(name, ".")
            folder = folder if folder.endswith(name) else f"{folder}/{name}"
            homes[name] = nodes[folder]
        node = homes[name]
        node.pod = pod
        node.consoles.extend(console for console in own if not is_previous(console))
        node.previous.extend(console for console in own if is_previous(console))
    return left


def _node_of_console(nodes: _Nodes, console: FileFacts) -> NodeFolder:
    """The folder it lies in, else the one log folder below it, else a node of its own."""
    folder = console.file.folder
    if folder in nodes:
        return nodes[folder]
    prefix = f"{folder}/" if folder not in ("", ".") else ""
    below = [name for name, node in nodes.items() if name.startswith(prefix) and node.logs]
    if len(below) == 1:
        return nodes[below[0]]
    return nodes[folder]
