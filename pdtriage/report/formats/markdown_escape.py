"""Text of strangers in Markdown: no link, no picture, no mention, no HTML comes of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdtriage.report.sanitise import inert, inert_line
from pdtriage.support.text_width import cut

_CODE = re.compile(r"`([^`\n]+)`")
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&$])")
_LEADING = re.compile(r"^(\s*)([-+=]|\d+[.)](?=\s|$))")
# GitHub and GitLab turn these into links and mentions after Markdown is done, escaped or not
_REFERENCE = re.compile(r"@\w|://|\bwww\.|[#!~%&]\d|\bGH-\d|\bmailto:", re.I)
_TICKS = re.compile(r"`+")
MOST_COLUMNS = 2000


def prose(text: str) -> str:
    """A sentence on one line. What stands between backticks stays code; the rest is plain text."""
    parts = _CODE.split(cut(inert_line(text), MOST_COLUMNS))
    said = "".join(code(part) if odd % 2 else _plain(part) for odd, part in enumerate(parts))
    return _LEADING.sub(lambda found: f"{found[1]}{found[2][:-1]}\\{found[2][-1]}", said)


def code(text: str) -> str:
    """A code span: nothing inside it is read as Markdown."""
    shown = inert_line(text)
    if not shown.strip():
        return ""
    fence = "`" * (_longest_run(shown) + 1)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def cell(markdown: str) -> str:
    """The same inside a table, where a bar would end the cell even in code."""
    return re.sub(r"(?<!\\)((?:\\\\)*)\|", r"\1\\|", markdown)


def block(lines: Sequence[str]) -> str:
    """Lines as they are, between fences longer than any in them."""
    shown = [inert(line).replace("\n", " ") for line in lines]
    fence = "`" * max(3, _longest_run("\n".join(shown)) + 1)
    return "\n".join([f"{fence}text", *shown, fence])


def _plain(text: str) -> str:
    words = re.split(r"(\s+)", text)
    return "".join(code(w) if _REFERENCE.search(w) else _SPECIAL.sub(r"\\\1", w) for w in words)


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
