"""How typer is told of the verbs and their options, and called; `pages.py` is what it shows."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from enum import Enum
from importlib import import_module
from typing import Annotated, Any, get_args, get_origin

import typer

from pdtriage import __version__
from pdtriage.commands.pages import Command, Group, local, refusal_of
from pdtriage.commands.verbs import ABOUT, LANGUAGE, VERBS, LanguageOption, VersionOption
from pdtriage.support import exit_codes
from pdtriage.support.command_line import Option
from pdtriage.support.language import Text


def run_command(arguments: Sequence[str]) -> int:
    """Have typer read the words and call the verb; the code to exit with."""
    try:
        code = _app(arguments)(list(arguments), prog_name="pdtriage", standalone_mode=False)
    except typer.Abort:
        return 1
    except SystemExit as leaving:  # typer leaves with 1 when nobody reads on
        if isinstance(leaving.__context__, BrokenPipeError):
            raise leaving.__context__ from None
        raise
    except Exception as error:
        if not hasattr(error, "show"):  # it is neither of click nor of the copy inside typer
            raise
        typer.echo(refusal_of(error), nl=False, err=True)
        return int(getattr(error, "exit_code", exit_codes.USAGE))
    return code if isinstance(code, int) else exit_codes.OK


def pdtriage(
    context: typer.Context, version: VersionOption = False, lang: LanguageOption = None
) -> None:
    del lang  # it was looked for before anything was said: see verbs.LANGUAGE
    if version:
        typer.echo(f"pdtriage {__version__}")
        raise typer.Exit(exit_codes.OK)
    if context.invoked_subcommand is None:
        context.fail(local("Missing command.", "缺少命令。"))


def _app(arguments: Sequence[str]) -> typer.Typer:
    """With the verb that is asked for; with all of them if that is not clear.

    Importing and preparing the others takes as long as a small analysis.
    """
    app = _group(
        ABOUT,
        invoke_without_command=True,
        callback=for_typer(pdtriage),
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    groups = {"": app}
    first = arguments[0] if arguments else ""
    is_clear = any(verb.words == first for verb in VERBS)
    for verb in VERBS:
        if is_clear and verb.words.split()[0] != first:
            continue
        group, _, name = verb.words.rpartition(" ")
        if verb.function is None:
            groups[name] = _group(verb.about)
            groups[group].add_typer(groups[name], name=name)
            continue
        groups[group].command(
            name,
            cls=Command,
            help=verb.about.in_(LANGUAGE),
            add_help_option=not verb.own_flags,
            context_settings=dict.fromkeys(_LENIENT, verb.own_flags),
        )(_callback(verb.function, verb.own_flags))
    return app


_LENIENT = ("ignore_unknown_options", "allow_extra_args")


def _group(about: Text, **settings: Any) -> typer.Typer:
    return typer.Typer(
        cls=Group,
        help=about.in_(LANGUAGE),
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain help: it is also documentation, and starts faster
        **settings,
    )


def _callback(function: str, own_flags: bool) -> Callable[..., Any]:
    module, _, name = function.partition(":")

    def call_with_words(context: typer.Context) -> Any:
        return getattr(import_module(module), name)(context.args)

    return call_with_words if own_flags else for_typer(getattr(import_module(module), name))


def for_typer(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The verb, with its `Option`s as typer wants them declared."""
    call = functools.update_wrapper(functools.partial(verb), verb)
    signature = inspect.signature(verb, eval_str=True)
    parameters = [
        each.replace(annotation=_annotation(each)) for each in signature.parameters.values()
    ]
    setattr(call, "__signature__", signature.replace(parameters=parameters))  # noqa: B010
    return call


def _annotation(parameter: inspect.Parameter) -> Any:
    if get_origin(parameter.annotation) is not Annotated:
        return parameter.annotation
    kind, option = get_args(parameter.annotation)
    info = (typer.Option if option.names else typer.Argument)(
        *option.names,
        metavar=option.metavar,
        min=option.min,
        max=option.max,
        help=_help(option, parameter.default),
        show_default=False,  # `_help` does
    )
    return Annotated[kind, info]


def _help(option: Option, default: object) -> str:
    """The meaning of an option, and what there is to know about its value."""
    notes = []
    if default is inspect.Parameter.empty:
        notes.append(local("required", "必填"))
    elif option.show_default and default not in (None, False):
        value = default.value if isinstance(default, Enum) else default
        value = f"{value:g}" if isinstance(value, float) else value
        notes.append(local(f"default: {value}", f"默认：{value}"))
    if option.max is not None:
        notes.append(f"{option.min}<=x<={option.max}")
    after = f"{local('  ', ' ')}[{'; '.join(notes)}]" if notes else ""
    return option.help.in_(LANGUAGE) + after
