"""The report as JSON, schema `pdtriage.report/1` (docs/report.schema.json)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TextIO

from pdtriage.model import Report
from pdtriage.model.report_json import Table, as_json, with_tables
from pdtriage.report import Options
from pdtriage.report.sanitise import inert_json

LINE = 120
INDENT = "  "
MANY = 256
"""A longer list has one line for each item, however wide: to be searched, not to be read."""

_encode = json.JSONEncoder(ensure_ascii=False).encode


class JsonReporter:
    name = "json"
    suffixes = (".json",)

    def write(self, report: Report, stream: TextIO, options: Options) -> None:
        if options.quiet:
            _write([_encoded(as_json(report))], stream)
        else:
            _write(_document(with_tables(report)), stream)

    def write_all(self, reports: Sequence[Report], stream: TextIO, options: Options) -> None:
        values = [as_json(report) for report in reports]
        _write([_encoded(values) if options.quiet else _readable(values)], stream)


reporter = JsonReporter()


def _write(pieces: Iterable[str], stream: TextIO) -> None:
    """Whole values only, so that each can be made inert by itself."""
    for piece in pieces:
        stream.write(inert_json(piece))
    stream.write("\n")


def _document(values: dict[str, object]) -> Iterator[str]:
    """The document piece by piece, as `_readable` lays it out."""
    before = "{\n"
    for name, value in values.items():
        yield f"{before}{INDENT}{_encoded(name)}: "
        before = ",\n"
        if not isinstance(value, Table):
            yield _readable(value, INDENT)
        elif len(value) <= MANY:
            yield _readable(value.values(), INDENT)
        else:
            yield from _list_lines(value.lines(), INDENT)
    yield "\n}"


def _list_lines(lines: Iterator[str], indent: str) -> Iterator[str]:
    """A line for each item, many at once."""
    inner = f"\n{indent}{INDENT}"
    before = "["
    while some := list(islice(lines, MANY)):
        yield before + inner + f",{inner}".join(some)
        before = ","
    yield f"\n{indent}]"


def _readable(value: object, indent: str = "") -> str:
    """Indented by two, but what holds only numbers or fits a line is one line."""
    if not isinstance(value, (dict, list)) or not value:
        return _encoded(value)
    if _is_flat(value):
        line = _encoded(value)
        if len(indent) + len(line) <= LINE or _is_numbers(value):
            return line
    inner = indent + INDENT
    if isinstance(value, dict):
        rows = [f"{_encoded(str(key))}: {_readable(item, inner)}" for key, item in value.items()]
        return f"{{\n{inner}" + f",\n{inner}".join(rows) + f"\n{indent}}}"
    rows = [_encoded(item) if len(value) > MANY else _readable(item, inner) for item in value]
    return f"[\n{inner}" + f",\n{inner}".join(rows) + f"\n{indent}]"


def _encoded(value: object) -> str:
    if value is None:
        return "null"
    return repr(value) if type(value) is int else _encode(value)  # which makes an encoder for each


def _is_flat(value: dict[str, object] | list[object]) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return _is_numbers(value) or not any(isinstance(item, (dict, list)) for item in items)


def _is_numbers(value: object) -> bool:
    """A list of numbers, or of lists of them, however long."""
    return isinstance(value, list) and all(
        isinstance(item, (int, float)) or (bool(item) and _is_numbers(item)) for item in value
    )
