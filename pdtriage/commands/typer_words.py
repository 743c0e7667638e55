"""What typer says itself, a help page and a refusal, in the language of the user.

At the hooks that click, or the copy of it inside typer, has for its pages and its exceptions.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from typer.core import TyperCommand, TyperGroup

from pdtriage.commands.options import LANGUAGE
from pdtriage.support.language import Text
from pdtriage.support.text_width import wrap

_NAMES = 30
"""Where names are longer, their meaning begins on the next line."""


class Command(TyperCommand):
    """A verb."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        _write_usage(ctx, formatter, *_arguments_of(self))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_parameters(self, ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        may_have_more, ctx.allow_extra_args = ctx.allow_extra_args, True
        left = super().parse_args(ctx, args)
        if left and not may_have_more:
            more = " ".join(left)
            sentence = Text(f"Got unexpected extra argument(s) ({more})", f"多余的参数：{more}")
            ctx.fail(sentence.in_(LANGUAGE))
        return left


class Group(TyperGroup):
    """Several verbs."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        _write_usage(ctx, formatter, Text("COMMAND [ARGS]...", "命令 [参数]...").in_(LANGUAGE))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_parameters(self, ctx, formatter)
        _write_section(
            formatter,
            Text("Commands:", "命令："),
            [(name, command.help or "") for name, command in self.commands.items()],
        )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            alike = ", ".join(map(repr, get_close_matches(args[0], self.commands)))
            sentence = Text(
                f"No such command {args[0]!r}." + (f" Did you mean {alike}?" if alike else ""),
                f"没有这个命令：{args[0]!r}。" + (f" 是不是 {alike}？" if alike else ""),
            )
            ctx.fail(sentence.in_(LANGUAGE))
        return super().resolve_command(ctx, args)


def refusal_of(error: Any) -> str:
    """What click says of a command line that it refuses."""
    if LANGUAGE == "en" or type(error).__name__ == "NoArgsIsHelpError":
        text = io.StringIO()
        error.show(file=text)
        return text.getvalue()
    usage, ctx = "", getattr(error, "ctx", None)
    if ctx is not None:
        help_page = f"{ctx.command_path} {ctx.help_option_names[0]}"
        usage = f"{ctx.get_usage()}\n用 '{help_page}' 查看帮助。\n\n"
    return f"{usage}错误：{_reason(error)}\n"


def _reason(error: Any) -> str:
    """In Chinese; where a version of click knows of other mistakes, as it words them."""
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
    """By what pydantic, which reads values for typer, found wrong with it."""
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


def _arguments_of(command: Any) -> list[str]:
    """As in a usage line: `[PATH]...`"""
    pieces = []
    for param in command.params:
        if param.param_type_name == "argument":
            more = "..." if param.nargs != 1 else ""
            pieces.append((param.metavar if param.required else f"[{param.metavar}]") + more)
    return pieces


def _write_usage(ctx: Any, formatter: Any, *words: str) -> None:
    pieces = " ".join([Text("[OPTIONS]", "[选项]").in_(LANGUAGE), *words])
    prefix = Text("Usage: ", "用法：").in_(LANGUAGE)
    formatter.write_usage(ctx.command_path, pieces, prefix=prefix)


def _write_parameters(command: Any, ctx: Any, formatter: Any) -> None:
    """Without Python's names for the types of arguments, and ranges only where they are said."""
    arguments, options = [], []
    for param in command.params:
        if param.param_type_name == "argument":
            arguments.append((param.metavar, param.help))
        else:
            options.append((param.get_help_record(ctx)[0], param.help))
    own = command.get_help_option(ctx)
    if own is not None:
        meaning = Text("Show this message and exit.", "显示本帮助。").in_(LANGUAGE)
        options.append((own.get_help_record(ctx)[0], meaning))
    _write_section(formatter, Text("Arguments:", "参数："), arguments)
    _write_section(formatter, Text("Options:", "选项："), options)


def _write_section(formatter: Any, heading: Text, rows: Sequence[tuple[str, str]]) -> None:
    """A Chinese character takes two columns; click would count it as one."""
    if not rows:
        return
    formatter.write(f"\n{heading.in_(LANGUAGE)}\n")
    before = 4 + min(max(len(name) for name, _ in rows), _NAMES)
    for name, meaning in rows:
        row = f"  {name}".ljust(before) if len(name) <= _NAMES else f"  {name}\n{'':{before}}"
        room = formatter.width - before + (2 if LANGUAGE == "zh" else 0)
        lines = wrap(meaning, max(20, room))
        formatter.write(row + f"\n{'':{before}}".join(lines) + "\n")
