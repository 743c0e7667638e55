"""Options that several verbs share."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from pdtriage.bilingual import Language
from pdtriage.commands.speech import said


class Lang(str, Enum):
    en = "en"
    zh = "zh"

    @property
    def language(self) -> Language:
        return "zh" if self is Lang.zh else "en"


LanguageOption = Annotated[
    Lang | None,
    typer.Option(
        "--lang",
        help=said("Language to answer in. Default: the locale's.", "输出语言。默认取自 locale。"),
    ),
]
Parsers = Annotated[
    list[Path] | None,
    typer.Option(
        "--parsers",
        metavar="DIR",
        help=said(
            "Further signatures: a folder of *.toml. May be repeated.",
            "额外的特征：存放 *.toml 的文件夹。可多次给出。",
        ),
    ),
]
