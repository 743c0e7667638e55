"""Text of strangers made inert: it steers neither a terminal nor the CI system that reads along."""

from __future__ import annotations

import re

from pdtriage.support.lazy_regex import lazy_compile

_SEQUENCES = lazy_compile(
    r"""
    (?:\x1b\[|\x9b) [0-?]* [ -/]* [@-~]                            # CSI: colours, cursor, erase
    | (?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])                         # OSC, DCS, SOS, PM, APC with
      [^\x07\x1b\x90\x98\x9c-\x9f\n]* (?:\x07|\x1b\\|\x9c)         # all they hold, if they end
    | \x1b [ -/]* [0-~]                                            # two-character escapes
    """,
    re.VERBOSE,
)
_BREAKS = lazy_compile(r"\r\n|[\n\x0b\x0c\x85\u2028\u2029]")
_CONTROLS = lazy_compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f"  # C0 and C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional marks reorder what is read
    "\u200b-\u200d\u2060\ufeff\U000e0000-\U000e007f"  # invisible
    "\ud800-\udfff"  # lone surrogates cannot be written
    "\ufdd0-\ufdef\ufffe\uffff]"  # no characters at all, and forbidden in XML
)
_TAB = " " * 4
# Runners of GitHub, Azure and TeamCity obey `##[...]`, `##vso[...]` and `##teamcity[...]` anywhere
# in a line, and `::command::` at its beginning.
_HASH_COMMAND = lazy_compile(r"##(?=\w{0,20}\[)")
_COLON_COMMAND = lazy_compile(r"^(\s*:)(?=:)", re.M)


def inert(text: str) -> str:
    """`text` without control sequences, control characters and marks that reorder it.

    Line breaks stay, as `\\n`. A carriage return separates what a progress bar drew over.
    """
    text = _SEQUENCES.sub("", text)
    text = _BREAKS.sub("\n", text)
    text = text.replace("\r", " ").replace("\t", _TAB)
    return _HASH_COMMAND.sub("# #", _CONTROLS.sub("", text))


def inert_line(text: str) -> str:
    """Text of strangers made inert, as one line."""
    return " ".join(part for part in inert(text).split("\n") if part)


def inert_json(text: str) -> str:
    """JSON text whose control characters are escaped, so that it may go to a terminal as it is.

    In any JSON those below the space are.
    """
    if not text.isascii() or "\x7f" in text:
        text = _CONTROLS.sub(_escape, text)
    if "#" in text and "##" in text:  # a single character is looked for fifty times as fast
        text = _HASH_COMMAND.sub(r"#\\u0023", text)
    return text


def without_commands(text: str) -> str:
    """Lines of which none begins like a command to GitHub's runner."""
    return _COLON_COMMAND.sub(r"\1 ", text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"
