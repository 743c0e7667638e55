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
    archives: int = 4 << 30
    """Bytes that all archives of one search, and what is packed in them, may together expand to
    beyond `ratio` of what they take on disk."""
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

    def shared(self, left: int, number: int, packed: int) -> Limits:
        """For each of `number` contents of `packed` bytes in all, which may become `left` bytes."""
        return self._replace(
            expanded=min(self.expanded, left // max(1, number)),
            ratio=min(self.ratio, left // max(1, packed)),
        )


class Room:
    """What is left for the archives of one search, however many there are, and in one another."""

    __slots__ = ("left", "unpacked")

    def __init__(self, limits: Limits) -> None:
        self.left = limits.held
        """Memory for content that is held."""
        self.unpacked = limits.archives
        """Bytes that may still come out of them."""

    def admit(self, taken: int, limits: Limits) -> None:
        """Make room for what an archive of `taken` bytes on disk may well hold."""
        self.unpacked += min(taken * limits.ratio, limits.most)

    def take(self, wanted: int, most: int) -> int:
        """As much of `wanted` as there is room for, and at most `most`."""
        given = max(0, min(wanted, most, self.unpacked))
        self.unpacked -= given
        return given


LIMITS = Limits()
HEAD = 64 << 10
"""A file is recognised by this much of its beginning."""
FURTHER = 1 << 20
"""Of a packed text that begins with nothing known, this much is looked through."""
