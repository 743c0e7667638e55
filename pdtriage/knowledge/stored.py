"""What parsers files say, as it is kept in the cache: checked once, and quick to take up again.

Reading TOML takes a hundred times as long, and checking its tables longer than all else there is
to do before the first log is opened. `marshal` is what Python keeps its own compiled modules in.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pdtriage.knowledge.signature import Format, Signature
from pdtriage.model import Text
from pdtriage.support.fast_namedtuple import NamedTuple

FORM = f"{sys.implementation.cache_tag} {Signature._fields} {Format._fields}".encode()
"""What was stored by another Python, or with other fields, is not to be read."""
_SENTENCES = [Signature._fields.index(name) for name in ("title", "meaning", "confirm")]
_ADVICE = Signature._fields.index("advice")


class Contents(NamedTuple):
    """All that one file says."""

    signatures: tuple[Signature, ...]
    formats: Mapping[str, tuple[Format, ...]]
    """By the name of their table."""


def packed(files: Sequence[Contents]) -> bytes:
    return marshal.dumps(
        [
            (
                _plain(said.signatures),
                {table: _plain(said.formats[table]) for table in said.formats},
            )
            for said in files
        ]
    )


def unpacked(stored: bytes) -> list[Contents]:
    return [
        Contents(
            tuple([_signature(list(fields)) for fields in signatures]),
            {table: tuple(map(Format._make, found)) for table, found in formats.items()},
        )
        for signatures, formats in marshal.loads(stored)
    ]


def _plain(value: Any) -> Any:
    """Tuples without names: no others are stored."""
    return tuple([_plain(item) for item in value]) if isinstance(value, tuple) else value


def _signature(fields: list[Any]) -> Signature:
    for place in _SENTENCES:
        if fields[place] is not None:
            fields[place] = Text(*fields[place])
    fields[_ADVICE] = tuple([Text(*advice) for advice in fields[_ADVICE]])
    return Signature._make(fields)
