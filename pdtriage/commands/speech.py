"""How the command line speaks: language of its help, and what it says when it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdtriage import exit_codes
from pdtriage.bilingual import Language, Text
from pdtriage.language import language_of

if TYPE_CHECKING:
    # The pipeline is loaded only by the verbs that analyse.
    from pdtriage.pipeline import NothingToAnalyse

LANGUAGE: Language = language_of()


def said(en: str, zh: str) -> str:
    """A sentence in the language of the user's locale."""
    return Text(en, zh).in_(LANGUAGE)


class RefusalError(Exception):
    """What was asked for cannot be done: one clear sentence, and the code to exit with."""

    def __init__(self, sentence: str, exit_code: int) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


def nothing_found(nothing: NothingToAnalyse, language: Language) -> RefusalError:
    """Says what was looked for, and below it what was there and could not be used."""
    lines = [nothing.message.in_(language), *(note.in_(language) for note in nothing.notes)]
    return RefusalError("\n  ".join(lines), exit_codes.NOTHING)
