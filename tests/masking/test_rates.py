"""Both rates over texts drawn by lot: secrets that come through, harmless texts that are masked.

`python -m tests.masking.test_rates [SEED]` prints them for other texts.
"""

from __future__ import annotations

import sys
import time
from random import SystemRandom

import pytest

from pdtriage.masking.redact import masked_text
from tests.masking.grammar import SECRET_KINDS, Text, planted_texts
from tests.masking.harmless import HARMLESS_KINDS, TEXTS, harmless_texts

SEED = 20261118
EACH = 12
PLANTED = planted_texts(SEED, EACH * len(SECRET_KINDS))
HARMLESS = harmless_texts(SEED, 60 * len(HARMLESS_KINDS))


def test_there_are_enough_of_them() -> None:
    assert len(SECRET_KINDS) >= 44
    assert len({text.text for text in PLANTED}) >= 400
    assert len({text.text for text in HARMLESS}) >= 400


@pytest.mark.parametrize("kind", SECRET_KINDS)
def test_no_planted_secret_comes_through(kind: str) -> None:
    assert [text for text in PLANTED if text.kind == kind and _comes_through(text)] == []


@pytest.mark.parametrize("kind", HARMLESS_KINDS)
def test_no_harmless_text_is_masked(kind: str) -> None:
    masked = [masked_text(text.text)[0] for text in HARMLESS if text.kind == kind]
    assert masked == [text.text for text in HARMLESS if text.kind == kind]


def test_masking_twice_changes_nothing() -> None:
    for text in PLANTED:
        once, _ = masked_text(text.text)
        assert masked_text(once) == (once, 0)


def test_the_number_of_lines_stays() -> None:
    for text in PLANTED:
        assert masked_text(text.text)[0].count("\n") == text.text.count("\n")


def test_every_harmless_template_is_left_alone_beside_a_secret() -> None:
    """What is masked in one line says nothing of the next."""
    secret = PLANTED[0]
    for text in HARMLESS[:200]:
        masked, _ = masked_text(f"{text.text}\n\n{secret.text}")
        assert masked.startswith(text.text + "\n\n")
        assert secret.secret not in masked


def _comes_through(text: Text) -> bool:
    masked, count = masked_text(text.text)
    return text.secret in masked or count == 0


def planted_out(seed: int, number: int) -> list[Text]:
    return [text for text in planted_texts(seed, number) if _comes_through(text)]


def harmless_masked(seed: int, number: int) -> list[Text]:
    return [text for text in harmless_texts(seed, number) if masked_text(text.text)[1]]


def _rates(seed: int, number: int = 2000) -> str:
    began = time.process_time()
    out, masked = planted_out(seed, number), harmless_masked(seed, number)
    seconds = time.process_time() - began
    lines = [f"{text.kind}: {text.text!r}" for text in (*out, *masked)]
    return "\n".join(
        [
            *lines,
            f"seed {seed}: {len(out)} of {number} planted secrets out, {len(masked)} of {number} "
            f"harmless texts masked ({len(SECRET_KINDS)} kinds, {sum(map(len, TEXTS.values()))} "
            f"templates), {seconds:.1f} s",
        ]
    )


if __name__ == "__main__":
    print(_rates(int(sys.argv[1]) if len(sys.argv) > 1 else SystemRandom().randrange(10**9)))
