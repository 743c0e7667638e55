"""What the launcher's console says by itself: its own failure, whom it saw fail, that it failed."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Rank, Text
from pdtriage.runs.console_ranks import numbers_in
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.rank_reading import Observation, RankReading, passage
from pdtriage.verdict.rules.deaths import LOST_LOG, named_by_console
from pdtriage.verdict.rules.rule import Rule, console
from pdtriage.verdict.suspects import SIGKILL, Suspect, launcher_suspect, speaking_suspect


def launcher_cause(evidence: RunEvidence) -> list[Suspect]:
    """The first cause that the launcher itself, or mpirun, tells; no stop by hand."""
    suspect = cause_of_launcher(evidence)
    return [suspect] if suspect and suspect.category != "external.kill" else []


def cause_of_launcher(evidence: RunEvidence) -> Suspect | None:
    """The first cause in the console that is of this run."""
    earlier = _of_an_earlier_run(evidence)
    for found in evidence.launcher:
        if found.event.role != "cause" or passage(found) in earlier:
            continue
        if not _only_follows(found, evidence):
            return _by_console(found, evidence)
    return None


def _only_follows(found: Observation, evidence: RunEvidence) -> bool:
    """Whether the rank it names says itself what it ended by, and that this was no fault of it:
    the watchdog of a collective aborts the process that waits."""
    told = found.event.fields.get("rank", "")
    return any(
        found.event.signature in evidence.signatures[symptom.event.signature].explains
        for reading in evidence.readings
        if told and str(reading.rank.rank) == told
        for symptom in reading.symptoms
    )


def _of_an_earlier_run(evidence: RunEvidence) -> set[tuple[str, int, int]]:
    """A console whose beginning is cut off may show the end of a process of the run before."""
    pids = {str(pid) for reading in evidence.readings for pid in reading.rank.pids}
    if not pids or not evidence.facts.run.index:
        return set()
    known = {"", *pids}
    return {passage(f) for f in evidence.launcher if f.event.fields.get("pid", "") not in known}


def _by_console(found: Observation, evidence: RunEvidence) -> Suspect:
    """Whom a line of the console is about: a rank it names, or the launcher."""
    told = found.event.fields.get("rank", "")
    number = int(told) if told.isdecimal() else None
    fields = dict(found.event.fields)
    if found.says("rank-is-local"):
        rank = _of_container(found, evidence.readings)
        fields["rank"] = str(rank.rank) if rank and rank.rank is not None else ""
    else:
        numbered = (r.rank for r in evidence.readings if number is not None)
        rank = next((rank for rank in numbered if rank.rank == number), None)
    nobody = number is None and rank is None
    # a script's words, shown by the console
    named = evidence.named if nobody and found.event.frame is not None else ()
    return speaking_suspect(
        found,
        rank,
        (),
        *_signal_received(found),
        role="worker" if number is not None or named else "launcher",
        host=fields.get("host") or (rank.host if rank else None),
        fields=fields,
        named=named,
    )


def _signal_received(found: Observation) -> list[Text]:
    if not found.says("launcher-stopped"):
        return []
    signal = found.event.fields.get("signal", "")
    return [wording.launcher_was_stopped(int(signal) if signal.isdecimal() else None)]


def _of_container(found: Observation, readings: Sequence[RankReading]) -> Rank | None:
    """The process a launcher calls by its number on its own node."""
    number = found.event.fields.get("rank", "")
    killed = [
        r.rank
        for r in readings
        if r.rank.exit and r.rank.exit.seen_by == "console" and r.rank.exit.signal == SIGKILL
    ]
    here = [rank for rank in killed if str(rank.local_rank) == number]
    return here[0] if len(here) == 1 else killed[0] if len(killed) == 1 else None


def own_report(evidence: RunEvidence) -> list[Suspect]:
    """A console of `pdtriage run` ends with what it saw; of a pod that is often all there is."""
    verdicts = [f for f in evidence.launcher if f.says("own-verdict")][-1:]
    symbol = verdicts[0].event.fields.get("symbol", "") if verdicts else ""
    known = evidence.signatures.get(symbol)
    if known is None or known.category is None:
        return []
    heads = [f for f in evidence.launcher if f.says("own-headline")][-1:]
    blamed = numbers_in(heads[0].event.fields.get("ranks", "")) if heads else set()
    named = [s for s in named_by_console(evidence) if not blamed or _is_of(s, blamed)]
    if not named and heads and "ranks" not in heads[0].event.fields:
        named = [launcher_suspect(known.id, known.category, ())]
    host = heads[0].event.fields.get("host") if heads else None
    return [
        Suspect(
            known.id,
            known.category,
            suspect.rank,
            support=(*heads, *verdicts, *suspect.support),
            why=(wording.SAID_BY_RUN,),
            position=suspect.position,
            last_words=suspect.last_words,
            role=suspect.role,
            host=suspect.host or host,
            fields=suspect.fields,
        )
        for suspect in named
    ]


def _is_of(suspect: Suspect, ranks: set[int]) -> bool:
    """Paddle's launcher, below ours, lists whoever it found dead: victims, too."""
    return suspect.rank is not None and suspect.rank.rank in ranks


def failed_somehow(evidence: RunEvidence) -> list[Suspect]:
    """The launcher says that the job failed, and nothing here says why."""
    words = evidence.says_failed[:2]
    if not words:
        return []
    return [launcher_suspect(LOST_LOG, "unknown", words, wording.NAMED_BY_LAUNCHER)]


RULES = (
    Rule(
        "launcher-cause",
        Text("the launcher's console says why it failed", "启动器的控制台说明了失败原因"),
        console,
        launcher_cause,
        {
            "survived-error": Text(
                "an error of a rank's own says why; the launcher only how it ended",
                "rank 自身的错误说明原因，启动器只说明如何结束",
            )
        },
    ),
    Rule(
        "own-report",
        Text(
            "the report that `pdtriage run` printed at the end of its console",
            "`pdtriage run` 在控制台末尾打印的报告",
        ),
        console,
        own_report,
        {
            "first-death": Text(
                "the record that was read here says more than what was printed of another",
                "此处读到的运行记录比打印出来的报告更可信",
            )
        },
    ),
    Rule(
        "failed-somehow",
        Text(
            "the launcher says that the job failed, and nothing says why",
            "启动器说任务失败，但没有任何原因",
        ),
        console,
        failed_somehow,
        {
            "not-stopped": Text(
                "who was not stopped with the others is a name; a failed job is none",
                "没有与其他 rank 一起被停止的那个是具体的名字，“任务失败”不是",
            ),
            "stuck": Text(
                "that somebody saw it stand says more than that the job failed",
                "有人看到它卡住，比“任务失败”更能说明问题",
            ),
        },
    ),
)
