"""What the machine does not let us start, each in one sentence."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping

from pdtriage.support.errors import UserError
from pdtriage.support.language import Text

_SPARE_FILES = 48
"""Files a launch has open beside one for every process: logs it reads, modules, sockets."""
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


def not_started(program: str, error: OSError) -> UserError:
    """The refusal of a process that cannot start: the machine is full, or the program wrong."""
    named = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else program
    if named != program and error.errno not in _LIMITS:
        return UserError(
            Text(
                f"The log file {named} cannot be written: {error.strerror}.",
                f"日志文件 {named} 不可写：{error.strerror}。",
            ),
            Text(
                "Remove what is in its place, or choose another --log_dir.",
                "请移走占用该位置的文件，或换一个 --log_dir。",
            ),
        )
    return UserError(
        Text(
            f"{program} could not be executed: {error.strerror}.",
            f"无法执行 {program}：{error.strerror}。",
        ),
        _LIMITS.get(error.errno or 0, _SCRIPT),
    )


def out_of_threads() -> OSError:
    """What a thread that cannot be started means; Python says RuntimeError."""
    return OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def refuse_too_few_files(processes: int) -> None:
    """Refuses a launch for which this process may not open enough files."""
    import resource  # not on Windows, where nothing is started

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    needed = processes + _SPARE_FILES
    if most == resource.RLIM_INFINITY or most >= needed:
        return
    raise UserError(
        Text(
            f"{processes} processes need {needed} open files, and the limit is {most}.",
            f"{processes} 个进程需要打开 {needed} 个文件，而上限是 {most}。",
        ),
        _LIMITS[errno.EMFILE],
    )


def refuse_lost_folder() -> None:
    """Refuses a launch from a working folder that was removed."""
    try:
        os.getcwd()
    except OSError:
        raise UserError(
            Text(
                "The folder you are in does not exist any more.",
                "当前所在的目录已经不存在。",
            ),
            Text("Change to one that does: `cd`.", "请先用 `cd` 进入存在的目录。"),
        ) from None


def refuse_missing_script(script: str, environ: Mapping[str, str]) -> None:
    """Refuses a launch whose script is not there, rather than let every process fail."""
    refuse_lost_folder()
    if script.endswith((".py", ".pyxes")):
        if not os.path.isfile(script):
            raise UserError(
                Text(
                    f"The script {script} does not exist in {os.getcwd()}.",
                    f"{os.getcwd()} 下没有脚本 {script}。",
                ),
                Text("Check its path.", "请检查路径。"),
            )
        return
    import shutil

    if shutil.which(script, path=environ.get("PATH", os.defpath)) is not None:
        return
    if os.path.isfile(script):
        hint = f"./{script}" if "/" not in script else script
        raise UserError(
            Text(f"{script} cannot be executed.", f"{script} 不可执行。"),
            Text(
                f"Run `chmod +x {script}` and write {hint}, or give it the suffix .py.",
                f"请执行 `chmod +x {script}` 并写成 {hint}，或使用 .py 后缀。",
            ),
        )
    raise UserError(
        Text(
            f"{script} is neither a file nor a command.",
            f"{script} 既不是文件也不是命令。",
        ),
        Text(
            "Write `pdtriage run [flags] train.py [its arguments]`.",
            "请写成 `pdtriage run [参数] train.py [脚本参数]`。",
        ),
    )
