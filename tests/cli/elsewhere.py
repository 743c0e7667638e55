"""Runs pdtriage as if on another system: what Python does not have there is not there.

    python elsewhere.py win32 analyze log

Which names are missing is read from typeshed, which mypy brings along. Modules of the standard
library, and of others, that choose by the system when they are imported are imported before.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import os
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

_CHOOSE = (
    *("asyncio", "concurrent.futures", "ctypes", "logging", "multiprocessing", "os", "pathlib"),
    *("random", "select", "selectors", "shutil", "signal", "socket", "ssl", "subprocess"),
    *("tempfile", "threading", "time", "uuid", "zipfile"),
    *(
        "hyperscan",
        "junitparser",
        "msgspec",
        "regex",
        "rich.console",
        "typer.core",
        "backports.zstd",
    ),
)
_THINNED = ("os", "select", "signal", "time")
_MISSING = {
    "win32": ("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "termios", "tty"),
    "darwin": ("spwd", "ossaudiodev"),
}


def pretend(platform: str) -> None:
    for name in _CHOOSE:
        importlib.import_module(name)
    sysconfig.get_config_vars()
    missing = _MISSING[platform]
    for name in missing:
        sys.modules[name] = None  # type: ignore[assignment]
    for name in _THINNED:
        module = sys.modules[name]
        known = _names_on(platform, name)
        for attribute in [each for each in vars(module) if not each.startswith("_")]:
            if attribute not in known and not _is_module(vars(module)[attribute]):
                delattr(module, attribute)
    sys.platform = platform
    tempfile._O_TMPFILE_WORKS = False  # type: ignore[attr-defined]
    if platform == "win32":
        _keep_open_files()
    _hide_proc()


def _keep_open_files() -> None:
    """Windows neither removes nor renames a file that somebody has open."""
    readlink, numbers = os.readlink, os.listdir

    def is_open(path: str) -> bool:
        for number in numbers("/proc/self/fd"):
            with contextlib.suppress(OSError):
                if readlink(f"/proc/self/fd/{number}") == os.path.realpath(path):
                    return True
        return False

    def guarded(function):  # type: ignore[no-untyped-def]
        def call(*paths, **named):  # type: ignore[no-untyped-def]
            for path in paths:
                if isinstance(path, (str, os.PathLike)) and is_open(os.fspath(path)):
                    raise PermissionError(13, "Permission denied", path)
            return function(*paths, **named)

        return call

    for name in ("remove", "rename", "replace", "unlink"):
        setattr(os, name, guarded(getattr(os, name)))


def _hide_proc() -> None:
    """Neither system has it."""

    def hidden(function):  # type: ignore[no-untyped-def]
        def call(path, *rest, **named):  # type: ignore[no-untyped-def]
            if isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith("/proc"):
                raise FileNotFoundError(2, "No such file or directory", path)
            return function(path, *rest, **named)

        return call

    for name in ("open", "listdir", "scandir", "stat", "lstat", "readlink"):
        setattr(os, name, hidden(getattr(os, name)))
    builtins.open = hidden(open)


def _is_module(value: object) -> bool:
    return isinstance(value, type(sys))


def _names_on(platform: str, module: str) -> set[str]:
    spec = find_spec("mypy")
    assert spec is not None
    assert spec.origin is not None
    stubs = Path(spec.origin).parent / "typeshed" / "stdlib"
    path = stubs / f"{module}.pyi"
    if not path.exists():
        path = stubs / module / "__init__.pyi"
    return set(_defined(ast.parse(path.read_text()).body, platform))


def _defined(body: list[ast.stmt], platform: str) -> list[str]:
    """What a stub declares on that system."""
    names: list[str] = []
    for node in body:
        if isinstance(node, ast.If):
            chosen = node.body if _holds(node.test, platform) else node.orelse
            names += _defined(chosen, platform)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
        elif isinstance(node, ast.Assign):
            names += [each.id for each in node.targets if isinstance(each, ast.Name)]
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names += [alias.asname or alias.name for alias in node.names]
    return names


def _holds(test: ast.expr, platform: str) -> bool:
    class System:
        version_info = sys.version_info

    System.platform = platform  # type: ignore[attr-defined]
    code = compile(ast.Expression(test), "<stub>", "eval")
    return bool(eval(code, {"sys": System}))


if __name__ == "__main__":
    pretend(sys.argv[1])
    from pdtriage.__main__ import main

    sys.argv[1:] = sys.argv[2:]
    main()
