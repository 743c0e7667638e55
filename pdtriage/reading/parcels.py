"""The facts of many files as one parcel: how they come from the process that read the files.

They travel by `marshal`, which takes plain values only, but in half the time of `pickle`, and is
there without an import. So they are sent by columns: what is plain goes as it is, steps and stamps,
which are most of the facts, as the numbers in them, and only what few files have is pickled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any

from pdtriage.model import Echo, FileFacts, Progress, Stamp
from pdtriage.support.fast_namedtuple import maker

if TYPE_CHECKING:
    from pdtriage.reading.local import Read
    from pdtriage.sources import Source

Parcel = tuple[Any, ...]
"""What `marshal` takes."""

_COLUMNS = FileFacts._fields[1:]
"""Without the file itself: whoever asked for its facts has it."""
_PLAIN = frozenset({"endpoints", "lines", "bytes", "tail", "last_line", "last_offset"})
_OF_NUMBERS = {"progress": Progress, "stamps": Stamp, "echoes": Echo}


def packed(reads: Iterable[Read]) -> Parcel:
    """The columns of the facts, and what was noted while each file was read."""
    facts, notes = zip(*reads, strict=True)
    columns = list(zip(*facts, strict=True))[1:]
    return (*map(_sent, _COLUMNS, columns), _sent("notes", notes))


def unpacked(parcel: Parcel, sources: Sequence[Source]) -> Iterator[Read]:
    """The same again, of files in the same order."""
    *columns, notes = map(_received, (*_COLUMNS, "notes"), parcel)
    files = [source.file for source in sources]
    facts = map(maker(FileFacts), zip(files, *columns, strict=False))
    return zip(facts, notes, strict=False)


def _sent(name: str, column: Sequence[Any]) -> Any:
    """None where no file has any."""
    if name in _PLAIN:
        return column
    if not any(column):
        return None
    if name in _OF_NUMBERS:
        return tuple(map(len, column)), tuple(chain.from_iterable(chain.from_iterable(column)))
    import pickle

    return pickle.dumps(column, pickle.HIGHEST_PROTOCOL)


def _received(name: str, sent: Any) -> Iterable[Any]:
    if name in _PLAIN:
        return sent  # type: ignore[no-any-return]
    if sent is None:
        return repeat(())
    if name in _OF_NUMBERS:
        return _regrouped(_OF_NUMBERS[name], *sent)
    import pickle

    return pickle.loads(sent)  # type: ignore[no-any-return]


def _regrouped(noun: Any, lengths: Sequence[int], numbers: Sequence[Any]) -> Iterator[Any]:
    """As many of the nouns for each file as it has."""
    fields = zip(*[iter(numbers)] * len(noun._fields), strict=True)
    nouns = map(maker(noun), fields)
    return (tuple(islice(nouns, length)) for length in lengths)
