"""The verbs of the command line, and how typer is told of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from enum import Enum
from importlib import import_module
from typing import Annotated, Any

import typer

from pdtriage import __version__
from pdtriage.commands.options import (
    LANGUAGE,
    Argument,
    Declared,
    LanguageOption,
    Option,
    declared_options,
)
from pdtriage.commands.typer_words import Command, Group, refusal_of
from pdtriage.support import exit_codes
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text


class Verb(NamedTuple):
    """What is typed, the function that does it (a group has none), and what the help says of it."""

    words: str
    function: str | None
    about: Text
    own_flags: bool = False
    """All that follows goes to the function, which has a help of its own."""


VERBS = (
    Verb(
        "analyze",
        "analyze:analyze",
        Text("Find the culprit of a failed job in its logs.", "从日志中找出作业失败的根源。"),
    ),
    Verb(
        "run",
        "run:run",
        Text(
            "Launch a job like paddle.distributed.launch; say who broke it.",
            "像 paddle.distributed.launch 一样启动作业；失败时指出根源。",
        ),
        own_flags=True,
    ),
    Verb(
        "doctor",
        "doctor:doctor",
        Text(
            "Is this machine ready for the job? Takes the flags of run.",
            "本机是否可以启动作业？参数与 run 相同。",
        ),
        own_flags=True,
    ),
    Verb(
        "watch",
        "watch:watch",
        Text(
            "Follow a running job that something else started.",
            "跟踪一个由其他方式启动的作业。",
        ),
    ),
    Verb(
        "demo",
        "demo:demo",
        Text(
            "See it work: four ranks, one of which fails, in a few seconds.",
            "看看效果：四个 rank，其中一个失败，只需几秒。",
        ),
    ),
    Verb(
        "bundle",
        "bundle:bundle",
        Text(
            "Pack what to attach to a bug report, secrets masked.",
            "打包可附在问题报告里的内容，敏感信息已遮盖。",
        ),
    ),
    Verb(
        "explain",
        "explain:explain",
        Text("What an id of a report means and how to fix it.", "解释报告中的 id，以及如何修复。"),
    ),
    Verb(
        "collect", None, Text("Fetch the logs of a job from a cluster.", "从集群取回作业的日志。")
    ),
    Verb(
        "collect k8s",
        "collect:k8s",
        Text(
            "Fetch logs and statuses of a PaddleJob's pods with kubectl.",
            "用 kubectl 取回 PaddleJob 各 Pod 的日志与状态。",
        ),
    ),
    Verb(
        "parsers",
        None,
        Text("What pdtriage knows, and how to add to it.", "pdtriage 掌握的知识，以及如何扩充。"),
    ),
    Verb(
        "parsers list",
        "parsers:list_",
        Text("All signatures, one a line.", "列出全部特征，每行一个。"),
    ),
    Verb(
        "parsers show",
        "parsers:show",
        Text("One signature with its patterns and samples.", "查看一个特征的模式和样例。"),
    ),
    Verb(
        "parsers check",
        "parsers:check",
        Text("Try every signature on its samples.", "用样例检验每一个特征。"),
    ),
    Verb("parsers new", "parsers:new", Text("Begin a new signature.", "新建一个特征。")),
)


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
    context: typer.Context,
    version: Annotated[
        bool, Option("--version", "-V", help=Text("Show the version.", "显示版本。"))
    ] = False,
    lang: LanguageOption = None,
) -> None:
    del lang  # it was looked for before anything was said: see options.LANGUAGE
    if version:
        typer.echo(f"pdtriage {__version__}")
        raise typer.Exit(exit_codes.OK)
    if context.invoked_subcommand is None:
        context.fail(Text("Missing command.", "缺少命令。").in_(LANGUAGE))


def _app(arguments: Sequence[str]) -> typer.Typer:
    """With the verb that is asked for; with all of them if that is not clear.

    Importing and preparing the others takes as long as a small analysis.
    """
    app = _group(
        Text(
            "Which rank of a PaddlePaddle job failed first, why, and what to do.",
            "PaddlePaddle 作业中哪个 rank 最先失败、为什么、怎么办。",
        ),
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
        else:
            _add(groups[group], name, verb, verb.function)
    return app


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


def _add(group: typer.Typer, name: str, verb: Verb, function: str) -> None:
    def with_own_flags(context: typer.Context) -> int:
        return int(function_of(function)(context.args))

    settings: dict[str, Any] = {}
    if verb.own_flags:
        settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    group.command(
        name,
        cls=Command,
        help=verb.about.in_(LANGUAGE),
        add_help_option=not verb.own_flags,
        context_settings=settings,
    )(with_own_flags if verb.own_flags else for_typer(function_of(function)))


def function_of(name: str) -> Callable[..., Any]:
    """`module:function` of the commands."""
    module, _, function = name.partition(":")
    return getattr(import_module(f"pdtriage.commands.{module}"), function)  # type: ignore[no-any-return]


def for_typer(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The verb, with its `Option`s as typer wants them declared."""

    @functools.wraps(verb)
    def call(**options: Any) -> Any:
        return verb(**options)

    signature = inspect.signature(verb, eval_str=True)
    declared = {one.parameter: one for one in declared_options(verb)}
    parameters = [
        parameter.replace(annotation=_annotation(declared[name], parameter))
        if name in declared
        else parameter
        for name, parameter in signature.parameters.items()
    ]
    setattr(call, "__signature__", signature.replace(parameters=parameters))  # noqa: B010
    return call


def _annotation(declared: Declared, parameter: inspect.Parameter) -> Any:
    option = declared.option
    make = typer.Argument if isinstance(option, Argument) else typer.Option
    info = make(
        *option.names,
        metavar=option.metavar,
        min=option.min,
        max=option.max,
        help=_help(option, parameter.default),
        show_default=False,  # `_help` does
    )
    return Annotated[parameter.annotation.__origin__, info]


def _help(option: Option, default: object) -> str:
    """The meaning of an option, and what there is to know about its value."""
    notes = []
    if default is inspect.Parameter.empty:
        notes.append(Text("required", "必填"))
    elif option.show_default and default not in (None, False):
        value = default.value if isinstance(default, Enum) else default
        value = f"{value:g}" if isinstance(value, float) else value
        notes.append(Text(f"default: {value}", f"默认：{value}"))
    if option.max is not None:
        allowed = f"{option.min}<=x<={option.max}"
        notes.append(Text(allowed, allowed))
    meaning = option.help.in_(LANGUAGE)
    if not notes:
        return meaning
    space = Text("  ", " ").in_(LANGUAGE)
    return f"{meaning}{space}[{'; '.join(note.in_(LANGUAGE) for note in notes)}]"
