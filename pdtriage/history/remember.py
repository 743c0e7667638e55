"""Keeps reports in a history, and says what it knows of the same failure."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.history.entry import RunEntry
from pdtriage.history.groups import is_same_job
from pdtriage.history.phrases import day_of, verdict_word
from pdtriage.history.store import PATIENCE, open_history
from pdtriage.support.language import Text


def remember(
    path: str, entries: Sequence[RunEntry], patience: float = PATIENCE
) -> list[Text | None]:
    """Add them; for each, one line where the same failure was seen before."""
    with open_history(path, create=True, patience=patience) as history:
        before = history.runs()
        for entry in entries:
            history.add(entry)
    return [seen_before(entry, before) for entry in entries]


def seen_before(entry: RunEntry, runs: Sequence[RunEntry]) -> Text | None:
    """How often and when the failure of `entry` came before, and how it went on after that."""
    if not entry.causes:
        return None
    print_ = entry.causes[0].fingerprint
    same = [
        run
        for run in runs
        if run.causes and run.causes[0].fingerprint == print_ and _is_before(run, entry)
    ]
    if not same:
        return None
    last = same[-1]
    since = day_of(same[0].ended or same[0].started)
    times = Text("once" if len(same) == 1 else f"{len(same)} times", f"{len(same)} 次")
    when = Text(f", first on {since}" if since else "", f"，首次在 {since}" if since else "")
    place, after = _where(last), _after(last, entry, runs)
    return Text(
        f"The same failure was seen {times.en} before{when.en}; last{place.en}. {after.en}",
        f"同样的失败此前出现过 {times.zh}{when.zh}；最近一次{place.zh}。{after.zh}",
    )


def _is_before(run: RunEntry, entry: RunEntry) -> bool:
    """Whether `run` is an older one; where a time is not known, whether it is another one."""
    if run.started is None or entry.started is None:
        return run.key != entry.key
    return run.started < entry.started


def _where(run: RunEntry) -> Text:
    cause, day = run.causes[0], day_of(run.ended or run.started)
    who = " ".join(filter(None, [cause.host, cause.device]))
    en = [f" on {day}" if day else "", f" on {who}" if who else "", f" in {run.place}"]
    zh = [f"在 {day}" if day else "", f"，{who}" if who else "", f"，日志 {run.place}"]
    return Text("".join(en), "".join(zh))


def _after(last: RunEntry, entry: RunEntry, runs: Sequence[RunEntry]) -> Text:
    """How that one ended: by what the next run of the same job did."""
    later = [run for run in runs[runs.index(last) + 1 :] if run.key != entry.key]
    following = next((run for run in later if is_same_job(run, last)), None)
    if following is None:
        return Text("No later run of that job is known.", "该任务之后没有已知的运行。")
    word = verdict_word(following.verdict)
    return Text(f"The next run of that job: {word.en}.", f"该任务的下一次运行：{word.zh}。")
