"""The words every format uses for ranks, verdicts, victims and moments, in both languages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from pdtriage.model import (
    Cause,
    Confidence,
    Evidence,
    Language,
    Report,
    Role,
    Text,
    VerdictWord,
    Victim,
    VictimReason,
)
from pdtriage.report.sanitise import inert
from pdtriage.support.number_spans import numbers as numbers
from pdtriage.support.number_spans import spans
from pdtriage.support.text_width import cut

MOST_SPANS = 8
"""Of ranks that are named one by one in a sentence; all of them are in the tables."""

VERDICTS: dict[VerdictWord, Text] = {
    "failed": Text("FAILED", "失败"),
    "succeeded": Text("SUCCEEDED", "成功"),
    "interrupted": Text("INTERRUPTED", "被中断"),
    "hung": Text("HUNG", "卡住"),
    "running": Text("RUNNING", "运行中"),
    "unknown": Text("UNKNOWN", "未知"),
}
WITHOUT_CAUSE: dict[VerdictWord, Text] = {
    "failed": Text("the logs do not show the cause", "日志中看不出原因"),
    "succeeded": Text("nothing went wrong", "没有发现问题"),
    "interrupted": Text("stopped from outside", "被外部停止"),
    "hung": Text("no rank makes progress any more", "所有 rank 都不再有进展"),
    "running": Text("no failure so far", "目前没有发现失败"),
    "unknown": Text("the logs do not say how this run ended", "日志没有说明这次运行如何结束"),
}
CONFIDENCES: dict[Confidence, Text] = {
    "proven": Text("proven", "已证实"),
    "likely": Text("likely", "很可能"),
    "guess": Text("a guess", "推测"),
}
REASONS: dict[VictimReason, Text] = {
    "stopped": Text("stopped by the launcher", "被启动器停止"),
    "peer": Text("lost a peer", "因对端消失而出错"),
    "collateral": Text("went down with the job", "随任务一起结束"),
}
_ROLES: dict[Role, tuple[Text, Text]] = {
    "worker": (Text("rank", "rank"), Text("ranks", "rank")),
    "server": (Text("server", "server"), Text("servers", "server")),
    "heter": (Text("heter worker", "heter worker"), Text("heter workers", "heter worker")),
    "coordinator": (Text("coordinator", "coordinator"), Text("coordinators", "coordinator")),
    "launcher": (Text("launcher", "启动器"), Text("launchers", "启动器")),
    "unknown": (Text("process", "进程"), Text("processes", "进程")),
}
_ROLE_ORDER: tuple[Role, ...] = tuple(_ROLES)
MOST_COLUMNS = 400


def role_word(role: Role, language: Language, many: bool = False) -> str:
    return _ROLES[role][many].in_(language)


def extent_text(values: Sequence[int], language: Language) -> str:
    """The numbers; where they are scattered over a big job, how many between which."""
    if len(spans(values)) <= MOST_SPANS:
        return numbers(values)
    first, last, many = min(values), max(values), len(set(values))
    return Text(f"{first}-{last}, {many} of them", f"{first}-{last} 中的 {many} 个").in_(language)


def process_phrase(
    role: Role, rank: int | None, local_rank: int | None, host: str | None, language: Language
) -> str:
    """`rank 3`, `server 0`, or `node ?, local 2` where the global rank is not known."""
    if rank is not None:
        return f"{role_word(role, language)} {rank}"
    if local_rank is not None:
        where = f"node {host or '?'}, local {local_rank}"
        return where if role in ("worker", "unknown") else f"{role_word(role, language)} {where}"
    if role in ("launcher", "coordinator"):
        return role_word(role, language)
    return Text("rank unknown", "rank 未知").in_(language)


def culprit(cause: Cause, report: Report) -> str:
    """`rank 1 of 4, host 10.0.0.2, gpu:1`; `ranks 0-3 of 4` where equal causes are folded."""
    language = report.language
    places = [Text(f"host {cause.host}", f"主机 {cause.host}")] if cause.host else []
    if cause.device:
        places.append(_device(cause.device))
    location_of = [where.in_(language) for where in places]
    if cause.rank is None and cause.local_rank is not None:
        location_of = location_of[bool(cause.host) :]
    comma = Text(", ", "，").in_(language)
    if cause.role == "launcher" and cause.rank is None:
        return comma.join([Text("the launcher", "启动器").in_(language), *location_of])
    if len(cause.ranks) > 1:
        names = f"{role_word(cause.role, language, many=True)} {numbers(cause.ranks)}"
        shown = f"{role_word(cause.role, language)} {cause.rank}"
        inside = comma.join(location_of)
        names += _of_all(len(cause.ranks), cause.role, report)
        if not inside or cause.rank is None:
            return names
        return names + Text(f"; shown: {shown}, {inside}", f"；以 {shown} 为例：{inside}").in_(
            language
        )
    name = process_phrase(cause.role, cause.rank, cause.local_rank, cause.host, language)
    if cause.rank is not None:
        name += _of_all(1, cause.role, report)
    return comma.join([name, *location_of])


def headline(report: Report) -> str:
    """Who, after the verdict word; or what can be said where nobody is to blame."""
    if report.root_causes:
        return culprit(report.root_causes[0], report)
    said = WITHOUT_CAUSE[report.verdict].in_(report.language)
    if report.verdict == "succeeded" and report.attempts is not None:
        said = Text("all went well in the end", "最终顺利完成").in_(report.language)
    if report.verdict not in ("succeeded", "running"):
        return said
    return Text(", ", "，").in_(report.language).join([said, *_extent(report)])


def victims_line(victims: Sequence[Victim], language: Language) -> str:
    """All victims in one sentence, by what happened to them."""
    groups: list[str] = []
    for reason in REASONS:
        hit = [victim for victim in victims if victim.reason == reason]
        if hit:
            groups.append(f"{_names(hit, language)} ({REASONS[reason].in_(language)})")
    return "; ".join(groups) if language == "en" else "；".join(map(_chinese_brackets, groups))


def redactions_line(masked: int) -> Text:
    """That, and how often, something was masked."""
    return Text(
        f"{masked} secret{'s' if masked > 1 else ''} masked as *** (--no-redact shows them)",
        f"已把 {masked} 处敏感信息显示为 ***（--no-redact 可查看）",
    )


def baseline_title(report: Report) -> Text:
    """`Unlike run 2, which went well`; whoever asks for another one is told what that one did."""
    if report.baseline is None:
        return Text("Ranks started unlike each other", "各 rank 启动环境不一致")
    number, path = report.baseline.run, report.baseline.path
    if path:
        return Text(f"Unlike run {number} of {path}", f"与 {path} 的第 {number} 次运行相比")
    for run in report.runs:
        if run.index == number and run.verdict != "succeeded":
            en, zh = VERDICTS[run.verdict]
            return Text(f"Unlike run {number} ({en.lower()})", f"与第 {number} 次运行（{zh}）相比")
    return Text(f"Unlike run {number}, which went well", f"与成功的第 {number} 次运行相比")


def moment_time(seconds: float, with_date: bool) -> str:
    """The hour as the log itself wrote it, wherever it is read."""
    return _as_logged(seconds).strftime("%m-%d %H:%M:%S" if with_date else "%H:%M:%S")


def run_time(started: float | None, ended: float | None) -> str:
    """`2026-11-15 23:40:02 - 23:41:10`, as much of it as is known."""
    shown = [_as_logged(t) if t is not None else None for t in (started, ended)]
    first, last = shown
    begin = first.strftime("%Y-%m-%d %H:%M:%S") if first else "?"
    same_day = first and last and first.date() == last.date()
    end = last.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S") if last else "?"
    return "" if first is None and last is None else f"{begin} - {end}"


def _as_logged(seconds: float) -> datetime:
    """Stamps without a zone are read as if they were UTC, so UTC gives them back unchanged."""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc)
    except (OverflowError, ValueError, OSError):  # a stamp no calendar holds
        return datetime.fromtimestamp(0, timezone.utc)


def _device(device: str) -> Text:
    return Text(f"card {device}", f"卡 {device}") if device.isdigit() else Text(device, device)


def _of_all(count: int, role: Role, report: Report) -> str:
    """` of 8`, where the number of workers of the job is known."""
    total = report.job.world_size
    if role != "worker" or total is None or total < 2:
        return ""
    if count == total:
        return Text(f" (all {total})", f"（全部 {total} 个）").in_(report.language)
    return Text(f" of {total}", f"（共 {total} 个）").in_(report.language)


def _extent(report: Report) -> list[str]:
    """How large the job is and how far it came."""
    said = []
    workers = [row for row in report.ranks if row.role == "worker"]
    if workers:
        word = "rank" if len(workers) == 1 else "ranks"
        said.append(Text(f"{len(workers)} {word}", f"{len(workers)} 个 rank").in_(report.language))
    steps = [row.last_step for row in report.ranks if row.last_step is not None]
    if steps:
        said.append(Text(f"last step {max(steps)}", f"最后一步 {max(steps)}").in_(report.language))
    return said


def _names(victims: Sequence[Victim], language: Language) -> str:
    names: list[str] = []
    for role in _ROLE_ORDER:
        known = [v.rank for v in victims if v.role == role and v.rank is not None]
        if known:
            word = role_word(role, language, many=len(known) > 1)
            names.append(f"{word} {extent_text(known, language)}")
    nameless = [v for v in victims if v.rank is None]
    hosts = dict.fromkeys((v.role, v.host) for v in nameless)
    for role, host in hosts:
        local = [
            v.local_rank
            for v in nameless
            if (v.role, v.host) == (role, host) and v.local_rank is not None
        ]
        if local:
            names.append(f"node {host or '?'}, local {numbers(local)}")
        else:
            names.append(process_phrase(role, None, None, host, language))
    return ", ".join(names)


def _chinese_brackets(text: str) -> str:
    return text.replace(" (", "（").replace(")", "）")


def location_of(evidence: Evidence) -> str:
    return f"{evidence.file}:{evidence.line}"


def excerpt(
    evidence: Evidence, before: int = 4, after: int = 2, most: int = MOST_COLUMNS
) -> list[str]:
    """`  36  image.read(16)`, then `> 37  OSError ...`: no line begins with the log's own text."""
    above = evidence.before[-before:] if before else ()
    below = evidence.after[:after]
    first = evidence.line - len(above)
    gutter = len(str(evidence.line + len(below)))
    rows = []
    for number, text in enumerate((*above, evidence.text, *below), first):
        mark = ">" if number == evidence.line else " "
        shown = f"{number:>{gutter}}" if number > 0 else " " * gutter
        rows.append(f"{mark} {shown}  {cut(inert(text).replace(chr(10), ' '), most)}".rstrip())
    return rows
