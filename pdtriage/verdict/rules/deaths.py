"""Suspects without words of their own: how they ended is known from their parent alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pdtriage.model import SENDER_PROGRAM, Exit, Rank, Text
from pdtriage.support.exit_codes import signal_name
from pdtriage.support.lazy_regex import lazy_compile
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import RunEvidence, by_node
from pdtriage.verdict.life import CRASH_SIGNALS
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.rules.kernel_log import OOM_KILL
from pdtriage.verdict.rules.rule import Rule, no_success
from pdtriage.verdict.suspects import Suspect, silent_suspect, strong_suspects

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pdtriage.verdict.suspects import More

BUS_ERROR = "verdict.bus-error"
EXIT_CODE = "verdict.exit-code"
KILLED = "verdict.killed"
LOST_LOG = "verdict.lost-log"
SILENT = "verdict.silent"
BARE_EXCEPTION = "verdict.bare-exception"
SIGBUS = 7
_NAME = r"(?:[a-z_]\w{0,60}\.){0,6}[A-Za-z_]\w{0,60}(?:Error|Exception)"
_LEVEL = r"(?:\[?(?:FATAL|CRITICAL)\]?[: -]{1,3})?"
_ALONE = lazy_compile(rf"^{_LEVEL}(?:{_NAME}|(?:\w{{1,60}}\.){{0,6}}Exception)(?::\s*\S|\s*$)")
_OTHER = r"[A-Z][a-z]\w{0,60}(?:Expired|Exceeded|Failure|Interrupt|Iteration|NotFound|Timeout)"
_WITHIN = lazy_compile(
    rf"(?:^|[\s:=\"'(\[])(?:{_NAME}|(?:\w{{1,60}}\.){{0,6}}{_OTHER})(?:[:(]\s*\S|[\"')\]]?\s*$)"
)
"""As a program tells it that catches everything: `giving up: ValueError: no such key`."""


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
    known: More = {"position": first.position, "first_to_fail": True}
    suspect = by_exit(first.rank, first.symptoms, **known)
    if first.stopped is not None and first.sender not in (None, *first.rank.pids):
        # no launcher had sent it anything by then
        program = first.stopped.event.fields.get(SENDER_PROGRAM, "")
        suspect = suspect.because(wording.outsider(first.sender, program))
    suspect = suspect.because(wording.DIED_FIRST if suspect.order == 0 else wording.FAILED_FIRST)
    is_unsure = is_one_of_unseen(first.rank, readings)
    return suspect.because(wording.STATUS_UNSEEN) if is_unsure else suspect


def is_one_of_unseen(rank: Rank, readings: Sequence[RankReading]) -> bool:
    """Nobody saw how it ended, nor how another one did: which of them failed is not known."""
    ended = [r for r in readings if r.rank.exit and not r.rank.exit.stopped]
    unseen = [reading.rank.key for reading in ended if not _has_status(reading)]
    return len(unseen) > 1 and rank.key in unseen


def _first_death_of(node: list[RankReading], readings: Sequence[RankReading]) -> RankReading | None:
    """The first death among the processes of one parent."""
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
    signature: str,
    category: str,
    rank: Rank,
    support: Sequence[Observation],
    *why: Text,
    **more: Unpack[More],
) -> Suspect:
    """One whose log tells no cause; but its last line may name what it had caught."""
    if names_exception(rank):
        signature, category = BARE_EXCEPTION, "code.python"
        why = (*why[:-1], wording.TRACEBACK_MISSING)
    return silent_suspect(signature, category, rank, support, *why, **more)


def by_exit(
    rank: Rank, support: Sequence[Observation] = (), *why: Text, **more: Unpack[More]
) -> Suspect:
    """A process judged by its exit status alone; `why` it is suspected comes first."""
    ending = rank.exit
    assert ending is not None
    if ending.signal is not None:
        why = (*why, wording.ended_by_signal(ending.signal))
        fields = {"signal": signal_name(ending.signal)}
        if ending.for_memory is not None:
            peak = wording.cgroup_peak(ending)
            why = (*why, wording.counted_kill(ending), *([peak] if peak else []))
            fields |= _memory_fields(ending)
        more["fields"] = fields
        return silent_suspect(*_ended_by(ending), rank, support, *why, **more)
    if ending.code == 0:
        server = rank.role == "server"
        signature = "verdict.server-left" if server else "verdict.early-exit"
        category = "ps.server" if server else "comm.peer"
        return silent_suspect(signature, category, rank, support, *why, wording.ENDED_EARLY, **more)
    if ending.code is None:
        return silent_suspect(EXIT_CODE, "unknown", rank, support, *why, **more)
    why = (*why, wording.ended_with_code(ending.code))
    more["fields"] = {"exit_code": str(ending.code)}
    return without_words(EXIT_CODE, "unknown", rank, support, *why, **more)


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
    explained = suspect.explained_by(OOM_KILL, "memory.host", *memory[:2])
    return explained.because(wording.KERNEL_KILLED_SOMEBODY)


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
        position = reading.position
        if ending.signal is not None or ending.code:
            suspect = by_exit(rank, words, position=position)
        else:
            suspect = silent_suspect(LOST_LOG, "unknown", rank, words, position=position)
        why = [wording.NAMED_BY_LAUNCHER, *([] if rank.files else [wording.LOG_MISSING])]
        suspects.append(suspect.because(*why))
    return suspects


def is_bare_exception(rank: Rank) -> bool:
    """Whether the last line of a log is an exception as Python prints it."""
    return _is_unread(rank) and bool(_ALONE.match(rank.tail[-1]))


def names_exception(rank: Rank) -> bool:
    """Whether the last line of a log tells of an exception, in whatever words."""
    return _is_unread(rank) and bool(_WITHIN.search(rank.tail[-1]))


def _is_unread(rank: Rank) -> bool:
    """Whether the last lines of a rank are none that any signature understands."""
    read = any(max(event.line, event.last_line) >= rank.last_line for _, event in rank.events)
    return bool(rank.tail) and not read


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
