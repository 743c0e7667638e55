"""Which Python runs the script, and which Paddle it has, without importing Paddle."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping

from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

_WHEEL = re.compile(
    r"(?P<name>paddlepaddle(?:[_-](?P<flavour>[a-z]+))?|paddle[_-]custom[_-](?P<plugin>\w+?))"
    r"-(?P<version>\d[^-]*)(?:-.*)?\.(?:dist|egg)-info",
    re.IGNORECASE,
)
_FLAVOUR_KINDS = {"gpu": "gpu", "dcu": "gpu", "rocm": "gpu", "xpu": "xpu", "npu": "npu"}
_ISOLATION_MARKS = ("pipx_metadata.json", "uv-receipt.toml")


class PaddleWheel(NamedTuple):
    """What the package metadata says."""

    kind: str
    """`cpu`, `gpu`, `xpu`, or the type of a custom device such as `npu`."""
    version: str
    name: str
    custom: bool = False
    """The device comes with a plugin (`paddle-custom-npu`) to the CPU wheel."""


def choose_python(asked: str | None, environ: Mapping[str, str]) -> str:
    """`--python`, or ours, or the first on PATH when ours is a tool's private one."""
    if asked:
        found = _on_path(asked, environ)
        if found is None:
            raise UserError(
                Text(f"There is no Python at {asked}.", f"找不到 Python：{asked}。"),
                Text("Check --python.", "请检查 --python。"),
            )
        return found
    if not _is_isolated(sys.prefix):
        return sys.executable
    for name in ("python", "python3"):
        found = _on_path(name, environ, outside=sys.prefix)
        if found is not None:
            return found
    return sys.executable


def installed_paddle(python: str) -> PaddleWheel | None:
    """The Paddle that `python` would import; None when its metadata cannot be found."""
    paths = sys.path if os.path.samefile(python, sys.executable) else _paths_of(python)
    return wheel_in(paths)


def refuse_without_paddle(python: str, wheel: PaddleWheel | None) -> None:
    """Refuses a Python without Paddle before Paddle's launcher is called.

    A Paddle built from source has no metadata.
    """
    import subprocess

    if wheel is not None:
        return
    question = "import importlib.util as u, sys; sys.exit(0 if u.find_spec('paddle') else 1)"
    answer = subprocess.run(
        [python, "-c", question], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if answer.returncode == 0:
        return
    raise UserError(
        Text(f"This Python has no Paddle: {python}.", f"这个 Python 没有安装 Paddle：{python}。"),
        Text(
            "Name one that has it: --python /path/to/python.",
            "请用 --python /path/to/python 指定装有 Paddle 的 Python。",
        ),
    )


def wheel_in(paths: Iterable[str]) -> PaddleWheel | None:
    wheel: PaddleWheel | None = None
    plugin: PaddleWheel | None = None
    for path in paths:
        for name in _names_in(path or "."):
            match = _WHEEL.fullmatch(name)
            if match is None:
                continue
            if match["plugin"]:
                kind = match["plugin"].lower()
                plugin = plugin or PaddleWheel(kind, match["version"], match["name"], custom=True)
            else:
                kind = _FLAVOUR_KINDS.get((match["flavour"] or "").lower(), "cpu")
                wheel = wheel or PaddleWheel(kind, match["version"], match["name"])
    if plugin is not None and (wheel is None or wheel.kind == "cpu"):
        return plugin
    return wheel


def _is_isolated(prefix: str) -> bool:
    return any(os.path.exists(os.path.join(prefix, mark)) for mark in _ISOLATION_MARKS)


def _on_path(name: str, environ: Mapping[str, str], outside: str | None = None) -> str | None:
    import shutil

    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    kept = [
        folder
        for folder in folders
        if outside is None or not os.path.realpath(folder).startswith(os.path.realpath(outside))
    ]
    found = shutil.which(name, path=os.pathsep.join(kept))
    return os.path.abspath(found) if found else None


def _paths_of(python: str) -> list[str]:
    import subprocess

    try:
        answer = subprocess.run(
            [python, "-c", "import sys; print('\\n'.join(sys.path))"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _not_a_python(
            python, Text("it did not answer within 20 s", "20 秒内没有应答")
        ) from None
    except OSError as error:
        raise _not_a_python(python, Text(str(error.strerror), str(error.strerror))) from None
    if answer.returncode != 0:
        code = answer.returncode
        raise _not_a_python(
            python, Text(f"asked for its paths, it ended with {code}", f"查询路径时以 {code} 退出")
        )
    return answer.stdout.splitlines()


def _not_a_python(python: str, why: Text) -> UserError:
    return UserError(
        Text(
            f"{python} does not work as a Python: {why.en}.",
            f"{python} 不能作为 Python 使用：{why.zh}。",
        ),
        Text("Check --python.", "请检查 --python。"),
    )


def _names_in(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if entry.name.startswith("paddle")]
    except OSError:
        return []
