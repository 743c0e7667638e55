"""One number for one failure: equal across ranks, hosts, pids, checkouts and reruns."""

from __future__ import annotations

import hashlib
import posixpath
import re
from functools import lru_cache

from pdtriage.model import Frame
from pdtriage.support.lazy_regex import lazy_compile

VERSION = "1"

_PATH = lazy_compile(r"(?:[A-Za-z]:)?(?:[/\\][\w.@+-]+)+[/\\]?")
_HEX = lazy_compile(r"\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{12,}\b")
_ADDRESS = lazy_compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b")
_NUMBER = lazy_compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE)
_STAMP = lazy_compile(
    r"^[\[\s]*(?:[IWEF]\d{4}|\d{4}[-/]\d\d[-/]\d\d|\d\d/\d\d)[^\]]*?\d\d:\d\d:\d\d[\d.,]*\S*\s*"
)
_ZEROS = str.maketrans("123456789", "0" * 9)


def shape(text: str) -> str:
    """The words of a message without what changes from run to run.

    Thousands may say the same but for their digits, none of which is left in the end; they only
    must not begin a number like `0x1f` where none was.
    """
    alike = text.translate(_ZEROS)
    return _shape(text if "0x" in alike else alike)


@lru_cache(maxsize=4096)
def _shape(text: str) -> str:
    text = _STAMP.sub("", text)
    text = _ADDRESS.sub("<addr>", text)
    text = _PATH.sub(lambda m: posixpath.basename(m[0].rstrip("/\\").replace("\\", "/")), text)
    return _NUMBER.sub("<n>", _HEX.sub("<hex>", text)).strip()


def fingerprint(signature: str, category: str, text: str, frame: Frame | None) -> str:
    place = ""
    if frame:
        place = f"{posixpath.basename(frame.file.replace(chr(92), '/'))}:{frame.function}"
    material = "\n".join([VERSION, category, signature, shape(text), place])
    return f"{VERSION}:{hashlib.sha256(material.encode()).hexdigest()[:16]}"
