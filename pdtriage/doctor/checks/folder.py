"""The log folder: may be written, has room, is not somebody else's, holds no old runs."""

from __future__ import annotations

import errno
import fcntl
import os
import re

from pdtriage.doctor.context import Context
from pdtriage.doctor.findings import Check, Finding, failed, ok, skipped, warning
from pdtriage.doctor.kernel import GIB, MIB, size, space_of
from pdtriage.record.schema import FOLDER, record_number
from pdtriage.support.language import Text

FREE_FAILS_BELOW = 64 * MIB
FREE_WARNS_BELOW = GIB
FILES_FAIL_BELOW = 100
FILES_WARN_BELOW = 10_000
_LOG = re.compile(r"(?:workerlog|serverlog|heterlog|coordinator)\.\d+")


def log_dir(context: Context) -> Finding:
    """Written for real: permissions do not tell of read-only file systems and quotas."""
    import tempfile  # takes a while, and a launch does not ask for this check

    folder = context.flags.log_dir
    place = _nearest(folder)
    try:
        if not os.path.isdir(place):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        with tempfile.TemporaryFile(dir=place) as probe:
            probe.write(b"pdtriage doctor")
            probe.flush()
    except OSError as error:
        return failed(
            "log-dir",
            Text(
                f"{folder} cannot be written: {error.strerror}",
                f"{folder} 不可写：{error.strerror}",
            ),
            Text("Choose another folder with --log_dir.", "请用 --log_dir 换一个目录。"),
        )
    if place == folder:
        return ok("log-dir", f"{folder} can be written", f"{folder} 可写")
    return ok("log-dir", f"{folder} can be created", f"{folder} 可以创建")


def log_dir_in_use(context: Context) -> Finding:
    name = "log-dir-in-use"
    folder = context.flags.log_dir
    lock = os.path.join(folder, FOLDER, "lock")
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return ok(name, "no run writes into it", "没有运行中的任务写入")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            return skipped(name, "its file system knows no locks", "该文件系统不支持文件锁")
        holder = os.pread(descriptor, 64, 0).decode("ascii", "replace").strip()
        return failed(
            name,
            Text(
                f"{folder} is in use by a run that is still alive (pid {holder})",
                f"{folder} 正被一个仍在运行的任务使用（pid {holder}）",
            ),
            Text(
                "Wait for it, end it, or choose another folder with --log_dir.",
                "请等待其结束、终止它，或用 --log_dir 换一个目录。",
            ),
        )
    finally:
        os.close(descriptor)
    return ok(name, "no run writes into it", "没有运行中的任务写入")


def disk(context: Context) -> Finding:
    space = space_of(_nearest(context.flags.log_dir))
    if space is None:
        return skipped("disk", "the log folder cannot be looked at", "无法查看日志目录")
    seen = Text(
        f"{size(space.free)} of {size(space.total)} free for {context.flags.log_dir}",
        f"{context.flags.log_dir} 所在磁盘共 {size(space.total)}，剩余 {size(space.free)}",
    )
    advice = Text(
        "Make room, or choose a folder on another disk with --log_dir.",
        "请清理磁盘，或用 --log_dir 选择其他磁盘上的目录。",
    )
    left = space.files_left
    if left is not None and left < FILES_WARN_BELOW and space.free >= FREE_WARNS_BELOW:
        seen = Text(f"room for only {left} more files", f"只能再创建 {left} 个文件（inode 不足）")
    if space.free < FREE_FAILS_BELOW or (left is not None and left < FILES_FAIL_BELOW):
        return failed("disk", seen, advice)
    if space.free < FREE_WARNS_BELOW or (left is not None and left < FILES_WARN_BELOW):
        return warning("disk", seen, advice)
    return Finding("disk", "ok", seen)


def old_runs(context: Context) -> Finding:
    folder = context.flags.log_dir
    try:
        logs = sorted(name for name in os.listdir(folder) if _LOG.fullmatch(name))
    except OSError:
        logs = []
    if not logs:
        return ok("old-runs", f"{folder} holds no logs", f"{folder} 中没有旧日志")
    runs = _record_count(folder)
    plural = "" if runs == 1 else "s"
    many = (f", {runs} run{plural} on record", f"，有 {runs} 次运行的记录") if runs else ("", "")
    files = "1 file" if len(logs) == 1 else f"{len(logs)} files"
    seen = Text(
        f"{folder} holds the logs of an earlier run ({files}{many[0]})",
        f"{folder} 中有之前运行的日志（{len(logs)} 个文件{many[1]}）",
    )
    if context.flags.log_overwrite:
        return Finding("old-runs", "ok", seen)
    return warning(
        "old-runs",
        seen,
        Text(
            "New lines will be appended. Choose an empty folder with --log_dir, or begin anew with "
            "--log_overwrite.",
            "新日志将追加在后面。请用 --log_dir 指定空目录，或用 --log_overwrite 覆盖。",
        ),
    )


CHECKS = (
    Check("log-dir", log_dir),
    Check("log-dir-in-use", log_dir_in_use),
    Check("disk", disk, cheap=True),
    Check("old-runs", old_runs),
)


def _nearest(folder: str) -> str:
    """The folder itself, or the nearest one above it that exists."""
    place = folder
    while not os.path.lexists(place):
        above = os.path.dirname(os.path.abspath(place))
        if above == place:
            break
        place = above
    return place


def _record_count(folder: str) -> int:
    try:
        return sum(1 for name in os.listdir(os.path.join(folder, FOLDER)) if record_number(name))
    except OSError:
        return 0
