"""One log, there twice: `gzip -k` leaves the packed file beside the unpacked one."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.sources.byte_stream import Unpacked
from pdtriage.sources.find.candidate import Candidate
from pdtriage.sources.find.recognise import Named
from pdtriage.sources.limits import HEAD, Limits


def packed_copies(pieces: Sequence[tuple[Candidate, Named]], limits: Limits) -> set[Candidate]:
    """Those of the pieces of one log that only repeat, packed, what another says unpacked.

    Equal names prove nothing: `workerlog.0.gz` may as well be what was saved before the last run.
    """
    copies: set[Candidate] = set()
    for packed, told in pieces:
        if not told.packed:
            continue
        for other, other_told in pieces:
            if other_told.packed or other_told.piece != told.piece:
                continue
            if _same_beginning(packed, other, limits):
                copies.add(packed)
    return copies


def _same_beginning(packed: Candidate, other: Candidate, limits: Limits) -> bool:
    there = Unpacked(packed.origin, packed.layers, limits).head(HEAD)
    here = Unpacked(other.origin, other.layers, limits).head(HEAD)
    return bool(there) and here.startswith(there)  # the unpacked file may have grown since
