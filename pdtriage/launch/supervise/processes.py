"""Starts processes; finds and ends them by what the kernel says about them (/proc)."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeVar

from pdtriage.launch.plan.environment import LAUNCH_VARIABLE
from pdtriage.launch.plan.process_plan import ProcessPlan
from pdtriage.launch.supervise.lost_logs import FileId, file_id
from pdtriage.record.schema import ProcessRecord
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.private_files import open_through_own_links

_PR_SET_CHILD_SUBREAPER = 36
_GPU_CARDS = "index,uuid,driver_version,name,gpu_serial,display_active,display_mode"
_GPU_PROCESSES = "pid,process_name,gpu_uuid,gpu_name,used_memory"
_GPU_USE = "index,utilization.gpu,memory.total,memory.used,memory.free,timestamp"
_GPU_SECONDS = 5
_Seen = TypeVar("_Seen")

_RESERVED = 4
_RESERVE: list[int] = []
"""Descriptors that stand for nothing."""
HELPERS: set[int] = set()
"""Processes of ours that belong to no job: who reads its logs."""


class Child(NamedTuple):
    """A process of ours; its pid is also its session and its process group."""

    process: ProcessRecord
    born: int
    """When the kernel says it was started."""
    log: FileId


class ProcessEntry(NamedTuple):
    pid: int
    parent: int
    group: int
    session: int
    state: str
    born: int
    """When it was started, in the kernel's ticks: tells a process from a later one of its pid."""


def spawn(plan: ProcessPlan, environment: dict[str, str], folder: str, *, overwrite: bool) -> Child:
    """Start `plan` in a session of its own, its output straight into its log file.

    An OSError says why it could not be executed.
    """
    mode = os.O_TRUNC if overwrite else 0
    path = os.path.join(folder, plan.log)
    log = open_through_own_links(
        path,
        # A pipe in the place of the log must not keep us waiting for its reader.
        os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | mode,
        0o666,
    )
    try:
        os.set_blocking(log, True)
        opened = os.fstat(log)
        offset = opened.st_size
        if opened.st_rdev and not os.path.samefile(path, os.devnull):
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
    process = ProcessRecord(
        role=plan.role,
        rank=plan.rank,
        local_rank=plan.local_rank,
        device=plan.device,
        endpoint=plan.endpoint,
        pid=pid,
        log=plan.log,
        offset=offset,
        started=time.time(),
        monotonic=time.monotonic(),
    )
    return Child(process, birth_of(pid), file_id(opened))


def start_gpu_log(path: str, cards: tuple[str, ...], environ: Mapping[str, str]) -> int | None:
    """Let `nvidia-smi` write what the cards do into `path`, as Paddle's launcher does; its pid.

    It carries the mark of the launch like every child, so it ends when the launch does.
    """
    import shlex
    import shutil

    tool = shutil.which("nvidia-smi", path=environ.get("PATH", os.defpath))
    if tool is None:
        return None
    query = f"{shlex.quote(tool)} --format=csv,noheader,nounits --id={shlex.quote(','.join(cards))}"
    script = "\n".join(
        [
            "{",
            f"echo {_GPU_CARDS}",
            f"{query} --query-gpu={_GPU_CARDS}",
            f"echo; echo {_GPU_PROCESSES}",
            f"{query} --query-compute-apps={_GPU_PROCESSES}",
            f"echo; echo {_GPU_USE.replace('.', '_')}",
            f"{query} --query-gpu={_GPU_USE} -l {_GPU_SECONDS}",
            "} 2>/dev/null | sed -u 's/, /,/g'",
        ]
    )
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
    log = open_through_own_links(path, flags, 0o666)
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


def become_subreaper() -> None:
    """Orphaned grandchildren come to us instead of to init, so that none escapes unseen."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    prctl = getattr(libc, "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@contextlib.contextmanager
def descriptors_in_reserve() -> Iterator[None]:
    """Meanwhile processes can be looked for, also when all other descriptors are taken."""
    with contextlib.suppress(OSError):
        _fill_reserve()
    try:
        yield
    finally:
        while _RESERVE:
            os.close(_RESERVE.pop())


def running_processes() -> Iterator[ProcessEntry]:
    """Every process that is not a zombie; nothing where there is no /proc."""
    for pid in _pids():
        entry = process_entry(pid)
        if entry is not None and entry.state != "Z":
            yield entry


def process_entry(pid: int) -> ProcessEntry | None:
    text = _content(f"/proc/{pid}/stat")
    # The name in parentheses may itself hold spaces and parentheses.
    fields = text[text.rfind(b")") + 2 :].split()
    if len(fields) < 20:
        return None
    parent, group, session = (int(word) for word in fields[1:4])
    return ProcessEntry(
        pid, parent, group, session, fields[0].decode("ascii", "replace"), int(fields[19])
    )


def birth_of(pid: int) -> int:
    entry = process_entry(pid)
    return entry.born if entry is not None else 0


def status_of_zombie(pid: int) -> int | None:
    """The wait status of a dead process that its parent has not collected yet."""
    fields = _content(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if len(fields) < 50 or fields[0] not in (b"Z", b"X"):
        return None
    return int(fields[49])


def environment_of(pid: int) -> dict[str, str]:
    """The variables a process was started with; empty when we may not look."""
    variables = {}
    for item in _content(f"/proc/{pid}/environ").split(b"\0"):
        name, equals, value = item.partition(b"=")
        if equals:
            variables[os.fsdecode(name)] = os.fsdecode(value)
    return variables


def members_of_launch(
    launch: str, sessions: Mapping[int, int], *, besides: Collection[int] = ()
) -> list[int]:
    """Living processes of a launch: of its sessions, or carrying its mark after leaving them.

    `sessions` maps a session to the birth of its leader, so that a stranger who got the same
    number later is left alone.
    """
    mark = f"{LAUNCH_VARIABLE}={launch}".encode()
    ours = {
        session
        for session, born in sessions.items()
        if (leader := process_entry(session)) is None or leader.born == born
    }
    return [
        entry.pid
        for entry in running_processes()
        if entry.pid not in besides and (entry.session in ours or _carries(entry.pid, mark))
    ]


def adopted_since(born: int, *, besides: Collection[int] = ()) -> list[int]:
    """Processes that came to us as their subreaper: they left their session, perhaps also their
    environment, and their parents are dead. None that was there before `born`."""
    own = os.getsid(0)
    entries = filter(None, map(process_entry, children_of(os.getpid())))
    return [
        entry.pid
        for entry in entries
        if entry.pid not in besides
        and entry.pid not in HELPERS
        and entry.state != "Z"
        and entry.session != own
        and entry.born >= born
    ]


def children_of(pid: int) -> list[int]:
    """Direct children, zombies included."""
    with contextlib.suppress(OSError):
        return [int(word) for word in _read(f"/proc/{pid}/task/{pid}/children").split()]
    entries = map(process_entry, _pids())
    return [entry.pid for entry in entries if entry is not None and entry.parent == pid]


def send_signal(pid: int, number: int) -> bool:
    """Send a signal; False when the process is gone already."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return False
    return True


def send_to_group(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def reap(pid: int) -> None:
    """Collect an adopted zombie, if it is one."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def reset_signals() -> list[int]:
    """Signals Python ignores and a child must find as usual."""
    names = ("SIGPIPE", "SIGXFZ", "SIGXFSZ")
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


def _carries(pid: int, mark: bytes) -> bool:
    content = _content(f"/proc/{pid}/environ")
    return content.startswith(mark + b"\0") or (b"\0" + mark + b"\0") in content


def _pids() -> list[int]:
    with contextlib.suppress(OSError):
        return [int(name) for name in _look(lambda: os.listdir("/proc")) if name.isdigit()]
    return []


def _content(path: str) -> bytes:
    """Empty where there is no such file, or not for us."""
    with contextlib.suppress(OSError):
        return _read(path)
    return b""


def _read(path: str) -> bytes:
    def read() -> bytes:
        with open(path, "rb") as stream:
            return stream.read()

    return _look(read)


def _look(look: Callable[[], _Seen]) -> _Seen:
    """With a descriptor of the reserve where there is no other; it is given back afterwards."""
    try:
        return look()
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE) or not _RESERVE:
            raise
    os.close(_RESERVE.pop())
    try:
        return look()
    finally:
        with contextlib.suppress(OSError):  # another thread was quicker; there are more
            _fill_reserve()


def _fill_reserve() -> None:
    while len(_RESERVE) < _RESERVED:
        _RESERVE.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
