"""`pdtriage collect k8s`: the logs and statuses of a PaddleJob's pods into a folder."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pdtriage import __version__
from pdtriage.commands.verbs import LanguageOption, answer_language
from pdtriage.support import exit_codes
from pdtriage.support.command_line import Option
from pdtriage.support.errors import UserError
from pdtriage.support.language import Language, Text

if TYPE_CHECKING:
    from pdtriage.collect.gather import Collection
    from pdtriage.collect.paddle_job import PodSelection

_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h))+")

JobArgument = Annotated[
    str, Option((), metavar="JOB", help=Text("Name of the PaddleJob.", "PaddleJob 的名字。"))
]
Namespace = Annotated[
    str | None,
    Option(
        ("--namespace", "-n"),
        metavar="NS",
        help=Text(
            "Its namespace. Default: that of the context.", "所在命名空间。默认取自 context。"
        ),
    ),
]
Context = Annotated[
    str | None,
    Option(
        ("--context",),
        metavar="NAME",
        help=Text(
            "Which cluster of your kubeconfig. Default: the current one.",
            "kubeconfig 中的哪个集群。默认：当前集群。",
        ),
    ),
]
Output = Annotated[
    Path | None,
    Option(
        ("--output", "-o"),
        metavar="DIR",
        help=Text("Folder to fill. Default: ./k8s-JOB", "要写入的文件夹。默认：./k8s-JOB"),
    ),
]
Selector = Annotated[
    str | None,
    Option(
        ("--selector", "-l"),
        metavar="LABELS",
        help=Text(
            "Take the pods with these labels instead of those the job owns.",
            "按标签选取 Pod，而不是任务自己的 Pod。",
        ),
    ),
]
Since = Annotated[
    str | None,
    Option(
        ("--since",),
        metavar="DURATION",
        help=Text("Only lines newer than this: 90m, 6h.", "只取此时长以内的日志：90m、6h。"),
    ),
]
Tail = Annotated[
    int | None,
    Option(
        ("--tail",),
        metavar="N",
        min=1,
        help=Text("Only the last N lines of each log.", "每份日志只取最后 N 行。"),
    ),
]
LimitBytes = Annotated[
    int | None,
    Option(
        ("--limit-bytes",),
        metavar="N",
        min=1,
        help=Text("At most N bytes of each log.", "每份日志最多取 N 字节。"),
    ),
]
Timestamps = Annotated[
    bool,
    Option(
        ("--timestamps",),
        help=Text("With the time of the node before every line.", "每行前加上节点记录的时间。"),
    ),
]
Parallel = Annotated[
    int,
    Option(
        ("--parallel",),
        metavar="N",
        min=1,
        max=64,
        help=Text("How many logs are fetched at once.", "同时获取的日志数。"),
    ),
]
Timeout = Annotated[
    float,
    Option(
        ("--timeout",),
        metavar="SECONDS",
        min=1,
        help=Text(
            "Give up on an answer that takes longer, or a log that stands still as long.",
            "响应超过此时长，或日志这么久没有增长，即放弃。",
        ),
    ),
]
Overwrite = Annotated[
    bool,
    Option(
        ("--overwrite",),
        help=Text("Replace a collection that is already there.", "替换已有的收集结果。"),
    ),
]
Analyze = Annotated[
    bool,
    Option(
        ("--analyze",),
        help=Text("Analyse the folder at once.", "随后立即分析该文件夹。"),
    ),
]


def k8s(
    job: JobArgument,
    namespace: Namespace = None,
    context: Context = None,
    output: Output = None,
    selector: Selector = None,
    since: Since = None,
    tail: Tail = None,
    limit_bytes: LimitBytes = None,
    timestamps: Timestamps = False,
    parallel: Parallel = 8,
    timeout: Timeout = 60.0,
    overwrite: Overwrite = False,
    analyze: Analyze = False,
    lang: LanguageOption = None,
) -> int:
    from pdtriage.collect.gather import gather, write_manifest
    from pdtriage.collect.kubectl import Kubectl, KubectlError, kubectl_on_path, why
    from pdtriage.collect.paddle_job import select

    language = answer_language(lang)
    job = _name("JOB", job.rpartition("/")[2])
    if namespace is not None:
        _name("--namespace", namespace)
    options = _options(since, tail, limit_bytes, timestamps)
    folder = output or Path(f"k8s-{job}")
    _refuse_taken(folder, overwrite)
    try:
        kubectl = Kubectl(kubectl_on_path(), namespace, context, timeout)
        selection = select(kubectl, job, selector)
    except KubectlError as error:
        reason = why(error)
        raise UserError(
            Text(f"nothing was collected: {reason.en}", f"没有收集到任何内容：{reason.zh}"),
            exit_code=exit_codes.NOTHING,
        ) from error
    if not selection.pods:
        raise _no_pods(job, selection)
    try:
        _make_room(folder, overwrite)
        made = gather(selection, kubectl, folder, options, parallel, _progress())
        if options:
            made.warnings.append(_limited(options))
        write_manifest(made, _about(job, selection, context), selection.pods)
    except OSError as error:
        raise UserError(
            Text(f"cannot write the collection: {error}", f"无法写出收集结果：{error}")
        ) from error
    _print_summary(made, language)
    if analyze:
        from pdtriage.commands.analyze import analyze as run_analysis

        return run_analysis(paths=[str(folder)], lang=lang)
    print(f"pdtriage analyze {folder}")
    return exit_codes.OK if made.complete else exit_codes.FAILED


def _name(what: str, name: str) -> str:
    from pdtriage.collect.gather import is_kubernetes_name

    if is_kubernetes_name(name):
        return name
    raise UserError(
        Text(
            f"{what} {name!r}: no name of Kubernetes (lower-case letters, digits, - and .)",
            f"{what} {name!r}：不是合法的 Kubernetes 名字（小写字母、数字、- 和 .）",
        )
    )


def _options(
    since: str | None, tail: int | None, limit_bytes: int | None, timestamps: bool
) -> list[str]:
    if since is not None and not _DURATION.fullmatch(since):
        raise UserError(
            Text(
                f"--since {since}: give a number and a unit, as in 90m or 6h",
                f"--since {since}：请给出数字和单位，例如 90m 或 6h",
            )
        )
    limits = {"--since": since, "--tail": tail, "--limit-bytes": limit_bytes}
    words = [f"{name}={value}" for name, value in limits.items() if value is not None]
    return [*words, *(["--timestamps"] if timestamps else [])]


def _refuse_taken(folder: Path, overwrite: bool) -> None:
    """Refuses a folder that holds other things, before anything is asked of the cluster."""
    from pdtriage.collect.gather import is_collection

    try:
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return
        is_ours = folder.is_dir() and is_collection(folder)
    except OSError as error:
        raise UserError(
            Text(
                f"{folder}: cannot be looked into ({error.strerror}); name another folder with -o",
                f"{folder}：无法查看（{error.strerror}）；请用 -o 指定其他文件夹",
            )
        ) from error
    if is_ours:
        if overwrite:
            return
        sentence = Text(
            f"{folder}: a collection is there already; --overwrite replaces it, -o names another",
            f"{folder}：已有收集结果；用 --overwrite 替换，或用 -o 指定其他文件夹",
        )
    else:
        sentence = Text(
            f"{folder}: there is something else already; name another folder with -o",
            f"{folder}：已有其他内容；请用 -o 指定其他文件夹",
        )
    raise UserError(sentence)


def _progress() -> Callable[[int, int], None] | None:
    """How many logs are there so far, on a terminal."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, whole: int) -> None:
        sys.stderr.write(f"\r{done}/{whole}{chr(10) if done == whole else ''}")
        sys.stderr.flush()

    return show


def _make_room(folder: Path, overwrite: bool) -> None:
    from pdtriage.collect.gather import is_collection, remove_collection

    if overwrite and is_collection(folder):
        remove_collection(folder)


def _no_pods(job: str, selection: PodSelection) -> UserError:
    """Neither pods nor a job, or a job whose pods are gone, or one nobody may look at."""
    from pdtriage.collect.kubectl import why
    from pdtriage.collect.paddle_job import deletion_warnings

    if selection.job is not None:
        reasons = deletion_warnings(selection.job)
        sentence = Text(
            f"the PaddleJob {job} has no pods: nothing to collect",
            f"PaddleJob {job} 没有 Pod：没有可收集的内容",
        )
    else:
        reasons = [
            Text(f"{what}: {why(error).en}", f"{what}: {why(error).zh}")
            for what, error in selection.troubles
        ]
        sentence = Text(
            f"no PaddleJob {job} and no pods of it; is the namespace right (-n)?",
            f"没有 PaddleJob {job}，也没有它的 Pod；命名空间（-n）是否正确？",
        )
    return UserError(sentence, notes=reasons, exit_code=exit_codes.NOTHING)


def _about(job: str, selection: PodSelection, context: str | None) -> dict[str, object]:
    from pdtriage.scan.kubernetes.documents import text_at

    return {
        "tool": {"name": "pdtriage", "version": __version__},
        "collected": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "job": job,
        "kind": text_at(selection.job, "apiVersion") or None,
        "namespace": text_at(selection.pods[0], "metadata", "namespace") or None,
        "context": context,
    }


def _limited(options: list[str]) -> dict[str, object]:
    asked = " ".join(option for option in options if option != "--timestamps")
    whole = Text(f"logs were asked for with {asked}", f"取日志时使用了 {asked}")
    if not asked:
        whole = Text("logs carry the time of the node", "日志带有节点时间")
    return {"en": whole.en, "zh": whole.zh, "report": bool(asked)}


def _print_summary(made: Collection, language: Language) -> None:
    size = sum(path.stat().st_size for path in made.folder.rglob("*") if path.is_file())
    pods = len(list((made.folder / "pods").iterdir()))
    summary = Text(
        f"{made.folder}: {_count(pods, 'pod')}, {_count(len(made.logs), 'log')}, "
        f"{size:,} bytes; {_count(made.withheld, 'environment variable')} left out",
        f"{made.folder}：{pods} 个 Pod，{len(made.logs)} 份日志，{size:,} 字节；"
        f"{made.withheld} 个环境变量未保存",
    )
    print(summary.in_(language), file=sys.stderr)
    for entry in (*made.left_out, *made.warnings):
        if entry.get("report") is not False:
            print(f"  {entry[language]}", file=sys.stderr)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
