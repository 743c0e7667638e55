"""Which run an event belongs to, and which rank, role, host and device wrote it."""

from pdtriage.jobs.assemble import assemble

__all__ = ["assemble"]
