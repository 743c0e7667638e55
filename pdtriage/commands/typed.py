"""typer's own words in the language of the user: the frame of a help page, and refusals.

What typer says is translated when it is finished text. Its sentences are not all open to gettext,
and where a new version words one anew, it is shown in English instead of breaking anything.
"""

from __future__ import annotations

import functools
import inspect
import io
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ParamSpec, TypeVar, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from pdtriage.commands.options import Argument, Option
from pdtriage.commands.speech import LANGUAGE
from pdtriage.support.language import Language
from pdtriage.support.text_width import columns, wrapped

WIDEST = 100
"""As in the settings of the app."""
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class Command(TyperCommand):
    """A verb whose help page is translated."""

    def get_help(self, ctx: Any) -> str:
        return help_page(super().get_help(ctx), LANGUAGE)


class Group(TyperGroup):
    """Several verbs, with a help page that is translated."""

    def get_help(self, ctx: Any) -> str:
        return help_page(super().get_help(ctx), LANGUAGE)


def for_typer(verb: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """The verb, with its `Option`s as typer wants them declared."""

    @functools.wraps(verb)
    def obeying(*arguments: Given.args, **options: Given.kwargs) -> Answer:
        return verb(*arguments, **options)

    signature = inspect.signature(verb, eval_str=True)
    parameters = [
        parameter.replace(annotation=_declared(parameter.annotation))
        for parameter in signature.parameters.values()
    ]
    setattr(obeying, "__signature__", signature.replace(parameters=parameters))  # noqa: B010
    return obeying


def _declared(annotation: Any) -> Any:
    if get_origin(annotation) is not Annotated:
        return annotation
    kind, declared = get_args(annotation)
    if not isinstance(declared, Option):
        return annotation
    make = typer.Argument if isinstance(declared, Argument) else typer.Option
    return Annotated[kind, make(*declared.names, metavar=declared.metavar, help=declared.help)]


def obeyed(app: typer.Typer, arguments: Sequence[str], name: str) -> int:
    """Run a command; what typer refuses is said in the language of the user."""
    try:
        code = app(list(arguments), prog_name=name, standalone_mode=False)
    except typer.Abort:
        return 1
    except SystemExit as leaving:  # typer leaves with 1 when nobody reads on
        if isinstance(leaving.__context__, BrokenPipeError):
            raise leaving.__context__ from None
        raise
    except Exception as error:
        show = getattr(error, "show", None)  # of click, or of the copy of it inside typer
        if show is None:
            raise
        said = io.StringIO()
        show(file=said)
        print(refusal(said.getvalue(), LANGUAGE), end="", file=sys.stderr)
        return int(getattr(error, "exit_code", 2))
    return code if isinstance(code, int) else 0


def help_page(page: str, language: Language) -> str:
    """Without Python's names for types; in Chinese with Chinese headings."""
    page = _REQUIRED.sub(r"\1", _TYPE.sub(_without_type, page))
    page = _WHOLE.sub("", _LEAST.sub("", page))
    return _in_columns(_replaced(page, _FRAME)) if language == "zh" else page


def refusal(said: str, language: Language) -> str:
    said = _REQUIRED.sub(r"\1", said)
    return _replaced(_replaced(said, _FRAME), _REFUSALS) if language == "zh" else said


_REQUIRED = re.compile(r"(?<= )\{([A-Z]+)\}$", re.MULTILINE)
"""`{ID}` at the end of a usage line."""


_TYPE = re.compile(r"(?m)^(  [A-Z]+)( <[\w\[\], |]+>)(  .*\n(?:   .*\n?)*)")
"""`  PATH <list[str]>  What it is` and the lines it goes on in: nobody writes a path as a list."""


def _without_type(row: re.Match[str]) -> str:
    first, *more = row[3].split("\n")
    dropped = len(row[2])
    return "\n".join([row[1] + first, *(line[dropped:] for line in more)])


_LEAST = re.compile(r";\s+x>=\d+(?=\])|\s+\[x>=\d+\]")
_WHOLE = re.compile(r"(?<=\d)\.0(?=\]|;)")
_ROW = re.compile(r"(?m)^(  \S.*?  +)(\S.*(?:\n {4,}\S.*)*)$")
"""`  --flag VALUE   What it is`, and the lines it goes on in."""


def _in_columns(page: str) -> str:
    """Wrapped anew: typer counts a Chinese character as one column, and it takes two."""
    width = min(shutil.get_terminal_size().columns, WIDEST)

    def row(found: re.Match[str]) -> str:
        text = re.sub(r"-\n +", "-", found[2])  # a name that was broken at its dash
        text = _BETWEEN_CHINESE.sub("", " ".join(text.split()))
        room = max(20, width - columns(found[1]))
        return found[1] + ("\n" + " " * columns(found[1])).join(wrapped(text, room))

    return _ROW.sub(row, page)


_BETWEEN_CHINESE = re.compile(r"(?<=[\u3000-\uffee]) (?=[\u3000-\uffee])")


def _replaced(text: str, pairs: Sequence[tuple[str, str]]) -> str:
    for pattern, chinese in pairs:
        text = re.sub(pattern, chinese, text)
    return text


_FRAME = (
    (r"(?m)^Usage: ", "用法："),
    (r"(?m)^Arguments:$", "参数："),
    (r"(?m)^Options:$", "选项："),
    (r"(?m)^Commands:$", "命令："),
    (r"\[OPTIONS\]", "[选项]"),
    (r"COMMAND \[ARGS\]\.\.\.", "命令 [参数]..."),
    (r"Show this message and\s+exit\.", "显示本帮助。"),
    (r"\[default:\s+([^\]]*)\]", r"[默认：\1]"),
    (r"\[required\]", "[必填]"),
)
_REFUSALS = (
    (r"(?m)^Try '(.+)' for help\.$", r"用 '\1' 查看帮助。"),
    (r"(?m)^Error: ", "错误："),
    (r"No such option: (\S+)", r"没有这个选项：\1"),
    (r"\(Possible options: (.*)\)", r"（是不是 \1？）"),
    (r"Did you mean (.*)\?", r"是不是 \1？"),
    (r"No such command (.*)\.", r"没有这个命令：\1。"),
    (r"Missing argument (.*)\.", r"缺少参数 \1。"),
    (r"Missing option (.*)\.", r"缺少选项 \1。"),
    (r"Missing command\.", "缺少命令。"),
    (r"Option (.*) requires an argument\.", r"选项 \1 需要一个值。"),
    (r"Option (.*) does not take a value\.", r"选项 \1 不带值。"),
    (r"Got unexpected extra argument(?:s|\(s\))? \((.*)\)", r"多余的参数：\1"),
    (r"Invalid value for (.*?): ", r"\1 的值无效："),
    (r"Value error, ", ""),
    (r"(\S+) is not one of (.*)\.", r"\1 不在可选值 \2 之中。"),
    (r"Input should be a valid integer.*", "应为整数。"),
    (r"Input should be a valid number.*", "应为数字。"),
    (r"Input should be greater than or equal to (\S+)", r"不能小于 \1。"),
    (r"(\S+) is not a valid (?:integer|int)\.", r"\1 不是整数。"),
    (r"(\S+) is not a valid float\.", r"\1 不是数字。"),
)
