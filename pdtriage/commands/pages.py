"""What typer says itself, a help page and a refusal, in the language of the user.

At the hooks that click, or the copy of it inside typer, has for its pages and its exceptions.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from typer.core import TyperCommand, TyperGroup

from pdtriage.commands.verbs import LANGUAGE
from pdtriage.support.language import Text
from pdtriage.support.text_width import wrap

_NAMES = 30
"""Where names are longer, their meaning begins on the next line."""


def local(en: str, zh: str) -> str:
    return Text(en, zh).in_(LANGUAGE)


class _Page:
    """Without Python's names for the types of arguments, and ranges only where they are said."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        words = [local("[OPTIONS]", "[选项]")]
        for param in _of_kind("argument", ctx):
            word = param.metavar if param.required else f"[{param.metavar}]"
            words.append(word + ("..." if param.nargs != 1 else ""))
        if isinstance(self, Group):
            words.append(local("COMMAND [ARGS]...", "命令 [参数]..."))
        formatter.write_usage(ctx.command_path, " ".join(words), local("Usage: ", "用法："))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments = [(param.metavar, param.help) for param in _of_kind("argument", ctx)]
        _write_section(formatter, local("Arguments:", "参数："), arguments)
        own = {"help": local("Show this message and exit.", "显示本帮助。")}
        options = [
            (param.get_help_record(ctx)[0], own.get(param.name, param.help))
            for param in _of_kind("option", ctx)
        ]
        _write_section(formatter, local("Options:", "选项："), options)
        verbs = self.commands.items() if isinstance(self, Group) else ()
        rows = [(name, verb.help or "") for name, verb in verbs]
        _write_section(formatter, local("Commands:", "命令："), rows)


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


class Command(_Page, TyperCommand):
    """A verb."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        may_have_more, ctx.allow_extra_args = ctx.allow_extra_args, True
        left = super().parse_args(ctx, args)
        if left and not may_have_more:
            more = " ".join(left)
            ctx.fail(local(f"Got unexpected extra argument(s) ({more})", f"多余的参数：{more}"))
        return left


class Group(_Page, TyperGroup):
    """Several verbs."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            alike = ", ".join(map(repr, get_close_matches(args[0], self.commands)))
            hint = local(f" Did you mean {alike}?", f" 是不是 {alike}？") if alike else ""
            wrong = local(f"No such command {args[0]!r}.", f"没有这个命令：{args[0]!r}。")
            ctx.fail(wrong + hint)
        return super().resolve_command(ctx, args)


def refusal_of(error: Any) -> str:
    """What click says of a command line that it refuses."""
    message = str(error.format_message())
    if type(error).__name__ == "NoArgsIsHelpError":
        return f"{message}\n"
    usage, ctx = "", getattr(error, "ctx", None)
    if ctx is not None:
        page = f"'{ctx.command_path} {ctx.help_option_names[0]}'"
        usage = f"{ctx.get_usage()}\n{local(f'Try {page} for help.', f'用 {page} 查看帮助。')}\n\n"
    reason = message if LANGUAGE == "en" else _reason(error)
    return f"{usage}{local('Error: ', '错误：')}{reason}\n"


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
