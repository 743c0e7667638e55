"""Facts of files as bytes, and back: between processes, and in the memory of earlier looks.

They are MessagePack, decoded by the types of the model. No pickle: a file in a cache folder must
not be able to run code, whoever wrote it, and what has not exactly the shape of the model is
refused. `msgspec` takes 15 ms to import, so small folders do not come here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_type_hints

import msgspec

from pdtriage.model import FileFacts
from pdtriage.reading.local import Read
from pdtriage.sources import Source
from pdtriage.sources.notes import Trouble
from pdtriage.support.fast_namedtuple import maker

_HINTS = get_type_hints(FileFacts)
_FACTS: Any = tuple[tuple(_HINTS[name] for name in FileFacts._fields[1:])]  # type: ignore[misc]
"""Without the file itself: whoever asks for its facts has it."""
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[tuple[_FACTS, tuple[Trouble, ...]]])
_facts_of = maker(FileFacts)


def pack_facts(reads: Iterable[Read]) -> bytes | None:
    """Facts as MessagePack; None where it has no form for them (a name not in UTF-8, say)."""
    try:
        return _encoder.encode([(facts[1:], troubles) for facts, troubles in reads])
    except (UnicodeEncodeError, OverflowError):
        return None


def unpack_facts(body: bytes, sources: Sequence[Source]) -> Iterator[Read]:
    """The facts of these files, in the same order; ValueError if the bytes are of another shape."""
    for source, (facts, troubles) in zip(sources, _decoder.decode(body), strict=True):
        yield _facts_of((source.file, *facts)), troubles
