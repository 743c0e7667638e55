"""How an option is declared, and how a plain command line is read by that.

Importing typer, and with it pydantic, takes longer than a launch or a small analysis. So options
are declared without it, in two ways: as parameters of a verb that typer is told of, and as fields
of a named tuple, for the verbs with the flags of Paddle's launcher.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

_ARGUMENT = "argument"
"""Instead of a name, which would begin with a dash."""
_Value = TypeVar("_Value")


class Option(NamedTuple):
    """How it may be spelled, what it is for, what its value may be; without names an argument."""

    names: tuple[str, ...]
    help: Text
    metavar: str | None = None
    min: int | None = None
    max: int | None = None
    show_default: bool = True
    group: str = "own"
    variables: tuple[str, ...] = ()
    """As in Paddle, a set variable overrides the flag; the first one that is set counts."""
    choices: tuple[str, ...] = ()
    name: str = ""
    """Of the parameter or field. This and what follows is known from there."""
    kind: Callable[[str], Any] = str
    many: bool = False
    default: Any = None


def flag(
    default: _Value,
    group: str,
    en: str,
    zh: str,
    *variables: str,
    aliases: tuple[str, ...] = (),
    choices: tuple[str, ...] = (),
) -> _Value:
    """Declares a field of a named tuple to be an option; `{default}` in its help is the default."""
    shown = f"{default:g}" if isinstance(default, (int, float)) else str(default)
    option = Option(
        tuple(f"--{alias}" for alias in aliases),
        Text(en.replace("{default}", shown), zh.replace("{default}", shown)),
        group=group,
        variables=variables,
        choices=choices,
        default=default,
    )
    return cast(_Value, option)


def flags_of(declaring: Any) -> tuple[Option, ...]:
    """The options that fields of a named tuple declare; their defaults become those of the fields.

    To be called once, right after the class.
    """
    given: dict[str, Any] = declaring._field_defaults
    declared = []
    for name, option in given.items():
        if isinstance(option, Option):
            kind = _KINDS[declaring.__annotations__[name].removesuffix(" | None")]
            names = (f"--{name}", *option.names)
            declared.append(option._replace(name=name, names=names, kind=kind))
    given.update((option.name, option.default) for option in declared)
    declaring.__new__.__defaults__ = tuple(given.values())
    return tuple(declared)


_KINDS: dict[str, type] = {kind.__name__: kind for kind in (str, int, float, bool)}


def options_of(verb: Callable[..., object]) -> list[Option]:
    """The options that parameters of a function declare: `Annotated[kind, Option(...)]`."""
    declared = []
    for name, hint in get_type_hints(verb, include_extras=True).items():
        # Python 3.10 wraps what has a default of None once more
        hint = next((one for one in get_args(hint) if get_origin(one) is Annotated), hint)
        if get_origin(hint) is Annotated:
            annotation, option = get_args(hint)
            kind = next((one for one in get_args(annotation) if one is not type(None)), annotation)
            many = get_origin(kind) is list
            kind = get_args(kind)[0] if many else kind
            declared.append(option._replace(name=name, kind=kind, many=many))
    return declared


def plain_options(verb: Callable[..., object], words: Sequence[str]) -> dict[str, Any] | None:
    """What to call `verb` with, where that leaves no doubt; None where it takes typer to tell.

    Plain are full names and values that do not look like options. Everything else (`--help`, a
    wrong name, `-qo FILE`) is typer's, which also knows how to refuse it.
    """
    table = {name: option for option in options_of(verb) for name in option.names or (_ARGUMENT,)}
    given: dict[str, Any] = {}
    left = list(reversed(words))
    while left:
        word = left.pop()
        name, equals, value = (_ARGUMENT, "=", word) if _is_plain(word) else word.partition("=")
        option = table.get(name)
        if option is None or (equals and name.startswith("-") and not name.startswith("--")):
            return None  # to typer, what follows a letter is all value
        if option.kind is bool and not equals:
            given[option.name] = True
            continue
        if not equals:
            value = left.pop() if left else ""
        if option.kind is bool or not _is_plain(value):
            return None
        try:
            meant = option.kind(value)
        except ValueError:  # none of the choices
            return None
        if option.many:
            given.setdefault(option.name, []).append(meant)
        else:
            given[option.name] = meant
    return given


def _is_plain(word: str) -> bool:
    return word == "-" or (word != "" and not word.startswith("-"))
