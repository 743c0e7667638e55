"""One parsers file: from TOML to signatures and formats, checked once and cached in a quick form.

Reading TOML takes a hundred times as long, and checking its tables longer than all else there is
to do before the first log is opened. What is stored is JSON, which holds no code, whoever wrote it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pdtriage.knowledge import entries, says
from pdtriage.knowledge.signature import Case, Format, Signature, detecting_form
from pdtriage.model import Text
from pdtriage.support import cache
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple

FORMAT_TABLES = {
    "prefix": "prefixes",
    "clock": "clocks",
    "counter": "counters",
    "finish": "finishes",
    "remainder": "remainders",
    "recovery": "recoveries",
    "trouble": "troubles",
    "unfinished": "unfinished",
}
_CACHE = "parsers"
_FIELDS = Signature._fields, Case._fields, Format._fields, *FORMAT_TABLES
_FORM = f"json {sys.implementation.cache_tag} {_FIELDS}".encode()
"""What was stored by another Python, or with other fields, is not to be read."""
_SENTENCES = [Signature._fields.index(n) for n in ("title", "full_title", "meaning", "confirm")]
_ADVICE = Signature._fields.index("advice")
_CASES = Signature._fields.index("cases")
_NAMES = Signature._fields.index("names")


class FileContents(NamedTuple):
    """All that one file says."""

    signatures: tuple[Signature, ...]
    formats: Mapping[str, tuple[Format, ...]]
    """By the name of their table."""


def read_tested(path: Path) -> FileContents:
    """Reads somebody's own file, all patterns of which have to compile.

    For what ships compiling them would take too long.
    """
    (contents,) = read_files([path])
    for signature in contents.signatures:
        _try_to_compile(signature.pattern, f"{path}: signature {signature.id!r}: pattern")
        _try_to_compile(signature.stack, f"{path}: signature {signature.id!r}: stack")
        for case in signature.cases:
            _try_to_compile(case.pattern, f"{path}: signature {signature.id!r}: case")
    for table, formats in contents.formats.items():
        for form in formats:
            where = f"{path}: {table} {form.id!r}: pattern"
            _try_to_compile(form.pattern, where, plain=table not in ("clock", "counter"))
            if table == "counter":
                _try_to_scan(form.pattern, where)
    return contents


def read_files(paths: Sequence[Path]) -> list[FileContents]:
    """What files say; as a rule they were read and checked before, by the same rules."""
    written = [_written(path) for path in paths]
    names = [path.stem.encode() for path in paths]
    rules = _version(entries.__file__), _version(says.__file__)
    key = cache.key_of(_FORM, *rules, *names, *written)
    stored = cache.load(_CACHE, key)
    if stored is not None:
        return _unpack(stored)
    found = [
        _check(_tables_of(content, path), path)
        for path, content in zip(paths, written, strict=True)
    ]
    cache.store_atomically(_CACHE, key, _pack(found))
    return found


def _written(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(Text(f"{path}: {error}", f"{path}：{error}")) from error


def _check(document: dict[str, Any], path: Path) -> FileContents:
    unknown = set(document) - {"signature", *FORMAT_TABLES}
    if unknown:
        name = sorted(unknown)[0]
        raise UserError(Text(f"{path}: unknown table {name!r}", f"{path}：未知的表 {name!r}"))
    if _holds_a_date(document):
        raise UserError(
            Text(
                f"{path}: a date or time stands where nothing of a parser is one; put it in quotes",
                f"{path}：出现了日期或时间值，特征库中没有这种类型的字段；请加引号",
            )
        )
    signatures = [
        entries.signature_of(entry, path) for entry in _tables(document, "signature", path)
    ]
    formats = {
        table: tuple([entries.format_of(entry, path) for entry in _tables(document, table, path)])
        for table in FORMAT_TABLES
    }
    return FileContents(tuple(signatures), formats)


def _holds_a_date(value: object) -> bool:
    if isinstance(value, (dict, list)):
        return any(map(_holds_a_date, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, (str, int, float))


def _tables(document: dict[str, Any], name: str, path: Path) -> list[dict[str, object]]:
    found = document.get(name, [])
    if isinstance(found, list) and all(isinstance(entry, dict) for entry in found):
        return found
    raise UserError(
        Text(
            f"{path}: {name} must be a list of tables, each begun with [[{name}]]",
            f"{path}：{name} 必须是表的列表，每个以 [[{name}]] 开头",
        )
    )


def _tables_of(content: bytes, path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib  # as a rule everything is in the cache
    else:
        import tomli as tomllib

    try:
        return tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(Text(f"{path}: {error}", f"{path}：{error}")) from error


def _version(module: str) -> bytes:
    """Changes with the code of a module; one inside an archive has only its name."""
    try:
        return f"{module} {os.stat(module).st_mtime_ns}".encode()
    except OSError:
        return module.encode(errors="replace")


def _try_to_compile(pattern: str | None, where: str, plain: bool = False) -> None:
    """Refuses what does not compile; what is `plain` is understood by `re`, too."""
    import regex

    if pattern is None:
        return
    try:
        regex.compile(pattern)
        if plain:
            re.compile(pattern)
    except (re.error, regex.error, ValueError, OverflowError, RecursionError) as error:
        raise UserError(
            Text(f"{where} does not compile: {error}", f"{where} 无法编译：{error}")
        ) from error


def _try_to_scan(pattern: str, where: str) -> None:
    """Counters are looked for in every log, by engines that know less than the others."""
    from pdtriage.support.multi_pattern import database_of  # only for those who have counters

    try:
        database_of("counters", [detecting_form(pattern).encode()])
    except Exception as error:  # each engine has errors of its own, and one may be absent
        raise UserError(
            Text(
                f"{where} does not compile for scanning: {error}; write it without lookaround, "
                "backreferences and large repeats",
                f"{where} 无法编译用于扫描：{error}；请不要使用环视、反向引用和很大的重复次数",
            )
        ) from error


def _pack(files: Sequence[FileContents]) -> bytes:
    plain = [(file.signatures, dict(file.formats)) for file in files]
    return json.dumps(plain, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _unpack(stored: bytes) -> list[FileContents]:
    return [
        FileContents(
            tuple([_signature(fields) for fields in signatures]),
            {table: tuple([_format(fields) for fields in found]) for table, found in form.items()},
        )
        for signatures, form in json.loads(stored.decode("utf-8", "surrogatepass"))
    ]


def _with_tuples(fields: list[Any]) -> list[Any]:
    return [tuple(field) if type(field) is list else field for field in fields]


def _format(fields: list[Any]) -> Format:
    return Format._make(_with_tuples(fields))


def _signature(fields: list[Any]) -> Signature:
    fields = _with_tuples(fields)
    for at in _SENTENCES:
        if fields[at] is not None:
            fields[at] = Text(*fields[at])
    fields[_ADVICE] = tuple([Text(*advice) for advice in fields[_ADVICE]])
    if fields[_CASES]:
        fields[_CASES] = tuple([_case(*case) for case in fields[_CASES]])
    fields[_NAMES] = tuple(map(tuple, fields[_NAMES]))
    return Signature._make(fields)


def _case(pattern: str, advice: list[list[str]], instead: list[int]) -> Case:
    return Case(pattern, tuple([Text(*step) for step in advice]), tuple(instead))
