"""The attempts of a launch as people read them, in both languages."""

from __future__ import annotations

from pdtriage.model import LANGUAGES, Report, Run, Text
from pdtriage.report.words import VERDICTS, numbers, process_phrase, role_word
from pdtriage.support.fast_namedtuple import NamedTuple


class AttemptRow(NamedTuple):
    number: int
    """From 1 on, as people count."""
    run: Run
    what: Text
    """How it ended and how far it came."""
    then: Text | None
    """What followed, and why."""


def attempt_rows(report: Report) -> list[AttemptRow]:
    """The attempts of the launch that is reported on, oldest first; empty where there was one."""
    if report.attempts is None or len(report.attempts.runs) < 2:
        return []
    listed = set(report.attempts.runs)
    rows: list[AttemptRow] = []
    before = ""
    for run in report.runs:
        if run.index not in listed:
            continue
        mark = run.cause.fingerprint if run.cause else ""
        what = _SAME if mark and mark == before else _what(run)
        rows.append(AttemptRow(run.attempt + 1, run, _with_progress(what, run), _then(run)))
        before = mark
    return rows


def has_other_runs(report: Report) -> bool:
    """Whether the folder holds runs of other launches, which no list of attempts shows."""
    return len({run.launch for run in report.runs}) > 1 or report.attempts is None


_SAME = Text("the same failure", "同样的失败")


def _what(run: Run) -> Text:
    if run.verdict == "interrupted" and run.restart is not None and run.restart.again:
        return Text("cut short", "中途停止")
    if run.cause is None:
        word = VERDICTS[run.verdict]
        return Text(word.en.lower(), word.zh)
    cause = run.cause
    if len(cause.ranks) > 1:
        names = [
            f"{role_word(cause.role, lang, True)} {numbers(cause.ranks)}" for lang in LANGUAGES
        ]
    else:
        names = [
            process_phrase(cause.role, cause.rank, None, cause.host, lang) for lang in LANGUAGES
        ]
    return Text(f"{names[0]}: {cause.title.en}", f"{names[1]}：{cause.title.zh}")


def _with_progress(what: Text, run: Run) -> Text:
    if run.last_step is None:
        return what
    if run.last_epoch is None:
        return Text(f"{what.en} (step {run.last_step})", f"{what.zh}（第 {run.last_step} 步）")
    return Text(
        f"{what.en} (epoch {run.last_epoch}, step {run.last_step})",
        f"{what.zh}（第 {run.last_epoch} 轮第 {run.last_step} 步）",
    )


def _then(run: Run) -> Text | None:
    if run.restart is None:
        return None
    why = run.restart.why
    if run.restart.again:
        return Text(f"restarted: {why.en}", f"已重启：{why.zh}")
    return Text(f"not restarted: {why.en}", f"不再重启：{why.zh}")
