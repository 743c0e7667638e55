"""How the command line speaks: language of its help, and what it says when it refuses."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pdtriage.support.errors import UserError
from pdtriage.support.language import Language, Text, language_of


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


@contextmanager
def refusals_said() -> Iterator[None]:
    """A refusal leaves the command with its sentence and its code."""
    try:
        yield
    except UserError as refusal:
        print(f"pdtriage: {refusal.text.in_(LANGUAGE)}", file=sys.stderr)
        sys.exit(refusal.exit_code)
