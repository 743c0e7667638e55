"""Plain command lines, understood without typer.

It reads what the verb declares of its options, and only what leaves no doubt: full names, values
that do not look like options. Everything else (`--help`, a wrong name, `-qo FILE`) is typer's,
which also knows how to refuse it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pdtriage.commands.options import Argument, Option
from pdtriage.support.fast_namedtuple import NamedTuple


def understood(verb: Callable[..., object], words: Sequence[str]) -> dict[str, Any] | None:
    """What to call `verb` with; None where it takes typer to tell."""
    named, unnamed = _declarations(verb)
    given: dict[str, Any] = {}
    left = list(reversed(words))
    while left:
        word = left.pop()
        if _is_plain(word):
            declared, value = unnamed, word
        else:
            name, equals, value = word.partition("=")
            declared = named.get(name)
            if declared is not None and declared.kind is bool and not equals:
                given[declared.parameter] = True
                continue
            if equals and not name.startswith("--"):
                return None  # to typer it is part of the value
            if not equals:
                value = left.pop() if left else ""
        if declared is None or declared.kind is bool or not _is_plain(value):
            return None
        try:
            meant = declared.kind(value)
        except ValueError:  # none of the choices
            return None
        if declared.many:
            given.setdefault(declared.parameter, []).append(meant)
        else:
            given[declared.parameter] = meant
    return given


class _Declared(NamedTuple):
    parameter: str
    kind: Callable[[Any], Any]
    many: bool


def _declarations(verb: Callable[..., object]) -> tuple[dict[str, _Declared], _Declared | None]:
    """The options by their names, and what takes the words without one."""
    named: dict[str, _Declared] = {}
    unnamed = None
    for parameter, hint in get_type_hints(verb, include_extras=True).items():
        if parameter == "return":
            continue
        # Python 3.10 wraps what has a default of None once more
        hint = next((one for one in get_args(hint) if get_origin(one) is Annotated), hint)
        annotation, option = get_args(hint)
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        kind = kinds[0] if kinds else annotation
        many = get_origin(kind) is list
        declared = _Declared(parameter, get_args(kind)[0] if many else kind, many)
        if isinstance(option, Argument):
            unnamed = declared
        elif isinstance(option, Option):
            named.update(dict.fromkeys(option.names, declared))
    return named, unnamed


def _is_plain(word: str) -> bool:
    return word == "-" or (word != "" and not word.startswith("-"))
