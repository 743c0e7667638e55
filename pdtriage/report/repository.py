"""Where a cause lies in the user's own repository, as CI systems want it: a relative path."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from pdtriage.model import Cause
from pdtriage.support.fast_namedtuple import NamedTuple

_ROOTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE")
MOST_PARTS = 64


class Location(NamedTuple):
    path: str
    line: int


def repository_around(start: Path, environment: Mapping[str, str]) -> Path | None:
    """The checkout a CI system names, else the folder with `.git` at or above `start`."""
    for name in _ROOTS:
        named = environment.get(name)
        if named and Path(named).is_dir():
            return Path(named)
    folders = (start, *start.parents)
    return next((folder for folder in folders if (folder / ".git").exists()), None)


def source_location_of(cause: Cause, repository: Path | None) -> Location | None:
    """The line of the user's own code in the repository, if it lies there."""
    if cause.frame is None or repository is None:
        return None
    path = _inside(cause.frame.file, repository)
    return Location(path, max(1, cause.frame.line)) if path else None


def nearest_location(cause: Cause, repository: Path | None) -> Location | None:
    """Where a cause lies in the repository; if its code is not there, the evidence in the log."""
    found = source_location_of(cause, repository)
    if found is None and cause.evidence:
        shown = cause.evidence[0]
        parts = [part for part in PurePosixPath(shown.file).parts if part not in ("/", "..")]
        found = Location("/".join(parts) or "log", max(1, shown.line))
    return found


def _inside(file: str, repository: Path) -> str | None:
    """`file` relative to the repository; a job in a container has it below another folder."""
    normal = os.path.normpath(file.replace("\\", "/"))
    parts = [part for part in PurePosixPath(normal).parts if part != "/"]
    if "\0" in file or not parts or len(parts) > MOST_PARTS:
        return None
    try:
        return Path(normal).relative_to(repository).as_posix()
    except ValueError:
        pass
    for skipped in range(len(parts)):
        ending = parts[skipped:]
        if ".." not in ending and _is_file(repository.joinpath(*ending)):
            return "/".join(ending)
    return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name too long for the file system is not in it
        return False
