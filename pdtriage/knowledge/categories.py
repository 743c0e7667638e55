"""What a category or a signature means, how to confirm it, how to fix it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import cast

from pdtriage.knowledge.signature import Knowledge, Retry, Signature
from pdtriage.knowledge.slots import general, general_steps
from pdtriage.model import Text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, slots=True)
class Category:
    """A kind of failure; what holds for all its signatures."""

    id: str
    title: Text
    meaning: Text
    confirm: Text
    advice: tuple[Text, ...]
    retry: Retry
    """Whether another attempt may go better, unless a signature says otherwise."""
    retry_why: Text


@dataclass(frozen=True, slots=True)
class Explanation:
    """All there is to say of one id, in the order people read it."""

    id: str
    title: Text
    category: Category | None
    meaning: Text | None
    confirm: Text | None
    advice: tuple[Text, ...]
    signature: Signature | None = None
    """Set when the id is a signature's."""
    signatures: tuple[Signature, ...] = ()
    """Those of the category, when the id is a category's."""


@lru_cache(maxsize=1)
def categories() -> Mapping[str, Category]:
    """All categories by id, in the order of the taxonomy."""
    path = Path(__file__).with_name("categories.toml")
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["category"]
    return {entry["id"]: _category(entry) for entry in entries}


def meaning_of(name: str, knowledge: Knowledge) -> Explanation | None:
    """What `name`, a signature or a category, means; None if there is no such id."""
    signature = knowledge.signatures.get(name)
    if signature is not None:
        return _of_signature(signature)
    category = categories().get(name)
    if category is None:
        return None
    return Explanation(
        id=name,
        title=category.title,
        category=category,
        meaning=category.meaning,
        confirm=category.confirm,
        advice=category.advice,
        signatures=tuple(s for s in knowledge.signatures.values() if s.category == name),
    )


def similar(name: str, knowledge: Knowledge) -> list[str]:
    """Known ids that look like a mistyped one, or that contain it."""
    known = [*categories(), *knowledge.signatures]
    inside = [found for found in known if name and name in found]
    return list(dict.fromkeys([*get_close_matches(name, known, n=3), *inside]))[:5]


def _of_signature(signature: Signature) -> Explanation:
    """Where a signature is silent its category speaks."""
    category = categories().get(signature.category or "")
    confirm = signature.confirm or (category.confirm if category else None)
    return Explanation(
        id=signature.id,
        title=signature.title,
        category=category,
        meaning=signature.meaning or (category.meaning if category else None),
        confirm=general(confirm) if confirm else None,
        advice=general_steps(signature) or (category.advice if category else ()),
        signature=signature,
    )


def _category(entry: Mapping[str, object]) -> Category:
    advice = entry["advice"]
    if not isinstance(advice, list):
        raise TypeError(f"categories.toml: advice of {entry['id']} must be a list")
    return Category(
        id=str(entry["id"]),
        title=_text(entry["title"]),
        meaning=_text(entry["meaning"]),
        confirm=_text(entry["confirm"]),
        advice=tuple(_text(step) for step in advice),
        retry=cast(Retry, entry["retry"]),
        retry_why=_text(entry["retry_why"]),
    )


def _text(value: object) -> Text:
    if not isinstance(value, dict):
        raise TypeError(f"categories.toml: {value!r} must have en and zh")
    return Text(en=str(value["en"]), zh=str(value["zh"]))
