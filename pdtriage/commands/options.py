"""How an option is declared, and the options that several verbs share.

Importing typer, and with it pydantic, takes longer than a small analysis. So the verb that is
typed most declares its options without it: `quick.py` reads plain command lines by these
declarations, and `typed.py` tells typer the same ones where more is needed.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

from pdtriage.commands.speech import said
from pdtriage.support.language import Language


class Option:
    """An option with a name; a `list` may be given several times, a `bool` takes no value."""

    def __init__(self, *names: str, help: str, metavar: str | None = None) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar


class Argument(Option):
    """All the words without a name."""


class Lang(str, Enum):
    en = "en"
    zh = "zh"

    @property
    def language(self) -> Language:
        return "zh" if self is Lang.zh else "en"


LanguageOption = Annotated[
    Lang | None,
    Option(
        "--lang",
        help=said("Language to answer in. Default: the locale's.", "输出语言。默认取自 locale。"),
    ),
]
Parsers = Annotated[
    list[Path] | None,
    Option(
        "--parsers",
        metavar="DIR",
        help=said(
            "Further signatures: a folder of *.toml. May be repeated.",
            "额外的特征：存放 *.toml 的文件夹。可多次给出。",
        ),
    ),
]
