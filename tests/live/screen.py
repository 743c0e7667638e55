"""A terminal of 80 columns, as much of one as the board needs."""

from __future__ import annotations

import re

_SEQUENCE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")


class Screen:
    """Takes what a program writes; `lines` is what a person then sees, scrolled back included."""

    def __init__(self, width: int = 80) -> None:
        self.width = width
        self.lines: list[str] = [""]
        self.row = 0
        self.column = 0
        self.unknown: list[str] = []
        """Sequences nobody asked for."""

    def feed(self, text: str) -> Screen:
        at = 0
        while at < len(text):
            found = _SEQUENCE.match(text, at)
            if found:
                self._obey(found[1], found[2])
                at = found.end()
                continue
            self._put(text[at])
            at += 1
        return self

    def _obey(self, numbers: str, letter: str) -> None:
        if letter == "K" and numbers == "2":
            self.lines[self.row] = ""
        elif letter == "A" and numbers == "":
            self.row = max(0, self.row - 1)
        elif letter != "m":
            self.unknown.append(f"{numbers}{letter}")

    def _put(self, character: str) -> None:
        if character == "\n":
            self._down()
        elif character == "\r":
            self.column = 0
        elif not character.isprintable():
            self.unknown.append(repr(character))
        else:
            if self.column == self.width:
                self._down()
                self.column = 0
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + character + line[self.column + 1 :]
            self.column += 1

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")
