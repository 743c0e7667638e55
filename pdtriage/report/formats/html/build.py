"""Small pieces of HTML: everything that is not `Html` already is escaped on its way in."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from html import escape

from pdtriage.model import Cause, Report, Role, Text, Victim
from pdtriage.report.sanitise import inert_line
from pdtriage.report.words import (
    culprit,
    headline,
    numbers,
    process_phrase,
    role_word,
    victims_line,
)

VOID = frozenset({"meta", "input", "br", "hr", "link"})
DRAWN = frozenset({"rect", "path"})
"""Of SVG, where an element without content ends itself."""
_CODE = re.compile(r"`([^`\n]+)`")


class Html(str):
    """Markup made here, not text of a log."""

    __slots__ = ()


Child = str | Html | Text | None


def to_html(child: Child) -> Html:
    """Text without anything in it that a browser or a reader could be steered by."""
    if child is None:
        return Html("")
    if isinstance(child, Html):
        return child
    if isinstance(child, Text):
        return both(child)
    return Html(escape(inert_line(child), quote=True))


def tag(name: str, /, *children: Child, **attributes: str | int | bool | None) -> Html:
    """`tag("p", "a < b", class_="note")`; an attribute that is None or False is left out."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Html(f"<{name}{written}>")
    content = join_html(*children)
    if name in DRAWN and not content:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{content}</{name}>")


def join_html(*children: Child) -> Html:
    return Html("".join(to_html(child) for child in children))


def both(text: Text) -> Html:
    """Text in both languages; the style sheet shows the one that was chosen."""
    if text.en == text.zh:
        return to_html(text.en)
    english = tag("span", text.en, class_="en", lang="en")
    return join_html(english, tag("span", text.zh, class_="zh", lang="zh-CN"))


def hash_of(content: str) -> str:
    """The hash of a style sheet or script by which a Content-Security-Policy allows it."""
    return "sha256-" + b64encode(sha256(content.encode()).digest()).decode()


def _attribute(key: str, value: str | int | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("__", ":").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{escape(inert_line(str(value)), quote=True)}"'


def prose_html(text: Text) -> Html:
    if text.en == text.zh:
        return _sentence(text.en)
    english = tag("span", _sentence(text.en), class_="en", lang="en")
    return join_html(english, tag("span", _sentence(text.zh), class_="zh", lang="zh-CN"))


def _sentence(text: str) -> Html:
    parts = _CODE.split(inert_line(text))
    pieces: list[Child] = [tag("code", p) if odd % 2 else p for odd, p in enumerate(parts)]
    return join_html(*pieces)


def headline_of(report: Report) -> Text:
    return _both(report, headline)


def culprit_of(cause: Cause, report: Report) -> Text:
    return _both(report, lambda spoken: culprit(cause, spoken))


def victims_label(victims: tuple[Victim, ...]) -> Text:
    return Text(victims_line(victims, "en"), victims_line(victims, "zh"))


def process_label(role: Role, rank: int | None, local: int | None, host: str | None) -> Text:
    return Text(
        process_phrase(role, rank, local, host, "en"),
        process_phrase(role, rank, local, host, "zh"),
    )


def group_of(role: Role, ranks: tuple[int, ...], count: int) -> Text:
    """`ranks 0, 2-7`, or how many where none has a number."""
    many = count > 1
    known = numbers(ranks)
    said = known or f"({count})"
    return Text(
        f"{role_word(role, 'en', many)} {said}",
        f"{role_word(role, 'zh', many)} {said}",
    )


def _both(report: Report, say: Callable[[Report], str]) -> Text:
    return Text(say(report._replace(language="en")), say(report._replace(language="zh")))
