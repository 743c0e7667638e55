"""What somebody kept of a job's files."""

from __future__ import annotations

import gzip
import os
import shutil
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
        elif job.kept == "head-cut" and is_log(name):
            target.write_bytes(without_head(source.read_bytes()))
        else:
            shutil.copyfile(source, target)
        times = source.stat()
        os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))


def is_kept(job: Job, name: Path) -> bool:
    if job.kept_node is not None and name.parts[0] != f"node{job.kept_node}":
        return False
    if name.name == "console.log":
        return job.kept in ("both", "console", "no-culprit", "no-victim") and not (
            job.kept.startswith("no-") and job.index % 2
        )
    if job.kept == "console":
        return False
    if job.kept == "logs":
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
