"""The options of `pdtriage collect k8s`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pdtriage.commands.speech import said

JobArgument = Annotated[
    str, typer.Argument(metavar="JOB", help=said("Name of the PaddleJob.", "PaddleJob 的名字。"))
]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NS",
        help=said(
            "Its namespace. Default: that of the context.", "所在命名空间。默认取自 context。"
        ),
    ),
]
Context = Annotated[
    str | None,
    typer.Option(
        "--context",
        metavar="NAME",
        help=said(
            "Which cluster of your kubeconfig. Default: the current one.",
            "kubeconfig 中的哪个集群。默认：当前集群。",
        ),
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR",
        help=said("Folder to fill. Default: ./k8s-JOB", "要写入的文件夹。默认：./k8s-JOB"),
    ),
]
Selector = Annotated[
    str | None,
    typer.Option(
        "--selector",
        "-l",
        metavar="LABELS",
        help=said(
            "Take the pods with these labels instead of those the job owns.",
            "按标签选取 Pod，而不是作业自己的 Pod。",
        ),
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="DURATION",
        help=said("Only lines newer than this: 90m, 6h.", "只取此时长以内的日志：90m、6h。"),
    ),
]
Tail = Annotated[
    int | None,
    typer.Option(
        "--tail",
        metavar="N",
        min=1,
        help=said("Only the last N lines of each log.", "每份日志只取最后 N 行。"),
    ),
]
LimitBytes = Annotated[
    int | None,
    typer.Option(
        "--limit-bytes",
        metavar="N",
        min=1,
        help=said("At most N bytes of each log.", "每份日志最多取 N 字节。"),
    ),
]
Timestamps = Annotated[
    bool,
    typer.Option(
        "--timestamps",
        help=said("With the time of the node before every line.", "每行前加上节点记录的时间。"),
    ),
]
Parallel = Annotated[
    int,
    typer.Option(
        "--parallel",
        metavar="N",
        min=1,
        max=64,
        help=said("How many logs are fetched at once.", "同时获取的日志数。"),
    ),
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=1,
        help=said(
            "Give up on an answer that takes longer, or a log that stands still as long.",
            "响应超过此时长，或日志停滞这么久，即放弃。",
        ),
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help=said("Replace a collection that is already there.", "替换已有的收集结果。"),
    ),
]
Analyze = Annotated[
    bool,
    typer.Option(
        "--analyze",
        help=said("Analyse the folder at once.", "随后立即分析该文件夹。"),
    ),
]
