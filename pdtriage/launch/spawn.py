"""Starts one child: own session, output straight into its log file."""

from __future__ import annotations

import errno
import os
from typing import NamedTuple

from pdtriage.bilingual import Text
from pdtriage.launch.plan import ProcessPlan
from pdtriage.launch.processes import birth_of, reset_signals
from pdtriage.launch.refusal import RefusedError

_LIMITS = {
    errno.EMFILE: Text(
        "Raise the limit of open files: `ulimit -n 65535`.",
        "请提高打开文件数的上限：`ulimit -n 65535`。",
    ),
    errno.ENFILE: Text(
        "The whole machine has too many files open: see `sysctl fs.file-max`.",
        "整台机器打开的文件过多：请查看 `sysctl fs.file-max`。",
    ),
    errno.EAGAIN: Text(
        "Raise the limit of processes: `ulimit -u`, or the pids limit of the container.",
        "请提高进程数上限：`ulimit -u`，或容器的 pids 限制。",
    ),
    errno.ENOMEM: Text(
        "The machine has no memory left to start it: see `free -g`.",
        "内存不足，无法启动：请查看 `free -g`。",
    ),
}
_SCRIPT = Text("Check its first line (#!) and its permissions.", "请检查脚本首行（#!）和权限。")


class Child(NamedTuple):
    """A process that was started."""

    plan: ProcessPlan
    pid: int
    """Also its session and process group."""
    offset: int
    """Where this run begins in its log file."""
    born: int
    """When the kernel says it was started."""


def spawn(plan: ProcessPlan, environment: dict[str, str], folder: str, *, overwrite: bool) -> Child:
    """Start `plan`; an OSError says why it could not be executed."""
    mode = os.O_TRUNC if overwrite else 0
    log = os.open(
        os.path.join(folder, plan.log),
        os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | mode,
        0o666,
    )
    try:
        offset = os.fstat(log).st_size
        pid = os.posix_spawnp(
            plan.argv[0],
            list(plan.argv),
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)],
            setsid=True,
            setsigmask=[],
            setsigdef=reset_signals(),
        )
    finally:
        os.close(log)
    return Child(plan, pid, offset, birth_of(pid))


def not_started(program: str, error: OSError) -> RefusedError:
    """What to do depends on whether the machine has had enough, or the program is wrong."""
    return RefusedError(
        Text(
            f"{program} could not be executed: {error.strerror}.",
            f"无法执行 {program}：{error.strerror}。",
        ),
        _LIMITS.get(error.errno or 0, _SCRIPT),
    )
