"""Which run an event belongs to, and which rank, role, host and device wrote it."""

from pdtriage.runs.assemble import assemble

__all__ = ["assemble"]
