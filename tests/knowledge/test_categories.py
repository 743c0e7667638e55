"""What an id means."""

from __future__ import annotations

import pytest

from pdtriage.knowledge import Knowledge, load_knowledge
from pdtriage.knowledge.categories import categories, meaning_of, similar
from pdtriage.model import CATEGORIES
from tests.knowledge.builders import SOUND

KNOWLEDGE = Knowledge(signatures={SOUND.id: SOUND})


def test_every_category_is_explained_in_both_languages() -> None:
    assert tuple(categories()) == CATEGORIES
    for category in categories().values():
        for text in (category.title, category.meaning, category.confirm, *category.advice):
            assert text.en.isascii() or "“" in text.en
            assert any("\u4e00" <= character <= "\u9fff" for character in text.zh), text
        assert category.advice


def test_a_category_lists_its_signatures() -> None:
    found = meaning_of("storage.disk", KNOWLEDGE)
    assert found is not None
    assert found.signatures == (SOUND,)
    assert found.meaning == categories()["storage.disk"].meaning


def test_a_signature_speaks_for_itself_and_its_category_fills_in() -> None:
    found = meaning_of(SOUND.id, KNOWLEDGE)
    assert found is not None
    assert found.meaning == SOUND.meaning
    assert found.advice == SOUND.advice
    assert found.confirm == categories()["storage.disk"].confirm


@pytest.mark.parametrize("typed", ["storage.frobnicator-ful", "frobnicator", "storage.dsk"])
def test_mistyped_ids_are_answered_with_the_nearest(typed: str) -> None:
    assert meaning_of(typed, KNOWLEDGE) is None
    assert {SOUND.id, "storage.disk"} & set(similar(typed, KNOWLEDGE))


def test_every_shipped_signature_can_be_explained() -> None:
    knowledge = load_knowledge()
    for name in knowledge.signatures:
        found = meaning_of(name, knowledge)
        assert found is not None
        assert found.title.en
