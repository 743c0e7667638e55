"""How the command line speaks: language of its help, and what it says when it refuses."""

from __future__ import annotations

from pdtriage.bilingual import Language, Text
from pdtriage.language import language_of

LANGUAGE: Language = language_of()


def said(en: str, zh: str) -> str:
    """A sentence in the language of the user's locale."""
    return Text(en, zh).in_(LANGUAGE)


class RefusalError(Exception):
    """What was asked for cannot be done: one clear sentence, and the code to exit with."""

    def __init__(self, sentence: str, exit_code: int) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code
