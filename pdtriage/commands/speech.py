"""How the command line speaks: language of its help, and what it says when it refuses."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pdtriage.support import exit_codes
from pdtriage.support.bilingual import Language, Text
from pdtriage.support.language import language_of

if TYPE_CHECKING:
    # The pipeline is loaded only by the verbs that analyse.
    from pdtriage.analysis.pipeline import NothingToAnalyse


def _asked(words: Sequence[str]) -> Language | None:
    """What `--lang` says, before anybody has parsed it: help and refusals come before that."""
    for word, following in zip(words, [*words[1:], ""], strict=False):
        name, equals, value = word.partition("=")
        if name == "--lang":
            value = value if equals else following
            return "zh" if value == "zh" else "en" if value == "en" else None
    return None


LANGUAGE: Language = _asked(sys.argv[1:]) or language_of()
"""Of help and refusals."""


def said(en: str, zh: str) -> str:
    """A sentence in the language of the user's locale."""
    return Text(en, zh).in_(LANGUAGE)


class RefusalError(Exception):
    """What was asked for cannot be done: one clear sentence, and the code to exit with."""

    def __init__(self, sentence: str, exit_code: int) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


@contextmanager
def refusals_said() -> Iterator[None]:
    """A refusal leaves the command with its sentence and its code."""
    try:
        yield
    except RefusalError as refusal:
        print(f"pdtriage: {refusal}", file=sys.stderr)
        sys.exit(refusal.exit_code)


def nothing_found(nothing: NothingToAnalyse, language: Language) -> RefusalError:
    """Says what was looked for, and below it what was there and could not be used."""
    lines = [nothing.message.in_(language), *(note.in_(language) for note in nothing.notes)]
    return RefusalError("\n  ".join(lines), exit_codes.NOTHING)
