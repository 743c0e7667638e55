"""Named tuples that take little time to define.

`typing.NamedTuple` makes an object of every annotation, and compiles it for that: with some seventy
kinds of them a tenth of a small analysis. Here annotations stay the words they are. To those who
check types it is `typing.NamedTuple` itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

_Noun = TypeVar("_Noun", bound="tuple[Any, ...]")


def maker(noun: type[_Noun]) -> Callable[[tuple[Any, ...]], _Noun]:
    """Makes a noun of a tuple of all its fields, in half the time: for those that there are
    thousands of. Nobody counts or checks the fields."""
    return partial(tuple.__new__, noun)


if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from collections import namedtuple

    class _Definition(type):
        """Its classes become named tuples, with the methods and documentation they are given."""

        def __new__(cls, name, bases, members):
            if not bases:
                return super().__new__(cls, name, bases, members)
            fields = members["__annotations__"]
            defaults = [members.pop(field) for field in fields if field in members]
            made = namedtuple(name, fields, defaults=defaults, module=members["__module__"])
            for member, value in members.items():
                setattr(made, member, value)
            return made

    class NamedTuple(metaclass=_Definition):
        """The base of `class Noun(NamedTuple)`; fields with a default come last."""
