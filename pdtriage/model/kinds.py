"""The kinds of files a job leaves behind: one table with a row for each.

A kind that is added to `FileKind` is a type error until it has a row here, and at every place that
has to decide about it.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

from pdtriage.support.errors import assert_never
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.lazy_regex import lazy_compile

Role = Literal["worker", "server", "heter", "coordinator", "launcher", "unknown"]
FileKind = Literal[
    "worker",  # workerlog.N, workerlog.nNODE.cN
    "server",  # serverlog.N
    "heter",  # heterlog.N
    "coordinator",  # coordinator.N
    "console",  # captured output of a launcher, or of a whole job
    "endpoints",  # endpoints.log of the legacy launcher
    "pod",  # <job>.<pod>.log of the new launcher
    "env",  # envlog.N
    "backup_env",  # backup_env.N.json
    "gpu",  # <job>.gpu.log
    "kernel",  # dmesg, kern.log, journal
    "ras",  # what NCCL's RAS answered (ncclras)
    "k8s",  # pods, events and PaddleJobs as kubectl shows them
    "record",  # our own run record
    "report",  # what `pdtriage run` reported when the job had ended
    "other",
]
SideKind = Literal[
    "endpoints", "pod", "env", "backup_env", "gpu", "k8s", "record", "report", "other"
]
"""Files that are not read line by line."""
Reading = Literal[
    "scan",  # line by line for events
    "parse",  # whole, for the facts of a small file beside the logs
    "record",  # whole, as our own record
    "skip",
]
RECORD_FOLDER = "pdtriage"
"""Inside a log folder: our own record of it."""
LAST_TO_BUNDLE = 7


class OpeningSigns(NamedTuple):
    """How a text of some kind begins."""

    pattern: re.Pattern[bytes]
    further: re.Pattern[bytes] | None = None
    """And this is found further on."""


class LineSigns(NamedTuple):
    """Lines that a text of some kind consists of, but for a few."""

    pattern: re.Pattern[bytes]
    share: float
    """Of its first lines more than this match."""
    word: bytes = b""
    """And this is in it."""


class Kind(NamedTuple):
    """How files of one kind are recognised, read, filed and bundled."""

    reading: Reading
    """A bundle takes excerpts of what is scanned, of what is parsed only what is allowed, and
    nothing of what is skipped."""
    role: Role | None = None
    """Of the process whose log it is; such a log is filed with its process."""
    followed: bool = False
    """Whether it is followed while it grows."""
    bundled: int = LAST_TO_BUNDLE
    """Which come first into a bundle, where not all may fit."""
    bare: str = ""
    """What launchers call almost all of them, but for the number of the process behind a dot."""
    name: re.Pattern[str] | None = None
    """Names that settle it, whatever the content."""
    folder: str = ""
    """Only in a folder of this name do they."""
    openings: tuple[OpeningSigns, ...] = ()
    lines: LineSigns | None = None


def _row(kind: FileKind) -> Kind:
    """Of what is read line by line; what stands beside the logs has rows of its own."""
    match kind:
        case "worker" | "server" | "heter" | "coordinator":
            bare = "" if kind == "coordinator" else f"{kind}log"
            name = _launcher_name((bare or r"coordinator(?:log)?") + _NUMBER)
            return Kind("scan", kind, followed=True, bare=bare, name=name)
        case "console":  # recognised by what launchers, libraries and dying processes print
            name = lazy_compile(r"run-(?P<index>\d{1,9})\.console", re.ASCII)  # of our own record
            return Kind("scan", followed=True, bundled=5, name=name, folder=RECORD_FOLDER)
        case "kernel":
            name = lazy_compile(
                r"(?:.*[._-])?(?:dmesg|kern\.log|kernel\.log)(?:[_-][\w-]*)?(?:\.(?:log|txt|out))?",
                re.IGNORECASE,
            )
            line = lazy_compile(
                rb"(?:kern  :\w+ *: )?\[ *\d{1,9}\.\d{6}\](?: \[ *T?\d+\])? "
                rb"|[^\n]{10,80}? kernel: |\[\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4}\] "
            )
            return Kind("scan", bundled=6, name=name, lines=LineSigns(line, 0.5))
        case "ras":
            name = lazy_compile(
                r"(?:.*[._-])?ncclras(?:[_-][\w-]*)?(?:\.(?:log|txt|out))?", re.IGNORECASE
            )
            first = (
                rb"(?:[^\n]{0,200}\n){0,4}?[^\n]{0,80}NCCL version \d[^\n]{1,60} compiled with CUDA"
            )
            further = rb"\nJob summary\r?\n=|\nCommunicators\.\.\."
            opening = OpeningSigns(lazy_compile(first), lazy_compile(further))
            return Kind("scan", bundled=6, name=name, openings=(opening,))
        case _:
            return _side_row(kind)


def _side_row(kind: SideKind) -> Kind:
    match kind:
        case "endpoints":
            opening = OpeningSigns(lazy_compile(rb"PADDLE_TRAINER_ENDPOINTS:"))
            name = _launcher_name(r"endpoints\.log")
            return Kind("parse", bundled=4, name=name, openings=(opening,))
        case "pod":  # the first versions of the launcher leave the list of peers alone
            environment = OpeningSigns(lazy_compile(rb"environ\(\{"))
            peers = OpeningSigns(lazy_compile(rb"\[\{'name': '[a-z]{6}', 'rank': "))
            return Kind("parse", bundled=3, openings=(environment, peers))
        case "env":
            lines = LineSigns(lazy_compile(rb"[A-Za-z_][A-Za-z0-9_]{0,200}="), 0.7, b"PADDLE_")
            name = _launcher_name("envlog" + _NUMBER)
            return Kind("parse", bundled=1, bare="envlog", name=name, lines=lines)
        case "backup_env":
            name = lazy_compile(r"backup_env\.(?P<index>\d{1,9})\.json", re.ASCII)
            opening = OpeningSigns(lazy_compile(rb"\{"), lazy_compile(rb'"PADDLE_TRAINER_ID"'))
            return Kind("parse", bundled=2, name=name, openings=(opening,))
        case "gpu":
            return Kind(
                "parse", openings=(OpeningSigns(lazy_compile(rb"index,uuid,driver_version")),)
            )
        case "k8s":  # as JSON, as `describe` shows them, or as a table
            json = lazy_compile(
                rb'"kind":\s*"(?:Pod|Event|PaddleJob)(?:List)?"|"schema":\s*"pdtriage\.k8s/\d'
            )
            text = lazy_compile(
                rb"Name: +\S+\s*\nNamespace: +\S+\s*\n(?:[^\n]*\n){0,8}?(?:Node|Service Account): "
                rb"|(?:NAMESPACE +)?NAME +READY +STATUS +RESTARTS +AGE"
                rb"|(?:NAMESPACE +)?LAST SEEN +TYPE +REASON +OBJECT +MESSAGE"
            )
            return Kind(
                "parse", openings=(OpeningSigns(lazy_compile(rb"[{\[]"), json), OpeningSigns(text))
            )
        case "record" | "report":
            own = r"report\.json" if kind == "report" else r"run-(?P<index>\d{1,9})\.jsonl"
            name = lazy_compile(own, re.ASCII)
            return Kind("record", bundled=0, name=name, folder=RECORD_FOLDER)
        case "other":
            return Kind("skip")
        case _:
            return assert_never(kind)


# PaddleNLP's own launcher of several nodes on one machine writes workerlog.n0.c3: node and card.
_NUMBER = r"[._-](?:n(?P<node>\d{1,9})[._-]c)?(?P<index>\d{1,9})"


def _launcher_name(pattern: str) -> re.Pattern[str]:
    # People add .txt or .log because GitHub does not take an upload named workerlog.0.
    return lazy_compile(pattern + r"(?:\.(?:txt|log))?", re.IGNORECASE | re.ASCII)


LOG_OF_LAUNCH = lazy_compile(
    r"(?P<launch>(?P<job>[\w.-]+)\.[a-z]{6})\.(?P<index>\d{1,9})\.log", re.ASCII
)
"""What the first versions of the new launcher call the log of a process: `<job>.<pod>.N.log`. Each
launch has files of its own."""
UNNAMED_JOB = "default"
"""What the new launcher calls a job that nobody gave a name."""


def launch_of_log(name: str) -> str:
    """Job and pod of a log that one launch alone wrote to; "" for one that all append to."""
    match = LOG_OF_LAUNCH.match(name)
    return match["launch"] if match else ""


KINDS: dict[FileKind, Kind] = {kind: _row(kind) for kind in get_args(FileKind)}
LOG_OF_ROLE: dict[str, FileKind] = {row.role: kind for kind, row in KINDS.items() if row.role}


def kinds_to(*readings: Reading) -> frozenset[FileKind]:
    """The kinds of files that are read in one of these ways."""
    return frozenset(kind for kind, row in KINDS.items() if row.reading in readings)


def process_name(role: str, rank: int | None) -> str:
    """`rank 3`, `server 0`; just the role where there is no number, as with a launcher."""
    word = "rank" if role == "worker" else role
    return word if rank is None else f"{word} {rank}"
