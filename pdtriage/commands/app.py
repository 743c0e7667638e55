"""All that typer has to do with: it is told of the verbs and their options, and called.

What it says itself, a help page and a refusal, it says in the language of the user: at the hooks
that click, or the copy of it inside typer, has for its pages and its exceptions.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from enum import Enum
from importlib import import_module
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from pdtriage import __version__
from pdtriage.commands.verbs import ABOUT, LANGUAGE, VERBS, LanguageOption, VersionOption
from pdtriage.support import exit_codes
from pdtriage.support.command_line import Option
from pdtriage.support.language import Text
from pdtriage.support.text_width import wrap

_NAMES = 30
"""Where names are longer, their meaning begins on the next line."""


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
        typer.echo(_refusal_of(error), nl=False, err=True)
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
        context.fail(_local("Missing command.", "缺少子命令。"))


def _app(arguments: Sequence[str]) -> typer.Typer:
    """The typer application with the verb that was typed; with all of them if that is not clear.

    Importing and preparing the others takes as long as a small analysis.
    """
    app = _group(
        ABOUT,
        invoke_without_command=True,
        callback=for_typer(pdtriage),
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    groups = {"": app}
    clear = [verb for verb in VERBS if verb.words.split()[:1] == arguments[:1]]
    for verb in clear or VERBS:
        group, _, name = verb.words.rpartition(" ")
        if verb.function is None:
            groups[name] = _group(verb.about)
            groups[group].add_typer(groups[name], name=name)
            continue
        groups[group].command(
            name,
            cls=_Command,
            help=verb.about.in_(LANGUAGE),
            add_help_option=not verb.own_flags,
            context_settings={
                "ignore_unknown_options": verb.own_flags,
                "allow_extra_args": verb.own_flags,
            },
        )(_callback(verb.function, verb.own_flags))
    return app


def _group(about: Text, **settings: Any) -> typer.Typer:
    return typer.Typer(
        cls=_Group,
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
        notes.append(_local("required", "必填"))
    elif option.show_default and default not in (None, False):
        value = default.value if isinstance(default, Enum) else default
        value = f"{value:g}" if isinstance(value, float) else value
        notes.append(_local(f"default: {value}", f"默认：{value}"))
    if option.max is not None:
        notes.append(f"{option.min}<=x<={option.max}")
    after = f"{_local('  ', ' ')}[{'; '.join(notes)}]" if notes else ""
    return option.help.in_(LANGUAGE) + after


def _local(en: str, zh: str) -> str:
    return Text(en, zh).in_(LANGUAGE)


class _Page:
    """Help pages without Python's names for types, and with ranges only where they are declared."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        words = [_local("[OPTIONS]", "[选项]")]
        for param in _of_kind("argument", ctx):
            word = param.metavar if param.required else f"[{param.metavar}]"
            words.append(word + ("..." if param.nargs != 1 else ""))
        if isinstance(self, _Group):
            words.append(_local("COMMAND [ARGS]...", "子命令 [参数]..."))
        formatter.write_usage(ctx.command_path, " ".join(words), _local("Usage: ", "用法："))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments = [(param.metavar, param.help) for param in _of_kind("argument", ctx)]
        _write_section(formatter, _local("Arguments:", "参数："), arguments)
        own = {"help": _local("Show this message and exit.", "显示本帮助。")}
        options = [
            (param.get_help_record(ctx)[0], own.get(param.name, param.help))
            for param in _of_kind("option", ctx)
        ]
        _write_section(formatter, _local("Options:", "选项："), options)
        verbs = self.commands.items() if isinstance(self, _Group) else ()
        rows = [(name, verb.help or "") for name, verb in verbs]
        _write_section(formatter, _local("Commands:", "子命令："), rows)


def _of_kind(kind: str, ctx: Any) -> list[Any]:
    return [param for param in ctx.command.get_params(ctx) if param.param_type_name == kind]


def _write_section(formatter: Any, heading: str, rows: Sequence[tuple[str, str]]) -> None:
    """A Chinese character takes two columns; click would count it as one."""
    if not rows:
        return
    formatter.write(f"\n{heading}\n")
    before = 4 + min(max(len(name) for name, _ in rows), _NAMES)
    for name, meaning in rows:
        row = f"  {name}".ljust(before) if len(name) <= _NAMES else f"  {name}\n{'':{before}}"
        room = formatter.width - before + (2 if LANGUAGE == "zh" else 0)
        lines = wrap(meaning, max(20, room))
        formatter.write(row + f"\n{'':{before}}".join(lines) + "\n")


class _Command(_Page, TyperCommand):
    """A verb."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        may_have_more, ctx.allow_extra_args = ctx.allow_extra_args, True
        left = super().parse_args(ctx, args)
        if left and not may_have_more:
            more = " ".join(left)
            ctx.fail(_local(f"Got unexpected extra argument(s) ({more})", f"多余的参数：{more}"))
        return left


class _Group(_Page, TyperGroup):
    """A group of several verbs."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            alike = ", ".join(map(repr, get_close_matches(args[0], self.commands)))
            hint = _local(f" Did you mean {alike}?", f" 是不是 {alike}？") if alike else ""
            wrong = _local(f"No such command {args[0]!r}.", f"没有这个子命令：{args[0]!r}。")
            ctx.fail(wrong + hint)
        return super().resolve_command(ctx, args)


def _refusal_of(error: Any) -> str:
    """What click says of a command line that it refuses."""
    message = str(error.format_message())
    if type(error).__name__ == "NoArgsIsHelpError":
        return f"{message}\n"
    usage, ctx = "", getattr(error, "ctx", None)
    if ctx is not None:
        page = f"'{ctx.command_path} {ctx.help_option_names[0]}'"
        usage = f"{ctx.get_usage()}\n{_local(f'Try {page} for help.', f'用 {page} 查看帮助。')}\n\n"
    reason = message if LANGUAGE == "en" else _reason(error)
    return f"{usage}{_local('Error: ', '错误：')}{reason}\n"


def _reason(error: Any) -> str:
    """Why a word was refused, in Chinese; a mistake that is not known here as click words it."""
    kind = type(error).__name__
    if kind == "NoSuchOption":
        alike = ", ".join(sorted(error.possibilities or ()))
        return f"没有这个选项：{error.option_name}" + (f" （是不是 {alike}？）" if alike else "")
    if kind == "BadOptionUsage":
        needs = "需要一个值" if "requires" in error.message else "不带值"
        return f"选项 {error.option_name!r} {needs}。"
    if kind == "MissingParameter":
        what = "参数" if error.param.param_type_name == "argument" else "选项"
        return f"缺少{what} {error.param.get_error_hint()}。"
    if kind == "BadParameter":
        return f"{error.param.get_error_hint()} 的值无效：{_wrong_value(error)}"
    return str(error.format_message())


def _wrong_value(error: Any) -> str:
    """What pydantic, which reads values for typer, found wrong with a value."""
    wrong = error.__cause__.errors()[0] if hasattr(error.__cause__, "errors") else {}
    kind = wrong.get("type", "")
    choices = error.param.type_descriptor.choices if kind == "value_error" else None
    if choices:
        listed = ", ".join(repr(choice.value) for choice in choices)
        return f"{wrong['input']!r} 不在可选值 {listed} 之中。"
    if kind == "greater_than_equal":
        return f"不能小于 {wrong['ctx']['ge']}。"
    return {"int_parsing": "应为整数。", "float_parsing": "应为数字。"}.get(
        kind, str(error.message)
    )
