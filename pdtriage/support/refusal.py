"""Why a launch is refused: one sentence, and what to do about it."""

from __future__ import annotations

from pdtriage.support.bilingual import Language, Text


class RefusedError(Exception):
    """Nothing was started; exit code 2."""

    def __init__(self, sentence: Text, remedy: Text) -> None:
        super().__init__(sentence.en)
        self.sentence = sentence
        self.remedy = remedy

    def message(self, language: Language = "en") -> str:
        return self.text().in_(language)

    def text(self) -> Text:
        return Text(
            f"{self.sentence.en} {self.remedy.en}",
            f"{self.sentence.zh}{self.remedy.zh}",
        )
