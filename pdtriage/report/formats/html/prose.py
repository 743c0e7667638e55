"""Sentences with `code` between backticks, as advice has it."""

from __future__ import annotations

import re

from pdtriage.model import Text
from pdtriage.report.formats.html.build import Child, Html, join, tag
from pdtriage.report.sanitise import inert_line

_CODE = re.compile(r"`([^`\n]+)`")


def prose(text: Text) -> Html:
    if text.en == text.zh:
        return _sentence(text.en)
    english = tag("span", _sentence(text.en), class_="en", lang="en")
    return join(english, tag("span", _sentence(text.zh), class_="zh", lang="zh-CN"))


def _sentence(text: str) -> Html:
    parts = _CODE.split(inert_line(text))
    pieces: list[Child] = [tag("code", p) if odd % 2 else p for odd, p in enumerate(parts)]
    return join(*pieces)
