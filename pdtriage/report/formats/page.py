"""A page of plain text that grows line by line, as wide as the terminal and no wider."""

from __future__ import annotations

from pdtriage.model import Language, Text
from pdtriage.report.interface import Options
from pdtriage.report.sanitise import inert, inert_line, without_commands
from pdtriage.support.text_width import columns, padded, wrapped

NARROWEST, WIDEST = 40, 120
BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"


class Page:
    """Collects lines. All text passes `inert` here: nothing in a log can steer the terminal."""

    def __init__(self, language: Language, options: Options) -> None:
        self.language = language
        self.width = min(max(options.width, NARROWEST), WIDEST)
        self._color = options.color
        self.analyze = f"pdtriage analyze {options.asked}".rstrip()
        """The command to see more of the same logs."""
        self._lines: list[str] = []

    def say(self, text: Text) -> str:
        return text.in_(self.language)

    def line(self, text: str = "", style: str = "") -> None:
        for part in inert(text).split("\n"):
            self._lines.append(self._styled(part.rstrip(), style))

    def wrapped(self, text: str, style: str = "", indent: int = 0, first: str = "") -> None:
        """A paragraph; `first` stands before its first line, inside the indentation."""
        lead = padded(first, indent)
        for row in wrapped(inert_line(text), self.width - indent):
            self.line(lead + row, style)
            lead = " " * indent

    def labelled(
        self, label: str, label_width: int, text: str, most: int | None = None, mark: str = ""
    ) -> None:
        """`  label  text`, the text in a column of its own; `mark` hangs before it."""
        lead = "  " + padded(label, label_width) + "  "
        indent = columns(lead) + len(mark)
        for row in wrapped(inert_line(text), self.width - indent, most):
            self._lines.append(self._styled(lead, DIM) + mark + row)
            lead, mark = " " * indent, ""

    def text(self) -> str:
        return without_commands("".join(line + "\n" for line in self._lines))

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self._color and style and text.strip() else text
