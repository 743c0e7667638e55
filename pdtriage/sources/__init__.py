"""Finds the log files of a job and opens them, wherever they lie.

    found = find(["log/", "node1.tar.gz", "-"], stdin=sys.stdin.buffer)
    for source in found.sources:
        for piece in source.chunks():
            ...

A folder, an archive and a pipe all end as the same thing, a `Source`: a `LogFile` and a way to its
bytes, unpacked. Every way of packing is one module here; `search.py` brings them together.
"""

from pdtriage.sources.find.search import find
from pdtriage.sources.limits import LIMITS, Limits
from pdtriage.sources.source import SearchResult, Source

__all__ = ["LIMITS", "Limits", "SearchResult", "Source", "find"]
