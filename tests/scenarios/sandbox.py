"""Where the processes of a job live: a network, host name and mounts of their own for each node.

As root every node is a network namespace. Without root a single node runs on the machine's own
loopback, and scenarios that need more say so in ``Scenario.root``.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

HOSTS = ("10.77.0.1", "10.77.0.2")
DEVICE = "eth0"
PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Node:
    index: int
    home: Path
    """The work directory of this node."""
    namespace: str | None = None
    cgroup: Path | None = None
    mounts: dict[str, str] = field(default_factory=dict)

    def spawn(
        self, command: list[str], env: dict[str, str], console: Path
    ) -> subprocess.Popen[bytes]:
        """Start a command here; the pid returned is that of the command itself."""
        with console.open("ab") as out:
            return subprocess.Popen(
                [*self._prefix(), *command],
                cwd=self.home,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def _prefix(self) -> list[str]:
        if self.namespace is None:
            return []
        steps = [f"hostname trainer-{self.index}", f"mount --bind {self.home}/.hosts /etc/hosts"]
        for where, options in self.mounts.items():
            point = shlex.quote(str(self.home / where))
            steps.append(f"mkdir -p {point} && mount -t tmpfs -o {options} tmpfs {point}")
        inside = f'{" && ".join(steps)} && exec "$@"'
        join = f'echo $$ > {self.cgroup}/cgroup.procs && exec "$@"' if self.cgroup else 'exec "$@"'
        enter = ["ip", "netns", "exec", self.namespace, "unshare", "--mount", "--uts"]
        return ["/bin/sh", "-c", join, "sh", *enter, "/bin/sh", "-c", inside, "sh"]


@contextmanager
def nodes(count: int, top: Path) -> Iterator[list[Node]]:
    """The nodes of a job, without root a single one without a network of its own."""
    homes = [top / f"node{index}" for index in range(count)]
    for home in homes:
        home.mkdir(parents=True)
    if not can_isolate():
        if count > 1:
            raise PermissionError("two nodes need root (network namespaces)")
        yield [Node(0, homes[0])]
        return
    with ExitStack() as undo:
        names = [f"pdts-{os.getpid()}-{index}" for index in range(count)]
        for index, (name, home) in enumerate(zip(names, homes, strict=True)):
            _ip("netns", "add", name)
            undo.callback(_ip, "netns", "del", name)
            _ip("-n", name, "link", "set", "lo", "up")
            address = "127.0.0.1" if count == 1 else HOSTS[index]
            (home / ".hosts").write_text(f"127.0.0.1 localhost\n{address} trainer-{index}\n")
        if count == 2:
            _wire(*names)
        yield [Node(i, home, name) for i, (home, name) in enumerate(zip(homes, names, strict=True))]


@contextmanager
def memory_limit(megabytes: int) -> Iterator[Path]:
    """A cgroup (v1) in which the kernel kills whoever goes over the limit."""
    group = Path("/sys/fs/cgroup/memory") / f"train-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(megabytes << 20))
        yield group
    finally:
        for _ in range(50):
            if not (group / "cgroup.procs").read_text().strip():
                break
            time.sleep(0.1)
        group.rmdir()


@contextmanager
def no_leftovers() -> Iterator[None]:
    """Whatever is started inside is gone afterwards, detached or not."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    ours_before = set(children_of(os.getpid()))
    try:
        yield
    finally:
        for _ in range(50):
            left = [pid for pid in descendants(os.getpid()) if pid not in ours_before]
            if not left:
                break
            for pid in left:
                _end(pid)
            time.sleep(0.1)


def children_of(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    found = children_of(pid)
    return found + [below for child in found for below in descendants(child)]


def writer_of(path: Path, below: int) -> int | None:
    """The topmost process below a launcher that has this file as its standard output."""
    for pid in descendants(below):
        try:
            if os.readlink(f"/proc/{pid}/fd/1") == str(path):
                return pid
        except OSError:
            continue
    return None


def clean_environment(home: Path) -> dict[str, str]:
    """Launchers dump the whole environment into the log folder: give them nothing to tell."""
    return {
        "PATH": f"{sys.prefix}/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
    }


@cache
def can_isolate() -> bool:
    """Root in a container often may not make namespaces, so try."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("unshare"):
        return False
    attempt = ["unshare", "--net", "--mount", "--uts", "true"]
    return subprocess.run(attempt, capture_output=True).returncode == 0


def _wire(first: str, second: str) -> None:
    _ip(
        "link",
        "add",
        DEVICE,
        "netns",
        first,
        "type",
        "veth",
        "peer",
        "name",
        DEVICE,
        "netns",
        second,
    )
    for name, address in zip((first, second), HOSTS, strict=True):
        _ip("-n", name, "addr", "add", f"{address}/24", "dev", DEVICE)
        _ip("-n", name, "link", "set", DEVICE, "up")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, os.WNOHANG)
    except (ProcessLookupError, ChildProcessError):
        pass
