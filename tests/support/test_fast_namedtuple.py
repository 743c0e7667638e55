"""Our named tuples are what `typing.NamedTuple` would have made."""

from __future__ import annotations

import pickle
import re
import typing
from pathlib import Path
from typing import get_type_hints

import pdtriage
from pdtriage.support.fast_namedtuple import NamedTuple, maker


class Place(NamedTuple):
    """Where something stands."""

    file: str
    line: int = 1
    """Counted from 1."""
    names: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        return f"{self.file}:{self.line}"


class Usual(typing.NamedTuple):
    file: str
    line: int = 1
    names: tuple[str, ...] = ()


class Named(Place):
    """With a place for what is computed once."""


def test_fields_defaults_and_methods() -> None:
    place = Place("train.py", names=("main",))
    assert place == ("train.py", 1, ("main",))
    assert place._replace(line=7).shown == "train.py:7"
    assert repr(place) == "Place(file='train.py', line=1, names=('main',))"
    assert Place._fields == Usual._fields
    assert Place._field_defaults == Usual._field_defaults
    assert Place.__doc__ == "Where something stands."


def test_its_types_can_be_asked_for() -> None:
    assert get_type_hints(Place) == get_type_hints(Usual)


def test_it_can_be_sent_to_another_process() -> None:
    place = Place("train.py", 88)
    again = pickle.loads(pickle.dumps(place))
    assert again == place
    assert type(again) is Place


def test_one_made_of_a_tuple_of_all_fields_is_the_same() -> None:
    made = maker(Place)(("train.py", 7, ()))
    assert type(made) is Place
    assert made == Place("train.py", 7)


def test_a_class_may_be_built_on_it() -> None:
    assert Named("train.py").shown == "train.py:1"
    assert isinstance(Named("train.py"), Place)


def test_all_of_the_package_uses_it() -> None:
    """One that is slow to define costs every start as much as a hundred quick ones."""
    package = Path(pdtriage.__file__).parent
    slow = re.compile(r"^from typing import .*\bNamedTuple\b|typing\.NamedTuple\(", re.M)
    found = [file.name for file in package.rglob("*.py") if slow.search(file.read_text("utf-8"))]
    assert found == []
