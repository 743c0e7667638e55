"""What somebody kept of a job's files."""

from __future__ import annotations

import gzip
import lzma
import os
import shutil
import tarfile
import zipfile
from pathlib import Path

from .draw import Job

WITH_CONSOLE = (
    *("both", "console", "no-culprit", "no-victim", "tar"),
    *("zip", "nested", "crlf", "excerpt"),
)
LOGS_ONLY = (
    *("logs", "named-parts", "tail", "head", "stamped"),
    *("renamed", "labelled", "last-bytes"),
)


def keep(job: Job, whole: Path, into: Path) -> None:
    """Copy what is kept of the files of a job."""
    into.mkdir(parents=True, exist_ok=True)
    for source in sorted(whole.rglob("*")):
        name = source.relative_to(whole)
        if not source.is_file() or not is_kept(job, name):
            continue
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if is_log(name) and (packed := PACKED.get(job.kept)):
            target = target.with_name(f"{target.name}.{job.kept}")
            target.write_bytes(packed(source.read_bytes()))
        elif is_log(name) and (change := CHANGES.get(job.kept)):
            target.write_bytes(change(source.read_bytes()))
        else:
            shutil.copyfile(source, target)
        times = source.stat()
        os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
    if arrange := ARRANGEMENTS.get(job.kept):
        arrange(job, into)


def is_kept(job: Job, name: Path) -> bool:
    if job.kept_node is not None and name.parts[0] != f"node{job.kept_node}":
        return False
    if name.name == "console.log":
        return job.kept in WITH_CONSOLE and not (job.kept.startswith("no-") and job.index % 2)
    if job.kept == "console":
        return False
    if job.kept == "only-culprit":
        return name in {job.log_of(rank, job.role) for rank in job.culprits}
    if job.kept in LOGS_ONLY:
        return is_log(name)
    lost: tuple[int, ...] = ()
    if job.kept == "no-culprit":
        lost = job.culprits
    elif job.kept == "no-victim":
        lost = (job.lost_victim,)
    role = job.role if job.kept == "no-culprit" else "worker"
    return name not in {job.log_of(rank, role) for rank in lost}


def is_log(name: Path) -> bool:
    return name.parent.name == "log" and name.name.startswith(("workerlog.", "serverlog."))


def without_head(content: bytes) -> bytes:
    """The last third, at least thirty lines, as a viewer or a size limit leaves it."""
    lines = content.splitlines(keepends=True)
    return b"".join(lines[-max(30, len(lines) // 3) :])


def last_lines(content: bytes) -> bytes:
    """What `tail -n 40` shows."""
    return b"".join(content.splitlines(keepends=True)[-40:])


def without_end(content: bytes) -> bytes:
    """The first two thirds: a copy that was broken off."""
    lines = content.splitlines(keepends=True)
    return b"".join(lines[: max(1, 2 * len(lines) // 3)])


def with_stamps(content: bytes) -> bytes:
    """As a container runtime writes it: every line with its time."""
    lines = content.splitlines(keepends=True)
    return b"".join(
        b"2026-11-18T04:%02d:%02d.%09dZ " % (number // 6000, number // 100 % 60, number) + line
        for number, line in enumerate(lines)
    )


def with_carriage_returns(content: bytes) -> bytes:
    """As an editor of another system saves it."""
    return content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def first_and_last(content: bytes) -> bytes:
    """Both ends, as somebody pastes them who has no room for the middle."""
    lines = content.splitlines(keepends=True)
    if len(lines) <= 2 * ENDS:
        return content
    return b"".join((*lines[:ENDS], b"...\n", *lines[-ENDS:]))


def last_bytes(content: bytes) -> bytes:
    """What `tail -c 4000` shows, which begins in the midst of a line."""
    return content[-4000:]


ENDS = 30
PACKED = {"gz": lambda content: gzip.compress(content, mtime=0), "xz": lzma.compress}
"""How single logs are packed, by the ending of their names."""
CHANGES = {
    "head-cut": without_head,
    "tail": last_lines,
    "head": without_end,
    "stamped": with_stamps,
    "crlf": with_carriage_returns,
    "excerpt": first_and_last,
    "last-bytes": last_bytes,
}
"""What becomes of the text of a log, by how it was kept."""
NESTED = Path("2026-11-18", "job-7")
LABELLED = "ranks.txt"
JOINED = "all.txt"


def renamed(job: Job) -> dict[Path, str]:
    """What somebody calls the logs who has put all into one folder."""
    logs = {job.log_of(rank): f"train_rank{rank}.log" for rank in range(job.ranks)}
    servers = range(job.servers)
    return logs | {job.log_of(server, "server"): f"ps_{server}.log" for server in servers}


def _rename(job: Job, into: Path) -> None:
    entries = sorted(into.iterdir())
    for log, name in renamed(job).items():
        if (into / log).exists():
            (into / log).rename(into / name)
    _remove([entry for entry in entries if entry.is_dir()])


def _pack(_job: Job, into: Path) -> None:
    """One archive instead of the files."""
    entries = sorted(into.iterdir())
    with tarfile.open(into / "job.tar.gz", "w:gz") as tar:
        for entry in entries:
            tar.add(entry, entry.name)
    _remove(entries)


def _zip(_job: Job, into: Path) -> None:
    entries = sorted(into.iterdir())
    files = sorted(file for file in into.rglob("*") if file.is_file())
    with zipfile.ZipFile(into / "job.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, file.relative_to(into))
    _remove(entries)


def _nest(_job: Job, into: Path) -> None:
    """Where somebody files the jobs of a day."""
    entries = sorted(into.iterdir())
    (into / NESTED).mkdir(parents=True)
    for entry in entries:
        entry.rename(into / NESTED / entry.name)


def _join(_job: Job, into: Path) -> None:
    """One file with all logs, each below its name, as `tail -n +1 log/workerlog.*` prints them."""
    entries = sorted(into.iterdir())
    logs = sorted(file for file in into.rglob("*") if file.is_file())
    if not logs:
        return
    parts = []
    for log in logs:
        head = f"==> {log.relative_to(into)} <==\n".encode()
        parts.append(head + log.read_bytes().rstrip(b"\n") + b"\n")
    _replace(entries, into / JOINED, b"\n".join(parts), logs[-1])


def _label(job: Job, into: Path) -> None:
    """One file with the logs of all trainers, every line with its rank."""
    entries = sorted(into.iterdir())
    logs = [(rank, into / job.log_of(rank)) for rank in range(job.ranks)]
    there = [(rank, log) for rank, log in logs if log.exists()]
    if not there:
        return
    lines = [
        b"[rank %d] %s\n" % (rank, line)
        for rank, log in there
        for line in log.read_bytes().split(b"\n")[:-1]
    ]
    _replace(entries, into / LABELLED, b"".join(lines), there[-1][1])


def _replace(entries: list[Path], target: Path, content: bytes, like: Path) -> None:
    times = like.stat()
    target.write_bytes(content)
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
    _remove([entry for entry in entries if entry != target])


ARRANGEMENTS = {
    "tar": _pack,
    "zip": _zip,
    "named-parts": _join,
    "labelled": _label,
    "renamed": _rename,
    "nested": _nest,
}
"""How the files as a whole are kept."""


def _remove(entries: list[Path]) -> None:
    for entry in entries:
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
