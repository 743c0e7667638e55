"""zstd as Python 3.14 has it, and its backport for those before."""

from __future__ import annotations

from typing import Any


def zstd() -> Any:
    """The module, imported when the first archive asks for it."""
    try:
        from compression import zstd as module  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from backports import zstd as module  # type: ignore[no-redef,unused-ignore]
    return module
