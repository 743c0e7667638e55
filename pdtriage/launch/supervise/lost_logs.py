"""Logs that are not what they were when their processes were started: removed, or replaced."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping
from typing import Literal

from pdtriage.launch.plan.cluster import some_of
from pdtriage.record.schema import ProcessRecord
from pdtriage.support.language import Text

Fate = Literal["removed", "no file", "replaced"]
FileId = tuple[int, int]
"""Device and number of a file: another one of the same name has another."""


def file_id(found: os.stat_result) -> FileId:
    return found.st_dev, found.st_ino


def notes_on_logs(
    folder: str, processes: Mapping[int, ProcessRecord], opened: Mapping[int, FileId]
) -> list[Text]:
    """Logs removed, replaced or cut by a full disk; `opened` are those it began with, by pid."""
    fates: dict[Fate, list[str]] = {}
    for pid, process in processes.items():
        if process.log and (fate := _fate(os.path.join(folder, process.log), opened.get(pid))):
            fates.setdefault(fate, []).append(process.log)
    return [*(_note(fate, names) for fate, names in fates.items()), *_full(folder)]


def _full(folder: str) -> list[Text]:
    with contextlib.suppress(OSError):
        if os.statvfs(folder).f_bavail == 0:
            return [
                Text(
                    "the disk of the log folder is full: what was to be written last is missing",
                    "日志目录所在的磁盘已满：最后要写入的内容缺失",
                )
            ]
    return []


def _fate(path: str, opened: FileId | None) -> Fate | None:
    try:
        found = os.stat(path)
    except OSError:
        return "removed"
    if stat.S_ISFIFO(found.st_mode) or stat.S_ISSOCK(found.st_mode):
        return "no file"
    return None if opened in (None, file_id(found)) else "replaced"


def _note(fate: Fate, names: list[str]) -> Text:
    shown = some_of(names)
    if fate == "removed":
        return Text(
            f"removed while the job ran: {shown}; what was written there after the last look is "
            "missing here",
            f"任务运行期间被删除：{shown}；最后一次读取之后写入的内容缺失",
        )
    if fate == "no file":
        return Text(
            f"replaced by a pipe while the job ran: {shown}; what was written there after the last "
            "look is missing here",
            f"任务运行期间被换成管道：{shown}；最后一次读取之后写入的内容缺失",
        )
    return Text(
        f"replaced by another file while the job ran: {shown}; what its process wrote after that "
        "is not in it",
        f"任务运行期间被换成另一个文件：{shown}；其进程此后写入的内容不在其中",
    )
