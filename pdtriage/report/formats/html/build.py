"""Small pieces of HTML: everything that is not `Html` already is escaped on its way in."""

from __future__ import annotations

from html import escape

from pdtriage.model import Text
from pdtriage.report.sanitise import inert_line

VOID = frozenset({"meta", "input", "br", "hr", "link"})
DRAWN = frozenset({"rect", "path"})
"""Of SVG, where an element without content ends itself."""


class Html(str):
    """Markup made here, not text of a log."""

    __slots__ = ()


Child = str | Html | Text | None


def shown(child: Child) -> Html:
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
    content = join(*children)
    if name in DRAWN and not content:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{content}</{name}>")


def join(*children: Child) -> Html:
    return Html("".join(shown(child) for child in children))


def both(text: Text) -> Html:
    """Both languages; the style sheet shows the one that was chosen."""
    if text.en == text.zh:
        return shown(text.en)
    english = tag("span", text.en, class_="en", lang="en")
    return join(english, tag("span", text.zh, class_="zh", lang="zh-CN"))


def _attribute(key: str, value: str | int | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("__", ":").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{escape(inert_line(str(value)), quote=True)}"'
