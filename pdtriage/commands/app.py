"""The verbs of the command line, put together."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from pdtriage import __version__
from pdtriage.commands.options import LanguageOption
from pdtriage.commands.speech import refusals_said, said
from pdtriage.commands.typed import Command, Group, for_typer, obeyed
from pdtriage.support import exit_codes


def obey(arguments: Sequence[str]) -> None:
    """Run the command and exit with its code."""
    with refusals_said():
        sys.exit(obeyed(_app(arguments), arguments, "pdtriage"))


def _app(arguments: Sequence[str]) -> typer.Typer:
    """With the verb that is asked for; with all of them if that is not clear.

    Importing and preparing the others takes as long as a small analysis.
    """
    app = typer.Typer(
        cls=Group,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain help: it is also documentation, and starts faster
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback(
        help=said(
            "Which rank of a PaddlePaddle job failed first, why, and what to do.",
            "PaddlePaddle 作业中哪个 rank 最先失败、为什么、怎么办。",
        )
    )(for_typer(pdtriage))
    verb = arguments[0] if arguments and arguments[0] in _VERBS else None
    for name, add in _VERBS.items():
        if verb in (None, name):
            add(app)
    return app


def pdtriage(
    version: Annotated[
        bool, typer.Option("--version", "-V", help=said("Show the version.", "显示版本。"))
    ] = False,
    lang: LanguageOption = None,
) -> None:
    del lang  # it was looked for before anything was said: see speech.LANGUAGE
    if version:
        typer.echo(f"pdtriage {__version__}")
        raise typer.Exit(exit_codes.OK)


def _analyze(app: typer.Typer) -> None:
    from pdtriage.commands.analyze import analyze

    about = said("Find the culprit of a failed job in its logs.", "从日志中找出作业失败的根源。")
    app.command(cls=Command, help=about)(for_typer(analyze))


def _run(app: typer.Typer) -> None:
    def obey(words: list[str]) -> int:
        from pdtriage.commands.run import run

        return run(words)

    about = said(
        "Launch a job like paddle.distributed.launch; say who broke it.",
        "像 paddle.distributed.launch 一样启动作业；失败时指出根源。",
    )
    _with_flags_of_a_launcher(app, "run", obey, about)


def _doctor(app: typer.Typer) -> None:
    def obey(words: list[str]) -> int:
        from pdtriage.commands.doctor import doctor

        return doctor(words)

    about = said(
        "Is this machine ready for the job? Takes the flags of run.",
        "本机是否可以启动作业？参数与 run 相同。",
    )
    _with_flags_of_a_launcher(app, "doctor", obey, about)


def _with_flags_of_a_launcher(
    app: typer.Typer, name: str, obey: Callable[[list[str]], int], about: str
) -> None:
    """A verb with the flags of Paddle's launcher and a help of its own: all words go to `obey`."""

    def verb(context: typer.Context) -> None:
        raise typer.Exit(obey(context.args))

    app.command(
        name,
        cls=Command,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        help=about,
    )(verb)


def _watch(app: typer.Typer) -> None:
    from pdtriage.commands.watch import watch

    about = said(
        "Follow a running job that something else started.",
        "跟踪一个由其他方式启动的作业。",
    )
    app.command(cls=Command, help=about)(for_typer(watch))


def _demo(app: typer.Typer) -> None:
    from pdtriage.commands.demo import demo

    about = said(
        "See it work: four ranks, one of which fails, in a few seconds.",
        "看看效果：四个 rank，其中一个失败，只需几秒。",
    )
    app.command(cls=Command, help=about)(for_typer(demo))


def _bundle(app: typer.Typer) -> None:
    from pdtriage.commands.bundle import bundle

    about = said(
        "Pack what to attach to a bug report, secrets masked.",
        "打包可附在问题报告里的内容，敏感信息已遮盖。",
    )
    app.command(cls=Command, help=about)(for_typer(bundle))


def _explain(app: typer.Typer) -> None:
    from pdtriage.commands.explain import explain

    about = said(
        "What an id of a report means and how to fix it.", "解释报告中的 id，以及如何修复。"
    )
    app.command(cls=Command, help=about)(for_typer(explain))


def _collect(app: typer.Typer) -> None:
    from pdtriage.commands.collect import app as collect

    about = said("Fetch the logs of a job from a cluster.", "从集群取回作业的日志。")
    app.add_typer(collect, cls=Group, name="collect", help=about)


def _parsers(app: typer.Typer) -> None:
    from pdtriage.commands.parsers import app as parsers

    about = said(
        "What pdtriage knows, and how to add to it.", "pdtriage 掌握的知识，以及如何扩充。"
    )
    app.add_typer(parsers, cls=Group, name="parsers", help=about)


_VERBS: dict[str, Callable[[typer.Typer], None]] = {
    "analyze": _analyze,
    "run": _run,
    "doctor": _doctor,
    "watch": _watch,
    "demo": _demo,
    "bundle": _bundle,
    "explain": _explain,
    "collect": _collect,
    "parsers": _parsers,
}
