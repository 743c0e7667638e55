"""A file that was seen and may be a log."""

from __future__ import annotations

from pdtriage.sources.byte_stream import Layer, Origin
from pdtriage.sources.display_path import joined
from pdtriage.support.fast_namedtuple import NamedTuple


class Candidate(NamedTuple):
    """What was seen, and how to open it."""

    name: str
    """Its own name, printable."""
    folder: str
    """The folder it lies in, as shown to people; "" for the current one."""
    origin: Origin
    layers: tuple[Layer, ...] = ()
    size: int | None = None
    modified: float | None = None
    real: str | None = None
    """The resolved path on disk: a file reached in two ways is one file."""
    asked: bool = False
    """Named by the user, not found in a folder or an archive."""
    inside: int = 0
    """How many archives it lies in."""

    @property
    def path(self) -> str:
        return joined(self.folder, self.name)
