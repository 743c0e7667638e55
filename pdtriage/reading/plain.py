"""Facts as plain JSON values and back, checked against the types of `model.py`.

No pickle: a file in a cache folder must not be able to run code, whoever wrote it. What does not
have exactly the shape of the model is refused.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

Noun = TypeVar("Noun")
Decoder = Callable[[object], Any]


class NotThatShape(ValueError):  # noqa: N818 - reads as what it says
    """A value that is not of the type asked for."""


def plain(value: object) -> Any:
    """Nouns are named tuples, and tuples become lists; the rest is JSON already."""
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return value


def from_plain(kind: type[Noun], value: object) -> Noun:
    return cast(Noun, _decoder(cast(Any, kind))(value))


@cache
def _decoder(kind: Any) -> Decoder:
    """Made once for each type: there are many values and few types."""
    origin, arguments = get_origin(kind), get_args(kind)
    if hasattr(kind, "_fields"):
        return _noun_decoder(kind)
    if origin is tuple:
        return _tuple_decoder(arguments)
    if origin in (Union, types.UnionType):
        return _union_decoder(arguments)
    if origin is Literal:
        return _literal_decoder(frozenset(arguments))
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_decoder(_decoder(arguments[1]))
    return _scalar_decoder(kind)


def _noun_decoder(kind: Any) -> Decoder:
    hints = get_type_hints(kind)
    decoders = [_decoder(hints[name]) for name in kind._fields]

    def decode(value: object) -> Any:
        if not isinstance(value, list) or len(value) != len(decoders):
            raise NotThatShape(kind.__name__)
        return kind(*(decode(item) for decode, item in zip(decoders, value, strict=True)))

    return decode


def _tuple_decoder(arguments: tuple[Any, ...]) -> Decoder:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        item = _decoder(arguments[0])
        return lambda value: tuple(map(item, _list(value)))
    items = [_decoder(argument) for argument in arguments]

    def decode(value: object) -> Any:
        if len(_list(value)) != len(items):
            raise NotThatShape("tuple")
        return tuple(decode(one) for decode, one in zip(items, _list(value), strict=True))

    return decode


def _union_decoder(arguments: tuple[Any, ...]) -> Decoder:
    others = [_decoder(argument) for argument in arguments if argument is not types.NoneType]
    nothing = len(others) < len(arguments)

    def decode(value: object) -> Any:
        if value is None and nothing:
            return None
        for other in others:
            try:
                return other(value)
            except NotThatShape:
                continue
        raise NotThatShape("none of several")

    return decode


def _literal_decoder(allowed: frozenset[Any]) -> Decoder:
    def decode(value: object) -> Any:
        if isinstance(value, (str, int)) and value in allowed:
            return value
        raise NotThatShape("literal")

    return decode


def _mapping_decoder(item: Decoder) -> Decoder:
    def decode(value: object) -> Any:
        if not isinstance(value, dict):
            raise NotThatShape("mapping")
        return {name: item(one) for name, one in value.items()}

    return decode


def _scalar_decoder(kind: Any) -> Decoder:
    wanted = (int, float) if kind is float else kind

    def decode(value: object) -> Any:
        if isinstance(value, wanted) and (kind is bool or not isinstance(value, bool)):
            return value
        raise NotThatShape(str(kind))

    return decode


def _list(value: object) -> list[Any]:
    if isinstance(value, list):
        return value
    raise NotThatShape("list")
