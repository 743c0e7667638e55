"""Sentences in both languages of the tool. Apart from the model, because even start-up needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Text:
    """A sentence for people."""

    en: str
    zh: str

    def in_(self, language: Language) -> str:
        return self.zh if language == "zh" else self.en
