"""Sentences in both languages of the tool, apart from the model: start-up needs them too."""

from __future__ import annotations

from typing import Literal

from pdtriage.support.fast_namedtuple import NamedTuple

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")


class Text(NamedTuple):
    """A sentence for people."""

    en: str
    zh: str

    def in_(self, language: Language) -> str:
        return self.zh if language == "zh" else self.en
