"""The verbs of the command line, in the order its help shows them, and options many of them take.

Declarations only; `app.py` tells typer of them.
"""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

from pdtriage.support.command_line import Option
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
    "PaddlePaddle 作业中哪个 rank 最先失败、为什么、怎么办。",
)
VERBS = (
    Verb(
        "analyze",
        "pdtriage.commands.analyze:analyze",
        Text("Find the culprit of a failed job in its logs.", "从日志中找出作业失败的根源。"),
    ),
    Verb(
        "run",
        "pdtriage.commands.run:run",
        Text(
            "Launch a job like paddle.distributed.launch; say who broke it.",
            "像 paddle.distributed.launch 一样启动作业；失败时指出根源。",
        ),
        own_flags=True,
    ),
    Verb(
        "doctor",
        "pdtriage.commands.doctor:doctor",
        Text(
            "Is this machine ready for the job? Takes the flags of run.",
            "本机是否可以启动作业？参数与 run 相同。",
        ),
        own_flags=True,
    ),
    Verb(
        "watch",
        "pdtriage.commands.watch:watch",
        Text(
            "Follow a running job that something else started.",
            "跟踪一个由其他方式启动的作业。",
        ),
    ),
    Verb(
        "stacks",
        "pdtriage.commands.stacks:stacks",
        Text(
            "Where every rank of a running job stands, and who keeps the others waiting.",
            "正在运行的作业中每个 rank 停在哪里、谁让其他 rank 等待。",
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
    Verb(
        "collect", None, Text("Fetch the logs of a job from a cluster.", "从集群取回作业的日志。")
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
)
