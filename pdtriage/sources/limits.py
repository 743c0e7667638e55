"""How much a stranger's folder or archive may make us do."""

from __future__ import annotations

from pdtriage.support.fast_namedtuple import NamedTuple


class Limits(NamedTuple):
    """How much is opened, unpacked and held."""

    depth: int = 12
    """Folders below the one that was named."""
    entries: int = 200_000
    """Files and folders looked at below one path, or members of one archive."""
    expanded: int = 256 << 20
    """Bytes that packed content may always expand to; above that `ratio` holds."""
    ratio: int = 250
    """Log text repeats itself and packs well, but not like a bomb: bytes out for each byte in."""
    most: int = 64 << 30
    """Bytes that packed content may expand to in any case."""
    held: int = 512 << 20
    """Bytes of packed members held in memory, for archives that can only be read front to back."""
    in_memory: int = 256 << 20
    """The largest zip that is read into memory because it comes from a pipe or another archive."""
    unasked_archive: int = 512 << 20
    """A compressed tar in a folder must be unpacked to be looked at; above this size, only if
    named."""

    def allows(self, taken: int, given: int) -> bool:
        """Whether `taken` packed bytes may have become `given` bytes."""
        return given <= self.most_of(taken)

    def most_of(self, taken: int) -> int:
        """Bytes that `taken` packed bytes may become."""
        return max(self.expanded, min(taken * self.ratio, self.most))


class Room:
    """Memory left for content that is held, over all archives of one search."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


LIMITS = Limits()
HEAD = 64 << 10
"""A file is recognised by this much of its beginning."""
FURTHER = 1 << 20
"""Of a packed text that begins with nothing known, this much is looked through."""
