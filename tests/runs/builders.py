"""Log folders in memory: file names and texts to the runs of a job."""

from __future__ import annotations

from textwrap import dedent

from pdtriage.model import FileFacts, FileKind, LogFile, RunFacts
from pdtriage.record.schema import RunRecord
from pdtriage.runs import assemble
from pdtriage.scan import scan, side_facts

from ..scan.builders import MODIFIED, engine

KINDS: dict[str, FileKind] = {
    "workerlog": "worker",
    "serverlog": "server",
    "heterlog": "heter",
    "envlog": "env",
    "endpoints": "endpoints",
    "console": "console",
    "dmesg": "kernel",
    "ras": "ras",
    "pods": "k8s",
}


def runs_of(
    files: dict[str, str], records: list[tuple[str, RunRecord]] | None = None
) -> list[RunFacts]:
    """`{"node0/log/workerlog.0": text, …}` to runs, oldest first."""
    return assemble([facts_of(path, text) for path, text in files.items()], records or [])


def facts_of(path: str, text: str) -> FileFacts:
    folder, _, name = path.rpartition("/")
    stem, _, number = name.partition(".")
    kind = KINDS.get(stem, "pod")
    file = LogFile(
        path, kind, folder, int(number) if number.isdecimal() else None, modified=MODIFIED
    )
    raw = dedent(text).encode()
    if kind in ("worker", "server", "heter", "console", "kernel", "ras"):
        return scan(file, [raw], engine())
    return side_facts(file, raw)


def environment(rank: int, world: int, pod: str, endpoints: str, local: int | None = None) -> str:
    """A block of envlog.N as the new launcher writes it."""
    own = endpoints.split(",")[rank]
    return (
        f"PADDLE_CURRENT_ENDPOINT={own}\nPADDLE_GLOBAL_RANK={rank}\nPADDLE_GLOBAL_SIZE={world}\n"
        f"PADDLE_LOCAL_RANK={rank if local is None else local}\nPADDLE_TRAINERS_NUM={world}\n"
        f"PADDLE_TRAINER_ENDPOINTS={endpoints}\nPADDLE_TRAINER_ID={rank}\nPOD_NAME={pod}\n"
    )
