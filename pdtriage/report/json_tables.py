"""The long tables of the JSON report, ranks and victims: one line of JSON for each row.

There may be a hundred thousand rows. To write each by a pattern takes half the time of making
dictionaries for an encoder that knows nothing of them. Where plain values are wanted, they are read
from the lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from json.encoder import encode_basestring as _string
from typing import Any, Generic, TypeVar

from pdtriage.model import Language, Moment, RankRow, Victim

_Row = TypeVar("_Row")


class Table(Generic[_Row]):
    """Rows that become JSON only when they are written."""

    def __init__(self, rows: Sequence[_Row], line: Callable[[_Row], str]) -> None:
        self._rows, self._line = rows, line

    def __len__(self) -> int:
        return len(self._rows)

    def lines(self) -> Iterator[str]:
        return map(self._line, self._rows)

    def values(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines()]


def table_of_victims(victims: Sequence[Victim]) -> Table[Victim]:
    return Table(victims, _victim)


def table_of_ranks(rows: Sequence[RankRow], language: Language) -> Table[RankRow]:
    return Table(rows, lambda row: _rank(row, language))


def _victim(victim: Victim) -> str:
    return (
        f'{{"rank": {_number(victim.rank)}, '
        f'"role": {_string(victim.role)}, '
        f'"host": {_text(victim.host)}, '
        f'"reason": {_string(victim.reason)}, '
        f'"because_of": {_number(victim.because_of)}}}'
    )


def _rank(row: RankRow, language: Language) -> str:
    steps = [f"[{_number(round(time, 3))}, {step}]" for time, step in row.progress]
    moments = [_lived(moment, language) for moment in row.moments]
    return (
        f'{{"rank": {_number(row.rank)}, '
        f'"role": {_string(row.role)}, '
        f'"host": {_text(row.host)}, '
        f'"local_rank": {_number(row.local_rank)}, '
        f'"device": {_text(row.device)}, '
        f'"files": [{", ".join(map(_string, row.files))}], '
        f'"status": {_string(row.status)}, '
        f'"exit_code": {_number(row.exit_code)}, '
        f'"signal": {_number(row.signal)}, '
        f'"last_step": {_number(row.last_step)}, '
        f'"last_seen": {_number(row.last_seen)}, '
        f'"first_seen": {_number(row.first_seen)}, '
        f'"last_progress": {_number(row.last_progress)}, '
        f'"progress": [{", ".join(steps)}], '
        f'"moments": [{", ".join(moments)}]}}'
    )


def _lived(moment: Moment, language: Language) -> str:
    """A moment of one rank, in whose row it stands."""
    return (
        f'{{"t": {_number(moment.t)}, '
        f'"kind": {_string(moment.kind)}, '
        f'"text": {_string(moment.text.in_(language))}, '
        f'"about": {"true" if moment.about else "false"}}}'
    )


def _number(value: float | None) -> str:
    if value is None:
        return "null"
    return repr(value) if value - value == 0 else json.dumps(value)  # a record may say Infinity


def _text(value: str | None) -> str:
    return "null" if value is None else _string(value)
