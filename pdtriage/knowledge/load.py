"""From TOML files to `Knowledge`: the shipped ones, other packages', the user's own."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast, get_args

from pdtriage import cache
from pdtriage.knowledge.signature import Format, Knowledge, Signature, Trigger
from pdtriage.model import CATEGORIES, SIGNATURE_ROLES, FileKind, SignatureRole, Text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ENTRY_POINT_GROUP = "pdtriage.parsers"
ENVIRONMENT_VARIABLE = "PDTRIAGE_PARSERS"
FORMAT_TABLES = {"prefix": "prefixes", "clock": "clocks", "counter": "counters"}
SIGNATURE_KEYS = frozenset(Signature.__dataclass_fields__) - {"family"}
TOPLESS_ROLES = frozenset({"start", "progress", "end", "noise", "context", "victim"})
"""Roles that may do without a category: they never name a cause."""


class KnowledgeError(Exception):
    """A parsers file that cannot be used; the message says which, where and what to change."""


def load_knowledge(extra: Sequence[Path] = ()) -> Knowledge:
    """All signatures and formats; a later folder replaces a signature of the same id."""
    signatures: dict[str, Signature] = {}
    formats: dict[str, list[Format]] = {name: [] for name in FORMAT_TABLES.values()}
    problems: list[str] = []
    for path in _toml_files([shipped_folder()]):
        _read(path, signatures, formats, shipped=True)
    for folder in _environment_folders():
        if not folder.exists():
            problems.append(f"{ENVIRONMENT_VARIABLE}: {folder}: no such folder of parsers")
    for path in _toml_files([*_packages_folders(), *_environment_folders()]):
        try:  # a broken parser of another package must not stop the triage of a dead job
            _read(path, signatures, formats)
        except KnowledgeError as error:
            problems.append(str(error))
    for path in _toml_files(extra, must_exist=True):
        _read(path, signatures, formats)
    return Knowledge(
        signatures=signatures,
        prefixes=tuple(formats["prefixes"]),
        clocks=tuple(formats["clocks"]),
        counters=tuple(formats["counters"]),
        problems=tuple(problems),
    )


def shipped_folder() -> Path:
    """`parsers/` of the checkout, or its copy inside the installed wheel."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "_parsers"
    return inside if inside.is_dir() else package.parent / "parsers"


def _packages_folders() -> list[Path]:
    from importlib.metadata import entry_points

    folders = []
    for point in entry_points(group=ENTRY_POINT_GROUP):
        target = point.load()
        where = target() if callable(target) else getattr(target, "__path__", [target])
        for entry in [where] if isinstance(where, (str, os.PathLike)) else where:
            folders.append(Path(entry))
    return folders


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
            raise KnowledgeError(f"{folder}: no such folder of parsers; give a folder of *.toml")


def _read(
    path: Path,
    signatures: dict[str, Signature],
    formats: dict[str, list[Format]],
    shipped: bool = False,
) -> None:
    """Adds what a file says; patterns that ship are tested, and compiling them all takes long."""
    document = _document(path)
    unknown = set(document) - {"signature", *FORMAT_TABLES}
    if unknown:
        raise KnowledgeError(f"{path}: unknown table {sorted(unknown)[0]!r}")
    for entry in _tables(document, "signature", path):
        signature = _signature(entry, path)
        if not shipped:
            _compile(signature.pattern, f"{path}: signature {signature.id!r}: pattern")
            _compile(signature.stack, f"{path}: signature {signature.id!r}: stack")
        signatures[signature.id] = signature
    for table, name in FORMAT_TABLES.items():
        for entry in _tables(document, table, path):
            form = _format(entry, path)
            if not shipped:
                _compile(form.pattern, f"{path}: {table} {form.id!r}: pattern", table == "prefix")
            formats[name].append(form)


def _tables(document: dict[str, Any], name: str, path: Path) -> list[dict[str, object]]:
    found = document.get(name, [])
    if isinstance(found, list) and all(isinstance(entry, dict) for entry in found):
        return found
    raise KnowledgeError(f"{path}: {name} must be a list of tables, each begun with [[{name}]]")


def _compile(pattern: str | None, where: str, plain: bool = False) -> None:
    """Refuses what does not compile; prefixes are `plain`, for the standard library."""
    import regex

    if pattern is None:
        return
    try:
        re.compile(pattern) if plain else regex.compile(pattern)
    except (re.error, regex.error, ValueError, OverflowError, RecursionError) as error:
        raise KnowledgeError(f"{where} does not compile: {error}") from error


def _document(path: Path) -> dict[str, Any]:
    """The tables of a file; TOML is slow to read, so its JSON form is kept in the cache."""
    try:
        content = path.read_bytes()
        key = cache.key_of(content)
        stored = cache.load("parsers", key)
        if stored is not None:
            return cast("dict[str, Any]", json.loads(stored))
        document = tomllib.loads(content.decode("utf-8"))
    except (OSError, ValueError) as error:
        raise KnowledgeError(f"{path}: {error}") from error
    cache.store("parsers", key, json.dumps(document).encode())
    return document


def _signature(entry: dict[str, object], path: Path) -> Signature:
    name = entry.get("id")
    if not isinstance(name, str) or not name:
        raise KnowledgeError(f"{path}: a signature without an id")
    where = f"{path}: signature {name!r}"
    unknown = set(entry) - SIGNATURE_KEYS
    if unknown:
        raise KnowledgeError(f"{where}: unknown key {sorted(unknown)[0]!r}")
    role = entry.get("role")
    if role not in SIGNATURE_ROLES:
        raise KnowledgeError(f"{where}: role must be one of {', '.join(SIGNATURE_ROLES)}")
    category = entry.get("category")
    if category not in CATEGORIES and not (category is None and role in TOPLESS_ROLES):
        raise KnowledgeError(f"{where}: category {category!r} is not in the list of categories")
    kinds = _strings(entry.get("kinds", []), where)
    if not set(kinds) <= set(get_args(FileKind)):
        raise KnowledgeError(f"{where}: kinds must be of {', '.join(get_args(FileKind))}")
    literals = _strings(entry.get("literals", []), where)
    trigger = entry.get("trigger", "literal")
    if trigger not in get_args(Trigger) or (trigger == "literal") != bool(literals):
        raise KnowledgeError(f'{where}: needs literals, or trigger = "traceback" without any')
    points = entry.get("points")
    if (points is None) == (role == "symptom") or points not in (None, "peer", "earlier"):
        raise KnowledgeError(f'{where}: points = "peer" or "earlier" goes with a symptom')
    return Signature(
        id=name,
        family=path.stem,
        role=cast(SignatureRole, role),
        category=category,
        title=_text(entry.get("title"), where + " title"),
        literals=literals,
        trigger=cast(Trigger, trigger),
        pattern=_optional(entry, "pattern", where),
        lines=_number(entry, "lines", where),
        stack=_optional(entry, "stack", where),
        kinds=cast("tuple[FileKind, ...]", kinds),
        generic=entry.get("generic") is True,
        final=entry.get("final") is True,
        repeats=_number(entry, "repeats", where),
        points=points,
        explains=_strings(entry.get("explains", []), where),
        meaning=_text(entry["meaning"], where + " meaning") if "meaning" in entry else None,
        confirm=_text(entry["confirm"], where + " confirm") if "confirm" in entry else None,
        advice=_texts(entry.get("advice", []), where + " advice"),
        samples=_strings(entry.get("samples", []), where),
        misses=_strings(entry.get("misses", []), where),
    )


def _format(entry: dict[str, object], path: Path) -> Format:
    where = f"{path}: format {entry.get('id')!r}"
    pattern = _optional(entry, "pattern", where)
    if not isinstance(entry.get("id"), str) or pattern is None:
        raise KnowledgeError(f"{where}: needs an id and a pattern")
    return Format(
        id=str(entry["id"]),
        pattern=pattern,
        samples=_strings(entry.get("samples", []), where),
        misses=_strings(entry.get("misses", []), where),
    )


def _text(value: object, where: str) -> Text:
    if isinstance(value, dict) and value.get("en") and value.get("zh"):
        return Text(en=str(value["en"]).strip(), zh=str(value["zh"]).strip())
    raise KnowledgeError(f"{where}: needs both en and zh")


def _texts(value: object, where: str) -> tuple[Text, ...]:
    if not isinstance(value, list):
        raise KnowledgeError(f"{where}: must be a list of {{en, zh}}")
    return tuple(_text(item, where) for item in value)


def _strings(value: object, where: str) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str) and item for item in value):
        return tuple(value)
    raise KnowledgeError(f"{where}: {value!r} must be a list of non-empty strings")


def _optional(entry: dict[str, object], key: str, where: str) -> str | None:
    value = entry.get(key)
    if value is None or (isinstance(value, str) and value):
        return value
    raise KnowledgeError(f"{where}: {key} must be a non-empty string")


def _number(entry: dict[str, object], key: str, where: str) -> int:
    value = entry.get(key, 1)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise KnowledgeError(f"{where}: {key} must be a whole number from 1 on")
