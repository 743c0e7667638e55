"""Sentences in both languages of the tool, and which of the two to speak."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Literal

from pdtriage.support import streams
from pdtriage.support.fast_namedtuple import NamedTuple

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")


class Text(NamedTuple):
    """A sentence for people."""

    en: str
    zh: str

    def in_(self, language: Language) -> str:
        return self.zh if language == "zh" else self.en


def language_of(environment: Mapping[str, str] | None = None) -> Language:
    """Chinese where the locale says so and the terminal can show it, English otherwise."""
    environment = os.environ if environment is None else environment
    chosen = next((environment[name] for name in _VARIABLES if environment.get(name)), "")
    return "zh" if chosen.lower().startswith("zh") and streams.holds_chinese() else "en"


def language_of_words(words: Sequence[str]) -> Language:
    """What `--lang` says, before anybody has parsed it: help and refusals come before that.

    What stands after a script belongs to the script.
    """
    for word, following in zip(words, [*words[1:], ""], strict=False):
        name, equals, value = word.partition("=")
        if name == "--lang":
            value = value if equals else following
            return "zh" if value == "zh" else "en" if value == "en" else language_of()
        if word.endswith(".py"):
            break
    return language_of()
