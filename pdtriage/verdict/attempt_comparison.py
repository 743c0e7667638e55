"""The attempts of one launch side by side: did they fail the same way, and what followed?"""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.knowledge.slots import FULL_COLUMNS, fit_message
from pdtriage.model import Attempts, Brief, Run, RunFacts, Text
from pdtriage.verdict.judgement import Judgement

FAILED = frozenset({"failed", "hung"})
MOST = 10
"""Attempts that are compared: the newest ones."""
MOST_WAYS = 3


def row_of(facts: RunFacts, judgement: Judgement, *, newest: bool) -> Run:
    """A run as the report lists it: its own verdict, and its first root cause in short.

    Steps are read thinly inside a log and surely at its end, so only the `newest` run and one
    with a record can tell how far they came.
    """
    reached = facts.reached or (furthest(facts) if newest else None)
    epoch, step = reached or (None, None)
    return facts.run._replace(
        verdict=judgement.verdict,
        cause=_brief(judgement),
        last_epoch=epoch,
        last_step=step,
        restart=facts.restart,
    )


def furthest(facts: RunFacts) -> tuple[int | None, int] | None:
    """Epoch and step of whichever rank came furthest: often only one of them prints."""
    last = [rank.progress[-1] for rank in facts.ranks if rank.progress]
    if not last:
        return None
    reached = [(epoch or 0, step) for _, _, step, epoch, _, _, _ in last]
    first = last[reached.index(max(reached))]
    return first.epoch, first.step


def attempts_of(runs: Sequence[Run], chosen: Run) -> Attempts | None:
    """The attempts of the launch that `chosen` belongs to; None where it was one plain attempt."""
    own = [run for run in runs if run.launch == chosen.launch]
    if len(own) < 2 and (chosen.restart is None or chosen.verdict == "succeeded"):
        return None
    compared = own[-MOST:]
    failed = [run for run in compared if run.verdict in FAILED]
    total = max(len(own), own[-1].attempt + 1)  # a cluster forgets the oldest ones
    same = _is_same(failed)
    return Attempts(
        launch=chosen.launch,
        runs=tuple(run.index for run in compared),
        total=total,
        failed=len(failed),
        same_failure=same,
        summary=_summary(total, compared, failed, same),
    )


def _brief(judgement: Judgement) -> Brief | None:
    if not judgement.causes:
        return None
    cause = judgement.causes[0]
    return Brief(
        title=cause.title,
        category=cause.category,
        signature=cause.signature,
        role=cause.role,
        rank=cause.rank,
        ranks=cause.ranks,
        host=cause.host,
        fingerprint=cause.fingerprint,
    )


def _is_same(failed: Sequence[Run]) -> bool | None:
    """None where there is nothing to compare, or somebody's failure is not understood."""
    marks = [run.cause.fingerprint if run.cause else "" for run in failed]
    if len(marks) < 2 or not all(marks):
        return None
    return len(set(marks)) == 1


def _summary(total: int, compared: Sequence[Run], failed: Sequence[Run], same: bool | None) -> Text:
    last = compared[-1]
    if last.verdict == "succeeded":
        return _better_now(total, Text("succeeded", "成功"), failed)
    if last.verdict == "running":
        return _better_now(total, Text("is running", "正在运行"), failed)
    said = _failure_text(total, compared, failed, same)
    if last.restart is None:
        return said
    why = last.restart.why
    if last.restart.again:
        follows = Text(f"to be restarted: {why.en}", f"将重启：{why.zh}")
    else:
        follows = Text(f"not restarted: {why.en}", f"不再重启：{why.zh}")
    return follows if total == 1 else Text(f"{said.en}; {follows.en}", f"{said.zh}；{follows.zh}")


def _better_now(total: int, how: Text, failed: Sequence[Run]) -> Text:
    if not failed:
        return Text(f"attempt {total} {how.en}", f"第 {total} 次尝试{how.zh}")
    many = len(failed)
    attempts = "1 attempt" if many == 1 else f"{many} attempts"
    ways = _ways(failed)
    return Text(
        f"attempt {total} {how.en}; {attempts} failed before{ways.en}",
        f"第 {total} 次尝试{how.zh}；此前失败 {many} 次{ways.zh}",
    )


def _failure_text(
    total: int, compared: Sequence[Run], failed: Sequence[Run], same: bool | None
) -> Text:
    if len(compared) < total:
        who = Text(
            f"the last {len(compared)} of {total} attempts",
            f"{total} 次尝试中的最后 {len(compared)} 次",
        )
    else:
        who = Text(f"{total} attempts", f"共 {total} 次尝试")
    ways = _ways(failed)
    if len(failed) < len(compared):
        return Text(
            f"{who.en}, {len(failed)} failed{ways.en}",
            f"{who.zh}，失败 {len(failed)} 次{ways.zh}",
        )
    if not same:
        return Text(f"{who.en}, all failed{ways.en}", f"{who.zh}，全部失败{ways.zh}")
    mark = failed[-1].cause.fingerprint if failed[-1].cause else ""
    return Text(
        f"{who.en}, all failed the same way (fingerprint {mark})",
        f"{who.zh}，都以同样的方式失败（指纹 {mark}）",
    )


def _ways(failed: Sequence[Run]) -> Text:
    """`, in 2 ways (1, 3: …; 2: …)`; nothing where one of them is not understood."""
    groups: dict[str, list[Run]] = {}
    for run in failed:
        groups.setdefault(run.cause.fingerprint if run.cause else "", []).append(run)
    if "" in groups or not groups:
        return Text("", "")
    if len(groups) == 1:
        title = _short(failed[0])
        many = len(failed) > 1
        return Text(
            f"{', the same way' * many} ({title.en})", f"{'，方式相同' * many}（{title.zh}）"
        )
    count = len(groups)
    if count > MOST_WAYS:
        return Text(f", in {count} ways", f"，方式有 {count} 种")
    told = [(", ".join(str(run.attempt + 1) for run in own), own[0]) for own in groups.values()]
    english = "; ".join(f"{numbers}: {_short(run).en}" for numbers, run in told)
    chinese = "；".join(f"第 {numbers} 次：{_short(run).zh}" for numbers, run in told)
    return Text(f", in {count} ways ({english})", f"，方式有 {count} 种（{chinese}）")


def _short(run: Run) -> Text:
    title = run.cause.title if run.cause else Text("", "")
    return Text(fit_message(title.en, FULL_COLUMNS), fit_message(title.zh, FULL_COLUMNS))
