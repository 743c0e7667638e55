"""Why a launch is refused: one sentence, and what to do about it."""

from __future__ import annotations

from pdtriage.bilingual import Language, Text


class RefusedError(Exception):
    """Nothing was started; exit code 2."""

    def __init__(self, sentence: Text, remedy: Text) -> None:
        super().__init__(sentence.en)
        self.sentence = sentence
        self.remedy = remedy

    def message(self, language: Language = "en") -> str:
        return f"{self.sentence.in_(language)} {self.remedy.in_(language)}"
