"""`<job>.gpu.log`: what the cards do while the job runs, as Paddle's launcher leaves it."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping

_CARDS = "index,uuid,driver_version,name,gpu_serial,display_active,display_mode"
_PROCESSES = "pid,process_name,gpu_uuid,gpu_name,used_memory"
_USE = "index,utilization.gpu,memory.total,memory.used,memory.free,timestamp"
_EVERY = 5


def start_gpu_log(path: str, cards: tuple[str, ...], environ: Mapping[str, str]) -> int | None:
    """Let `nvidia-smi` write into `path` for as long as the launch lasts; its pid.

    It carries the mark of the launch like every child, so it ends when the launch does.
    """
    tool = shutil.which("nvidia-smi", path=environ.get("PATH", os.defpath))
    if tool is None:
        return None
    query = f"{shlex.quote(tool)} --format=csv,noheader,nounits --id={shlex.quote(','.join(cards))}"
    script = "\n".join(
        [
            "{",
            f"echo {_CARDS}",
            f"{query} --query-gpu={_CARDS}",
            f"echo; echo {_PROCESSES}",
            f"{query} --query-compute-apps={_PROCESSES}",
            f"echo; echo {_USE.replace('.', '_')}",
            f"{query} --query-gpu={_USE} -l {_EVERY}",
            "} 2>/dev/null | sed -u 's/, /,/g'",
        ]
    )
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o666)
    try:
        return os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", script],
            dict(environ),
            file_actions=[(os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)],
            setsid=True,
        )
    finally:
        os.close(log)
