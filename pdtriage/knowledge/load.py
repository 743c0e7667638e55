"""From TOML files to `Knowledge`: the shipped ones, other packages', the user's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pdtriage.knowledge.parsers_file import FORMAT_TABLES, FileContents, read_files, read_tested
from pdtriage.knowledge.signature import Format, Knowledge, Signature
from pdtriage.model import Text
from pdtriage.support import cache
from pdtriage.support.errors import UserError

ENTRY_POINT_GROUP = "pdtriage.parsers"
ENVIRONMENT_VARIABLE = "PDTRIAGE_PARSERS"


def load_knowledge(extra: Sequence[Path] = ()) -> Knowledge:
    """All signatures and formats; a later folder replaces a signature of the same id."""
    signatures: dict[str, Signature] = {}
    formats: dict[str, list[Format]] = {name: [] for name in FORMAT_TABLES.values()}
    problems: list[Text] = []
    for contents in read_files([*_toml_files([shipped_folder()])]):  # their patterns are tested
        _add(contents, signatures, formats, shipped=True)
    for folder in _environment_folders():
        if not folder.exists():
            problems.append(
                Text(
                    f"{ENVIRONMENT_VARIABLE}: {folder}: no such folder of parsers",
                    f"{ENVIRONMENT_VARIABLE}：{folder}：没有这个特征库目录",
                )
            )
    for path in _toml_files([*_packages_folders(problems), *_environment_folders()]):
        try:  # a broken parser of another package must not stop the triage of a dead job
            _add(read_tested(path), signatures, formats)
        except UserError as error:
            problems.append(
                Text(
                    f"{error.message.en} (nothing of this file is used)",
                    f"{error.message.zh}（整个文件均未使用）",
                )
            )
    for path in _toml_files(extra, must_exist=True):
        _add(read_tested(path), signatures, formats)
    return Knowledge(
        signatures=signatures,
        prefixes=tuple(formats["prefixes"]),
        clocks=tuple(formats["clocks"]),
        counters=tuple(formats["counters"]),
        finishes=tuple(formats["finishes"]),
        remainders=tuple(formats["remainders"]),
        recoveries=tuple(formats["recoveries"]),
        troubles=tuple(formats["troubles"]),
        unfinished=tuple(formats["unfinished"]),
        problems=tuple(problems),
    )


def shipped_folder() -> Path:
    """`parsers/` of the checkout, or its copy inside the installed wheel."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "_parsers"
    return inside if inside.is_dir() else package.parent / "parsers"


def _packages_folders(problems: list[Text]) -> list[Path]:
    """Looking into every installed package takes long; where none has parsers, that is cached."""
    key = cache.key_of(ENTRY_POINT_GROUP.encode(), *filter(None, map(_state, sys.path)))
    if cache.load("packages", key) is not None:
        return []
    from importlib.metadata import entry_points

    points = entry_points(group=ENTRY_POINT_GROUP)
    if not points:
        cache.store_atomically("packages", key, b"none")
    folders: list[Path] = []
    for point in points:
        try:
            folders += _folders_of(point.load())
        except Exception as error:  # a stranger's code; the triage goes on without it
            what = f"{type(error).__name__}: {error}"
            problems.append(
                Text(
                    f"the parsers of {point.value} cannot be loaded: {what}",
                    f"无法加载 {point.value} 的特征库：{what}",
                )
            )
    return folders


def _folders_of(target: Any) -> list[Path]:
    """What an entry point names: a package, a path, or a function that gives paths."""
    where = target() if callable(target) else getattr(target, "__path__", [target])
    return [Path(one) for one in ([where] if isinstance(where, (str, os.PathLike)) else where)]


def _state(place: str) -> bytes:
    """The state of a folder of packages: it changes with every installation.

    One that holds none, such as the folder one works in, may change as it likes.
    """
    folder = place or "."
    try:
        if os.path.isdir(folder) and not any(map(_is_package, os.listdir(folder))):
            return b""
        return f"{place} {os.stat(folder).st_mtime_ns}".encode()
    except OSError:
        return place.encode(errors="replace")


def _is_package(name: str) -> bool:
    return name.lower().endswith((".dist-info", ".egg-info", ".egg"))


def _environment_folders() -> list[Path]:
    value = os.environ.get(ENVIRONMENT_VARIABLE, "")
    return [Path(part) for part in value.split(os.pathsep) if part]


def _toml_files(folders: Iterable[Path], must_exist: bool = False) -> Iterator[Path]:
    for folder in folders:
        if folder.is_file():
            yield folder
        elif folder.is_dir():
            yield from sorted(folder.glob("*.toml"))
        elif must_exist:
            raise UserError(
                Text(
                    f"{folder}: no such folder of parsers; give a folder of *.toml",
                    f"{folder}：没有这个特征库目录；请指定存放 *.toml 的目录",
                )
            )


def _add(
    contents: FileContents,
    signatures: dict[str, Signature],
    formats: dict[str, list[Format]],
    shipped: bool = False,
) -> None:
    signatures.update({signature.id: signature for signature in contents.signatures})
    for table, name in FORMAT_TABLES.items():
        formats[name].extend(form._replace(shipped=shipped) for form in contents.formats[table])
