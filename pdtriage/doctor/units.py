"""Sizes as people read them."""

from __future__ import annotations

MIB = 1 << 20
GIB = 1 << 30


def size(count: int) -> str:
    """'64 MiB', '1.5 GiB'."""
    if count >= GIB:
        return f"{count / GIB:.1f} GiB".replace(".0 ", " ")
    return f"{count / MIB:.0f} MiB" if count >= MIB else f"{count} B"
