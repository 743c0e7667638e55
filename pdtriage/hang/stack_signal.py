"""Has the processes of a launch write their own stacks where nobody may look into them.

Where py-spy is missing, or the kernel forbids it to look, every Python process of a launch gets a
handler of Python's own `faulthandler` for a signal that nobody else uses (`inside/`): it writes the
line its main thread is at into a file, and the process goes on. A launcher imports this: it needs
nothing that takes time.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Mapping

from pdtriage.support.private_files import make_own_folder

FOLDER_VARIABLE = "PDTRIAGE_STACKS"
SIGNAL_VARIABLE = "PDTRIAGE_STACK_SIGNAL"
STACK_SIGNAL = int(getattr(signal, "SIGRTMAX", 64)) - 7
STACKS_FOLDER = "stacks"
"""Beside the run record."""
ENDING = ".stack"
_INSIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inside")
_PTRACE_SCOPE = "/proc/sys/kernel/yama/ptrace_scope"
_TRACES_OTHERS = 1 << 19  # CAP_SYS_PTRACE


def with_stack_signal(environ: Mapping[str, str], folder: str) -> Mapping[str, str]:
    """The variables of a job whose processes write stacks into `folder` when they are asked; as
    they were where py-spy can look into them."""
    if may_look_inside(environ):
        return environ
    try:
        make_own_folder(folder)
    except OSError:
        return environ
    before = environ.get("PYTHONPATH")
    return {
        **environ,
        FOLDER_VARIABLE: os.path.abspath(folder),
        SIGNAL_VARIABLE: str(STACK_SIGNAL),
        "PYTHONPATH": f"{_INSIDE}{os.pathsep}{before}" if before else _INSIDE,
    }


def forget_stacks(folder: str) -> None:
    """What processes left behind that were ended by a signal, and the folder itself."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.endswith(ENDING):
                os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def may_look_inside(environ: Mapping[str, str]) -> bool:
    """Whether py-spy is there and the kernel lets it read the memory of processes of ours."""
    return _has_py_spy(environ) and _kernel_allows()


def ptrace_scope() -> str:
    """Who may look into processes: 0 for their user, 3 for nobody; empty without any limit."""
    try:
        with open(_PTRACE_SCOPE, encoding="ascii") as stream:
            return stream.read().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def mask_in(path: str, name: bytes) -> int:
    """A number of hexadecimal digits in one of the kernel's tables."""
    try:
        with open(path, "rb") as stream:
            for line in stream:
                if line.startswith(name):
                    return int(line[len(name) :], 16)
    except (OSError, ValueError):
        pass
    return 0


def _has_py_spy(environ: Mapping[str, str]) -> bool:
    folders = [os.path.dirname(sys.executable), *environ.get("PATH", os.defpath).split(os.pathsep)]
    return any(os.access(os.path.join(folder, "py-spy"), os.X_OK) for folder in folders)


def _kernel_allows() -> bool:
    """Whether the kernel lets py-spy look; filters of container runtimes are no obstacle to it."""
    scope = ptrace_scope()
    if scope in ("1", "2"):
        return bool(mask_in("/proc/self/status", b"CapEff:") & _TRACES_OTHERS)
    return scope != "3"
