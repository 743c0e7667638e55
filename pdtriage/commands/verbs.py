"""The verbs of the command line, in the order its help shows them, and options many of them take.

Declarations only; `app.py` tells typer of them, completion and the manual page show them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from pdtriage.support.command_line import Option, options_of
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Language, Text, language_of_words

LANGUAGE: Language = language_of_words(sys.argv[1:])
"""Of help and answers, where the verb is not given another one."""


class Lang(str, Enum):
    en = "en"
    zh = "zh"


LANG_HELP = Text("Language to answer in. Default: the locale's.", "输出语言。默认取自 locale。")
LanguageOption = Annotated[Lang | None, Option(("--lang",), LANG_HELP)]
VersionOption = Annotated[
    bool, Option(("--version", "-V"), Text("Show the version.", "显示版本。"))
]
Parsers = Annotated[
    list[Path] | None,
    Option(
        ("--parsers",),
        Text(
            "Further signatures: a folder of *.toml. May be repeated.",
            "额外的特征：存放 *.toml 的文件夹。可多次给出。",
        ),
        metavar="DIR",
    ),
]

HistoryOption = Annotated[
    str | None,
    Option(
        ("--history",),
        Text(
            "The file of a history of failures. Default: PDTRIAGE_HISTORY.",
            "失败历史记录文件。默认取自 PDTRIAGE_HISTORY。",
        ),
        metavar="FILE",
    ),
]
KeepOption = Annotated[
    str | None,
    Option(
        ("--history",),
        Text(
            "Also keep the report in this history of failures, and say whether the same failure "
            "was seen before. Default: PDTRIAGE_HISTORY, else none.",
            "同时把报告存入该失败历史记录，并说明同样的失败此前是否出现过。"
            "默认取自 PDTRIAGE_HISTORY，未设置则不保存。",
        ),
        metavar="FILE",
    ),
]
NotifyOption = Annotated[
    list[str] | None,
    Option(
        ("--notify",),
        Text(
            "Tell people of a failure: a URL of apprise (feishu://, dingtalk://, wecombot://, "
            "slack://, mailto://) or of a webhook. May be repeated. Default: PDTRIAGE_NOTIFY.",
            "失败时通知相关人员：apprise 的 URL（feishu://、dingtalk://、wecombot://、slack://、"
            "mailto://）或 webhook 地址。可多次给出。默认取自 PDTRIAGE_NOTIFY。",
        ),
        metavar="URL",
    ),
]


def answer_language(lang: Lang | None) -> Language:
    if lang is None:
        return LANGUAGE
    return "zh" if lang is Lang.zh else "en"


class Verb(NamedTuple):
    """What is typed, the function that does it (a group has none), and what the help says of it."""

    words: str
    function: str | None
    """`module:function`"""
    about: Text
    own_flags: bool = False
    """All that follows goes to the function, which has a help of its own."""


ABOUT = Text(
    "Which rank of a PaddlePaddle job failed first, why, and what to do.",
    "PaddlePaddle 任务中哪个 rank 最先失败、为什么、怎么办。",
)
VERBS = (
    Verb(
        "analyze",
        "pdtriage.commands.analyze:analyze",
        Text("Find the culprit of a failed job in its logs.", "从日志中找出任务失败的根源。"),
    ),
    Verb(
        "run",
        "pdtriage.commands.run:run",
        Text(
            "Launch a job like paddle.distributed.launch; say who broke it.",
            "像 paddle.distributed.launch 一样启动任务；失败时指出根源。",
        ),
        own_flags=True,
    ),
    Verb(
        "doctor",
        "pdtriage.commands.doctor:doctor",
        Text(
            "Is this machine ready for the job? Takes the flags of run.",
            "本机是否可以启动任务？参数与 run 相同。",
        ),
        own_flags=True,
    ),
    Verb(
        "watch",
        "pdtriage.commands.watch:watch",
        Text(
            "Follow a running job that something else started.",
            "跟踪一个由其他方式启动的任务。",
        ),
    ),
    Verb(
        "stacks",
        "pdtriage.commands.stacks:stacks",
        Text(
            "Where every rank of a running job stands, and who keeps the others waiting.",
            "正在运行的任务中每个 rank 停在哪里、谁让其他 rank 等待。",
        ),
    ),
    Verb(
        "demo",
        "pdtriage.commands.demo:demo",
        Text(
            "See it work: four ranks, one of which fails, in a few seconds.",
            "看看效果：四个 rank，其中一个失败，只需几秒。",
        ),
    ),
    Verb(
        "bundle",
        "pdtriage.commands.bundle:bundle",
        Text(
            "Pack what to attach to a bug report, secrets masked.",
            "打包可附在问题报告里的内容，敏感信息已遮盖。",
        ),
    ),
    Verb(
        "explain",
        "pdtriage.commands.explain:explain",
        Text("What an id of a report means and how to fix it.", "解释报告中的 id，以及如何修复。"),
    ),
    Verb("history", None, Text("What failed before, and where.", "以前的失败，以及发生在哪里。")),
    Verb(
        "history list",
        "pdtriage.commands.history:list_",
        Text("Failures, equal ones together.", "列出各种失败，相同的归为一组。"),
    ),
    Verb(
        "history show",
        "pdtriage.commands.history:show",
        Text("One failure with all its runs.", "查看一种失败及其全部运行。"),
    ),
    Verb(
        "history top",
        "pdtriage.commands.history:top",
        Text(
            "Hosts and cards by how often they were to blame against how often they were used.",
            "按成为根源的次数与使用次数之比，给主机和计算卡排序。",
        ),
    ),
    Verb(
        "history import",
        "pdtriage.commands.history:import_",
        Text("Fill a history from folders of old logs.", "从旧日志文件夹导入历史记录。"),
    ),
    Verb(
        "collect", None, Text("Fetch the logs of a job from a cluster.", "从集群取回任务的日志。")
    ),
    Verb(
        "collect k8s",
        "pdtriage.commands.collect:k8s",
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
        "pdtriage.commands.parsers:list_",
        Text("All signatures, one a line.", "列出全部特征，每行一个。"),
    ),
    Verb(
        "parsers show",
        "pdtriage.commands.parsers:show",
        Text("One signature with its patterns and samples.", "查看一个特征的模式和样例。"),
    ),
    Verb(
        "parsers check",
        "pdtriage.commands.parsers:check",
        Text("Try every signature on its samples.", "用样例检验每一个特征。"),
    ),
    Verb(
        "parsers new",
        "pdtriage.commands.parsers:new",
        Text("Begin a new signature.", "新建一个特征。"),
    ),
    Verb(
        "completion",
        "pdtriage.commands.completion:completion",
        Text(
            "Print what makes a shell complete pdtriage's words.",
            "输出让 shell 补全 pdtriage 命令的脚本。",
        ),
    ),
)
HELP = Option(("--help", "-h"), Text("Show this message and exit.", "显示本帮助。"), kind=bool)
VERSION: Option = VersionOption.__metadata__[0]._replace(kind=bool)  # type: ignore[attr-defined]
LANG = Option(("--lang",), LANG_HELP, choices=("en", "zh"))


def verb_of(words: Sequence[str]) -> tuple[Verb | None, int]:
    """The verb, or group of verbs, that a command line begins with, and how many words it has."""
    for many in (2, 1):
        typed = " ".join(words[:many])
        for verb in VERBS:
            if len(words) >= many and verb.words == typed:
                return verb, many
    return None, 0


def verbs_below(group: str) -> list[Verb]:
    """The verbs and groups one may type next; `group` is empty at the beginning."""
    return [verb for verb in VERBS if verb.words.rpartition(" ")[0] == group]


def options_for(verb: Verb) -> list[Option]:
    """Arguments and options of a verb, as it declares them."""
    if verb.function is None:
        return [HELP]
    module, _, name = verb.function.partition(":")
    if not verb.own_flags:
        return [*options_of(getattr(import_module(module), name)), HELP]
    from pdtriage.launch.options.flags import FLAGS

    own = import_module(module).FLAGS if verb.words == "doctor" else ()
    return [*own, *FLAGS, HELP]


def choices_of(option: Option) -> tuple[str, ...]:
    """The values it may have, where these are a closed list."""
    kind: Any = option.kind
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(str(choice.value) for choice in kind)
    return option.choices
