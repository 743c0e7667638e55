"""`pdtriage.mapping.mapper_of`, a public name of earlier versions; it is `pdtriage.mapper_of`."""

from __future__ import annotations

from pdtriage.reading import mapper_of

__all__ = ["mapper_of"]
