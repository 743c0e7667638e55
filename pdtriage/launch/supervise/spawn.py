"""Starts one child: own session, output straight into its log file."""

from __future__ import annotations

import errno
import os

from pdtriage.launch.plan.process_plan import ProcessPlan
from pdtriage.launch.supervise.processes import birth_of, reset_signals
from pdtriage.support.fast_namedtuple import NamedTuple


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
    path = os.path.join(folder, plan.log)
    log = os.open(
        path,
        # A pipe in the place of the log must not keep us waiting for its reader.
        os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | mode,
        0o666,
    )
    try:
        os.set_blocking(log, True)
        offset = os.fstat(log).st_size
        if os.fstat(log).st_rdev and not os.path.samefile(path, os.devnull):
            # Whoever reads some devices never comes to an end.
            raise OSError(errno.EINVAL, "it is a device", path)
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
