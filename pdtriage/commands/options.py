"""How an option of a verb is declared, and how a plain command line is read by it.

Importing typer, and with it pydantic, takes longer than a small analysis. So verbs declare their
options without it: `app.py` tells typer what is declared here, and a plain `pdtriage analyze` is
read by `plain_options` directly.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Language, Text, language_of_words

LANGUAGE: Language = language_of_words(sys.argv[1:])
"""Of help and answers, where the verb is not given another one."""


class Option:
    """An option with a name; a `list` may be given several times, a `bool` takes no value."""

    def __init__(
        self,
        *names: str,
        help: Text,
        metavar: str | None = None,
        min: int | None = None,
        max: int | None = None,
        show_default: bool = True,
    ) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar
        self.min = min
        self.max = max
        self.show_default = show_default


class Argument(Option):
    """A word without a name; as a `list` all of them."""


class Lang(str, Enum):
    en = "en"
    zh = "zh"


LANG_HELP = Text("Language to answer in. Default: the locale's.", "输出语言。默认取自 locale。")
LanguageOption = Annotated[Lang | None, Option("--lang", help=LANG_HELP)]
Parsers = Annotated[
    list[Path] | None,
    Option(
        "--parsers",
        metavar="DIR",
        help=Text(
            "Further signatures: a folder of *.toml. May be repeated.",
            "额外的特征：存放 *.toml 的文件夹。可多次给出。",
        ),
    ),
]


def answer_language(lang: Lang | None) -> Language:
    if lang is None:
        return LANGUAGE
    return "zh" if lang is Lang.zh else "en"


def plain_options(verb: Callable[..., object], words: Sequence[str]) -> dict[str, Any] | None:
    """What to call `verb` with, where that leaves no doubt; None where it takes typer to tell.

    Plain are full names and values that do not look like options. Everything else (`--help`, a
    wrong name, `-qo FILE`) is typer's, which also knows how to refuse it.
    """
    every = _declared_by(verb)
    named = {name: declared for declared in every for name in declared.option.names}
    unnamed = next((one for one in every if isinstance(one.option, Argument)), None)
    given: dict[str, Any] = {}
    left = list(reversed(words))
    while left:
        word = left.pop()
        if _is_plain(word):
            declared, value = unnamed, word
        else:
            name, equals, value = word.partition("=")
            declared = named.get(name)
            if declared is not None and declared.kind is bool and not equals:
                given[declared.parameter] = True
                continue
            if equals and not name.startswith("--"):
                return None  # to typer it is part of the value
            if not equals:
                value = left.pop() if left else ""
        if declared is None or declared.kind is bool or not _is_plain(value):
            return None
        try:
            meant = declared.kind(value)
        except ValueError:  # none of the choices
            return None
        if declared.many:
            given.setdefault(declared.parameter, []).append(meant)
        else:
            given[declared.parameter] = meant
    return given


class _Declared(NamedTuple):
    """A parameter of a verb: its option, the kind of its value, whether there may be several."""

    parameter: str
    option: Option
    kind: Callable[[Any], Any]
    many: bool


def _declared_by(verb: Callable[..., object]) -> list[_Declared]:
    declared = []
    for parameter, hint in get_type_hints(verb, include_extras=True).items():
        # Python 3.10 wraps what has a default of None once more
        hint = next((one for one in get_args(hint) if get_origin(one) is Annotated), hint)
        if get_origin(hint) is Annotated:
            annotation, option = get_args(hint)
            kind = next((one for one in get_args(annotation) if one is not type(None)), annotation)
            many = get_origin(kind) is list
            declared.append(_Declared(parameter, option, get_args(kind)[0] if many else kind, many))
    return declared


def _is_plain(word: str) -> bool:
    return word == "-" or (word != "" and not word.startswith("-"))
