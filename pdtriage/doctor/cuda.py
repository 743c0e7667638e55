"""With which CUDA a Paddle was built, and where its libraries are; nothing is imported."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping, Sequence

from pdtriage.support.fast_namedtuple import NamedTuple

_CUDA = re.compile(r"^cuda_version\s*=\s*'(\d+)\.(\d+)", re.MULTILINE)
_SYSTEM = (
    "/usr/lib",
    "/usr/lib64",
    "/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/local/lib",
    "/usr/local/cuda*/lib64",
    "/usr/local/cuda*/targets/*/lib",
)


class Build(NamedTuple):
    """What `paddle/version/__init__.py` says."""

    cuda: tuple[int, int]


def build_of(folders: Sequence[str]) -> Build | None:
    """The build of the Paddle in one of `folders`; None if it is not one for CUDA."""
    for folder in folders:
        path = os.path.join(folder or ".", "paddle", "version", "__init__.py")
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                match = _CUDA.search(stream.read(1 << 16))
        except OSError:
            continue
        return Build((int(match[1]), int(match[2]))) if match else None
    return None


def find_libraries(
    names: Sequence[str], folders: Sequence[str], environ: Mapping[str, str], root: str
) -> dict[str, str]:
    """Path of each library that Paddle or the loader would find, by name."""
    places = [
        place
        for folder in folders
        for place in (
            os.path.join(glob.escape(folder), "nvidia", "*", "lib"),
            os.path.join(glob.escape(folder), "paddle", "libs"),
        )
    ]
    paths = environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    places += [glob.escape(path) for path in paths if path]
    places += [os.path.join(glob.escape(root), place.lstrip("/")) for place in _configured(root)]
    places += [os.path.join(glob.escape(root), place.lstrip("/")) for place in _SYSTEM]
    found: dict[str, str] = {}
    for name in names:
        for place in places:
            matches = sorted(glob.glob(os.path.join(place, f"{name}*")))
            if matches:
                found[name] = matches[0]
                break
    return found


def _configured(root: str) -> list[str]:
    """Folders that /etc/ld.so.conf.d names."""
    folders: list[str] = []
    for path in sorted(glob.glob(os.path.join(glob.escape(root), "etc/ld.so.conf.d/*.conf"))):
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                lines = [line.strip() for line in stream]
        except OSError:
            continue
        folders += [line for line in lines if line.startswith("/")]
    return folders
