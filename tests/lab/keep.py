"""What somebody kept of a job's files."""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
from pathlib import Path

from .draw import Job


def keep(job: Job, whole: Path, into: Path) -> None:
    """Copy what is kept of the files of a job."""
    into.mkdir(parents=True, exist_ok=True)
    for source in sorted(whole.rglob("*")):
        name = source.relative_to(whole)
        if not source.is_file() or not is_kept(job, name):
            continue
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if job.kept == "gz" and is_log(name):
            target = target.with_name(target.name + ".gz")
            target.write_bytes(gzip.compress(source.read_bytes(), mtime=0))
        elif is_log(name) and (change := CHANGES.get(job.kept)):
            target.write_bytes(change(source.read_bytes()))
        else:
            shutil.copyfile(source, target)
        times = source.stat()
        os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
    if job.kept == "tar":
        _pack(into)
    elif job.kept == "named-parts":
        _join(into)


def is_kept(job: Job, name: Path) -> bool:
    if job.kept_node is not None and name.parts[0] != f"node{job.kept_node}":
        return False
    if name.name == "console.log":
        return job.kept in ("both", "console", "no-culprit", "no-victim", "tar") and not (
            job.kept.startswith("no-") and job.index % 2
        )
    if job.kept == "console":
        return False
    if job.kept == "only-culprit":
        return name in {job.log_of(rank, job.role) for rank in job.culprits}
    if job.kept in ("logs", "named-parts", "tail", "head", "stamped"):
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


CHANGES = {
    "head-cut": without_head,
    "tail": last_lines,
    "head": without_end,
    "stamped": with_stamps,
}
"""What becomes of the text of a log, by how it was kept."""


def _pack(into: Path) -> None:
    """One archive instead of the files."""
    entries = sorted(into.iterdir())
    with tarfile.open(into / "job.tar.gz", "w:gz") as tar:
        for entry in entries:
            tar.add(entry, entry.name)
    _remove(entries)


def _join(into: Path) -> None:
    """One file with all logs, each below its name, as `tail -n +1 log/workerlog.*` prints them."""
    entries = sorted(into.iterdir())
    logs = sorted(file for file in into.rglob("*") if file.is_file())
    if not logs:
        return
    parts = []
    for log in logs:
        head = f"==> {log.relative_to(into)} <==\n".encode()
        parts.append(head + log.read_bytes().rstrip(b"\n") + b"\n")
    times = logs[-1].stat()
    joined = into / "all.txt"
    joined.write_bytes(b"\n".join(parts))
    os.utime(joined, ns=(times.st_atime_ns, times.st_mtime_ns))
    _remove([entry for entry in entries if entry != joined])


def _remove(entries: list[Path]) -> None:
    for entry in entries:
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
