"""The long tables of the JSON report, ranks and victims: one line of JSON for each row.

There may be a hundred thousand rows, and they are much alike. They are written column by column, in
half the time of looking at each value of each row: what a column holds is seen once, a word that
many rows share is encoded once. Where plain values are wanted, they are read from the lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from json.encoder import encode_basestring as _string
from math import isfinite
from typing import Any

from pdtriage.model import Language, Moment, RankRow, Text, Victim

AT_ONCE = 256
"""Rows that are written together: their columns stay in the processor's cache."""
_NOTHING = {type(None)}
_Column = Callable[[Sequence[Any]], Iterable[str]]
"""From the values of a column to their JSON."""


class Table:
    """Rows that become JSON only when they are written."""

    def __init__(self, rows: Sequence[tuple[Any, ...]], columns: Mapping[str, _Column]) -> None:
        """`columns` are the first fields of a row, in their order."""
        self._rows, self._columns = rows, columns

    def __len__(self) -> int:
        return len(self._rows)

    def lines(self) -> Iterator[str]:
        for first in range(0, len(self._rows), AT_ONCE):
            fields = zip(*self._rows[first : first + AT_ONCE], strict=True)
            parts: list[Iterable[str]] = []
            before = "{"
            for (name, write), values in zip(self._columns.items(), fields, strict=False):
                parts += repeat(f'{before}"{name}": '), write(values)
                before = ", "
            yield from map("".join, zip(*parts, repeat("}"), strict=False))

    def values(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines()]


def table_of_victims(victims: Sequence[Victim]) -> Table:
    columns: dict[str, _Column] = {
        "rank": _numbers,
        "role": _texts,
        "host": _texts,
        "reason": _texts,
        "because_of": _numbers,
    }
    return Table(victims, columns)


def table_of_ranks(rows: Sequence[RankRow], language: Language) -> Table:
    columns: dict[str, _Column] = {
        "rank": _numbers,
        "role": _texts,
        "host": _texts,
        "local_rank": _numbers,
        "device": _texts,
        "files": _files,
        "status": _texts,
        "exit_code": _numbers,
        "signal": _numbers,
        "last_step": _numbers,
        "last_seen": _numbers,
        "first_seen": _numbers,
        "last_progress": _numbers,
        "progress": _steps,
        "moments": _Lives(language),
    }
    return Table(rows, columns)


def _numbers(values: Sequence[float | None]) -> Iterable[str]:
    kinds = set(map(type, values))
    if kinds == {int} or (kinds == {float} and all(map(isfinite, values))):  # type: ignore[arg-type]
        return map(repr, values)
    return ["null"] * len(values) if kinds == _NOTHING else map(_number, values)


def _texts(values: Sequence[str | None]) -> Iterable[str]:
    known = {value: "null" if value is None else _string(value) for value in set(values)}
    return map(known.__getitem__, values)


def _files(values: Sequence[Sequence[str]]) -> list[str]:
    return [
        f"[{_string(files[0]) if len(files) == 1 else ', '.join(map(_string, files))}]"
        for files in values
    ]


def _steps(values: Sequence[Sequence[tuple[float, int]]]) -> list[str]:
    return [
        f"[{', '.join([f'[{_milliseconds(time)}, {step}]' for time, step in steps])}]"
        if steps
        else "[]"
        for steps in values
    ]


def _milliseconds(time: float) -> str:
    """A time to three places; to round it first, for a shorter number, takes twice as long."""
    text = f"{time:.3f}"
    return text if text[-1] in "123456789" else _number(round(time, 3))


class _Lives:
    """Moments of ranks, in whose rows they stand; most say the same at another time."""

    def __init__(self, language: Language) -> None:
        self._language: Language = language
        self._told: dict[tuple[str, Text, bool], str] = {}

    def __call__(self, values: Sequence[Sequence[Moment]]) -> list[str]:
        return [f"[{', '.join(map(self._moment, lived))}]" if lived else "[]" for lived in values]

    def _moment(self, moment: Moment) -> str:
        time, _, kind, text, _, about = moment
        told = self._told.get((kind, text, about))
        if told is None:
            told = self._told[kind, text, about] = (
                f'"kind": {_string(kind)}, '
                f'"text": {_string(text.in_(self._language))}, '
                f'"about": {"true" if about else "false"}'
            )
        return f'{{"t": {_number(time)}, {told}}}'


def _number(value: float | None) -> str:
    if value is None:
        return "null"
    return repr(value) if value - value == 0 else json.dumps(value)  # a record may say Infinity
