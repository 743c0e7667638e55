"""Bytes of strangers made fit for a terminal, piece by piece as they come.

Colours and carriage returns stay: progress bars need them and they harm nobody. Everything that
moves the cursor elsewhere, sets titles, asks questions or hides text goes.
"""

from __future__ import annotations

import codecs
import re

from pdtriage.report.sanitise import inert

LONGEST_SEQUENCE = 64
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_TAB = 4


class Cleaner:
    """One log's bytes to text that cannot steer the terminal; nothing cut in two gets through."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, raw: bytes) -> str:
        text = self._held + self._decoder.decode(raw)
        cut = text.rfind("\x1b", max(0, len(text) - LONGEST_SEQUENCE))
        if cut >= 0 and not _is_whole(text[cut:]):
            text, self._held = text[:cut], text[cut:]
        else:
            self._held = ""
        return cleaned(text)


def cleaned(text: str) -> str:
    """`text` with its colours, line breaks and carriage returns, and without other controls."""
    if text.isprintable():
        return text
    parts: list[str] = []
    at = 0
    for colour in _COLOUR.finditer(text):
        parts += [_plain(text[at : colour.start()]), colour.group()]
        at = colour.end()
    parts.append(_plain(text[at:]))
    return "".join(parts)


def uncoloured(text: str) -> str:
    return _COLOUR.sub("", text)


def _plain(text: str) -> str:
    # `inert` makes of a carriage return a blank, so the pieces between them are cleaned alone.
    lines = text.replace("\r\n", "\n").split("\r")
    return "\r".join(inert(line) for line in lines)


def _is_whole(sequence: str) -> bool:
    """Whether an escape sequence that begins here has come to its end."""
    if len(sequence) >= LONGEST_SEQUENCE:
        return True
    if len(sequence) < 2:
        return False
    if sequence[1] == "[":
        return bool(re.match(r"\x1b\[[0-?]*[ -/]*[@-~]", sequence))
    if sequence[1] in "]PX^_":
        return "\x07" in sequence or "\x1b\\" in sequence
    return True


class Lines:
    """A log's bytes to whole lines, for several logs on one screen.

    Of a progress bar only what stands there in the end is a line.
    """

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, raw: bytes) -> list[bytes]:
        *whole, self._rest = (self._rest + raw).split(b"\n")
        if len(self._rest) > 1 << 16:
            whole.append(self._rest)
            self._rest = b""
        return [_last_drawn(line) for line in whole]

    def flush(self) -> list[bytes]:
        """The unfinished line, when nothing more will come."""
        rest, self._rest = self._rest, b""
        return [_last_drawn(rest)] if rest.strip() else []


def _last_drawn(line: bytes) -> bytes:
    line = line.rstrip(b"\r")
    return line[line.rfind(b"\r") + 1 :]
