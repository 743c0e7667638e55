"""Suspects without words of their own: how they ended is known from their parent alone."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Exit, Rank, Text
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import RunEvidence, by_node
from pdtriage.verdict.last_words import names_exception
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.rules.kernel_log import OOM_KILL
from pdtriage.verdict.rules.rule import Rule, no_success
from pdtriage.verdict.suspects import Suspect, silent_suspect, strong_suspects

BUS_ERROR = "verdict.bus-error"
EXIT_CODE = "verdict.exit-code"
KILLED = "verdict.killed"
LOST_LOG = "verdict.lost-log"
SILENT = "verdict.silent"
BARE_EXCEPTION = "verdict.bare-exception"
SIGBUS = 7
CRASH_SIGNALS = frozenset({4, 6, SIGBUS, 8, 11})


def first_death(evidence: RunEvidence) -> list[Suspect]:
    """The first death a parent saw, without a word; and whose own words are clear."""
    first = first_to_die(evidence.readings)
    if first is None:
        return []
    clear = [suspect for suspect in strong_suspects(evidence) if suspect.is_clear]
    return [with_memory(first, evidence.kernel), *clear]


def first_to_fail(evidence: RunEvidence) -> Suspect | None:
    """Whom its parent saw fail before all others, without a word of its own."""
    first = first_to_die(evidence.readings)
    ending = first.rank.exit if first and first.rank else None
    return first if ending is not None and (ending.signal or ending.code) else None


def first_to_die(readings: Sequence[RankReading]) -> Suspect | None:
    """The first death a parent saw, when that process left no word of its own.

    Every node has a parent of its own: where the first to die on one complains of others, the
    first on another node may be the one. Who complains while all others are there is the one.
    """
    ordered = [r for r in readings if r.rank.exit and r.rank.exit.order is not None]
    firsts = [_first_death_of(node, readings) for node in by_node(ordered).values()]
    quiet = [r for r in firsts if r is not None and (r.quiet or _was_refused(r, readings))]
    if not quiet:
        return None
    first = min(quiet, key=_time_of_death)
    suspect = by_exit(first.rank, first.symptoms, position=first.position)
    suspect = suspect._replace(first_to_fail=True)
    return suspect.because(wording.DIED_FIRST if suspect.order == 0 else wording.FAILED_FIRST)


def _first_death_of(node: list[RankReading], readings: Sequence[RankReading]) -> RankReading | None:
    """Of the processes of one parent."""
    node.sort(key=lambda r: r.rank.exit.order if r.rank.exit and r.rank.exit.order else 0)
    # A trainer of servers may be ready before the others.
    serving = any(r.rank.role == "server" for r in readings)
    failed = [reading for reading in node if _may_have_failed(reading, readings, serving)]
    # An end whose status nobody saw says less than an error code without a word.
    clear = [reading for reading in failed if _has_status(reading) and reading.quiet]
    return next((r for r in failed if _has_status(r) or not clear), None)


def _may_have_failed(reading: RankReading, readings: Sequence[RankReading], serving: bool) -> bool:
    ending = reading.rank.exit
    if ending is None or ending.stopped:
        return False
    if ending.code != 0:
        return True
    finished = serving and reading.rank.role == "worker"
    return not finished and _is_missed(reading, readings)


def _is_missed(reading: RankReading, readings: Sequence[RankReading]) -> bool:
    """It left with 0 while others, ahead of it or equal, went on and complained; trainers without
    a server need not say a word until somebody stops them."""
    if reading.rank.role == "server":
        trainers = [r.rank.exit for r in readings if r.rank.role == "worker"]
        if any(ending is not None and ending.stopped for ending in trainers):
            return True
    return any(r.symptoms for r in readings if r is not reading)


def _was_refused(reading: RankReading, readings: Sequence[RankReading]) -> bool:
    """It ended by itself because it could not reach somebody, and that was none of the ranks: they
    had met, as steps show, and all lived longer, by the word of the parent of all of them."""
    ending = reading.rank.exit
    if not ending or not ending.code or reading.causes or reading.inner:
        return False
    if not all(f.category == "comm.init" and f.signature.generic for f in reading.symptoms):
        return False
    if any(r.rank.role != "worker" for r in readings) or len(by_node(readings)) > 1:
        return False
    others = [r for r in readings if r is not reading]
    if any(f.category == "comm.init" for r in others for f in r.symptoms):
        return False  # what they all wanted to reach is gone
    met = any(r.rank.progress for r in readings)
    return met and bool(others) and all(_ended_later(r.rank.exit) for r in others)


def _ended_later(ending: Exit | None) -> bool:
    """Behind the first one, and not because it had done its work."""
    return ending is not None and bool(ending.order) and (ending.stopped or ending.code != 0)


def _has_status(reading: RankReading) -> bool:
    ending = reading.rank.exit
    return ending is not None and (ending.code, ending.signal) != (None, None)


def _time_of_death(reading: RankReading) -> tuple[float, tuple[str, int, int, str]]:
    ending = reading.rank.exit
    time = ending.time if ending and ending.time is not None else float("inf")
    return time, reading.rank.key


def without_words(
    signature: str, category: str, rank: Rank, support: Sequence[Observation], why: Text
) -> Suspect:
    """One whose log tells no cause; but its last line may name what it had caught."""
    if names_exception(rank):
        why = wording.TRACEBACK_MISSING
        return silent_suspect(BARE_EXCEPTION, "code.python", rank, support, why)
    return silent_suspect(signature, category, rank, support, why)


def by_exit(
    rank: Rank, support: Sequence[Observation] = (), *, position: tuple[int, int] = (-1, -1)
) -> Suspect:
    """A process judged by its exit status alone."""
    ending = rank.exit
    assert ending is not None
    fields = {}
    if ending.signal is not None:
        suspect = silent_suspect(*_ended_by(ending), rank, support)
        suspect = suspect.because(wording.ended_by_signal(ending.signal))
        fields["signal"] = wording.signal_name(ending.signal)
        if ending.for_memory is not None:
            suspect = suspect.because(wording.counted_kill(ending))
            fields |= _memory_fields(ending)
    elif ending.code == 0 and rank.role == "server":
        why = wording.ENDED_EARLY
        suspect = silent_suspect("verdict.server-left", "ps.server", rank, support, why)
    elif ending.code == 0:
        why = wording.ENDED_EARLY
        suspect = silent_suspect("verdict.early-exit", "comm.peer", rank, support, why)
    else:
        suspect = silent_suspect(EXIT_CODE, "unknown", rank, support)
        if ending.code is not None:
            why = wording.ended_with_code(ending.code)
            suspect = without_words(EXIT_CODE, "unknown", rank, support, why)
            fields["exit_code"] = str(ending.code)
    return suspect._replace(fields=fields, position=position)


def _ended_by(ending: Exit) -> tuple[str, str]:
    """Signature and category of an end by a signal."""
    if ending.for_memory:
        return OOM_KILL, "memory.host"
    if ending.signal == SIGBUS:
        return BUS_ERROR, "memory.shm"
    if ending.signal in CRASH_SIGNALS:
        return "verdict.crash", "code.crash"
    return KILLED, "external.kill"


def _memory_fields(ending: Exit) -> dict[str, str]:
    if not ending.for_memory or not ending.max_rss_kb or not ending.memory_limit_kb:
        return {}
    return {
        "rss": wording.memory_size(ending.max_rss_kb),
        "limit": wording.memory_size(ending.memory_limit_kb),
    }


def with_memory(suspect: Suspect, kernel: Sequence[Observation]) -> Suspect:
    """A process that vanished on a machine whose kernel killed for memory at some time."""
    memory = [f for f in kernel if f.category == "memory.host" and f.event.role == "cause"]
    if not memory or suspect.signature not in (SILENT, KILLED):
        return suspect
    return suspect._replace(
        signature=OOM_KILL, category="memory.host", support=(*memory[:2], *suspect.support)
    ).because(wording.KERNEL_KILLED_SOMEBODY)


def named_by_console(evidence: RunEvidence) -> list[Suspect]:
    """Ranks that only the launcher's console says something about."""
    words = [f for f in evidence.launcher if f.says("process-failed", "lists-failed")][:1]
    suspects = []
    for reading in evidence.readings:
        rank, ending = reading.rank, reading.rank.exit
        if ending is None or ending.seen_by != "console" or not reading.quiet:
            continue
        if reading.stopped is not None and ending.code is None and ending.signal is None:
            continue
        if ending.signal is not None or ending.code:
            suspect = by_exit(rank, words)
        else:
            suspect = silent_suspect(LOST_LOG, "unknown", rank, words)
        why = [wording.NAMED_BY_LAUNCHER, *([] if rank.files else [wording.LOG_MISSING])]
        suspects.append(suspect._replace(position=reading.position).because(*why))
    return suspects


RULES = (
    Rule(
        "first-death",
        Text(
            "its parent saw it die first, without a word of its own",
            "父进程看到它最先退出，而它自己没有留下任何说明",
        ),
        no_success,
        first_death,
        {
            "launcher-cause": Text(
                "a scheduler may know why the process was killed", "调度器可能知道进程为何被杀"
            )
        },
    ),
    Rule(
        "named-by-console",
        Text("the launcher names it as failed", "启动器指出它失败"),
        no_success,
        named_by_console,
        {
            "bare-exception": Text(
                "the last word of the rank that the launcher names says why",
                "启动器指出的 rank，其最后一行说明了原因",
            )
        },
    ),
)
