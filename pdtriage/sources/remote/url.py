"""URLs among the paths: what they are called in public, and what can go wrong behind them."""

from __future__ import annotations

import re
from hashlib import sha256
from urllib.parse import unquote, urlsplit, urlunsplit

from pdtriage.sources.notes import Reason

CHAIN = "::"
"""Joins URLs for fsspec, `zip://log::s3://…`. Such a one is refused, and never shown."""
_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*::)*(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://")


class RemoteError(OSError):
    """The bytes behind a URL did not come.

    No text of a backend is in it: that may hold credentials.
    """

    def __init__(self, reason: Reason, told: str = "") -> None:
        super().__init__(told or reason)
        self.reason = reason


def is_url(path: str) -> bool:
    return _SCHEME.match(path) is not None


def scheme_of(url: str) -> str:
    match = _SCHEME.match(url)
    return match["scheme"].lower() if match else ""


def public_url(path: str) -> str:
    """A path as it may be shown: a URL without user, password, query and fragment."""
    if not is_url(path):
        return path
    if CHAIN in path:
        return f"{scheme_of(path)}://***"
    try:
        parts = urlsplit(path)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:  # brackets that are no address
        return f"{scheme_of(path)}://***"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def with_query_digest(shown: str, url: str) -> str:
    """What is shown of a URL, with a digest of the query: that may choose the file."""
    _, mark, query = url.partition("?")
    digest = sha256(query.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{shown} {digest}" if mark else shown


def local_path(url: str) -> str | None:
    """The path that a `file://` URL of this machine stands for."""
    if scheme_of(url) not in ("file", "local"):
        return None
    host, slash, path = url.split("://", 1)[1].partition("/")
    if host not in ("", "localhost"):
        return host + slash + path  # `file://log` is what people write for `log`
    import os

    return slash + path if os.path.lexists(slash + path) else unquote(slash + path)
