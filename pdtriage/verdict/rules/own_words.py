"""Suspects told by words of their own log: causes, errors they survived for a while, last words."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import Text
from pdtriage.support.lazy_regex import lazy_compile
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.good_ends import ends_on_a_fatal_word
from pdtriage.verdict.life import is_of_a_thread_aside, may_take_effect_later, steps_after
from pdtriage.verdict.rank_reading import Observation, RankReading, has_words_behind_steps
from pdtriage.verdict.rules.collectives import with_the_odd_one
from pdtriage.verdict.rules.deaths import (
    BARE_EXCEPTION,
    SILENT,
    first_to_fail,
    is_bare_exception,
    named_by_console,
    names_exception,
    without_words,
)
from pdtriage.verdict.rules.kernel_log import killed_for_memory, with_hardware
from pdtriage.verdict.rules.launcher import cause_of_launcher
from pdtriage.verdict.rules.pod_ends import ended_by_cluster, with_words_of_their_own
from pdtriage.verdict.rules.rule import (
    Rule,
    doubtful_success,
    no_success,
    no_success_and_over,
)
from pdtriage.verdict.rules.stopped import stopped_by_outsiders
from pdtriage.verdict.suspects import (
    Suspect,
    by_hint,
    by_own_words,
    own_suspects,
    silent_suspect,
    strong_suspects,
)

_SAYS_ERROR = lazy_compile(r"^(?:[^\"'(]{0,60}?\bERROR\b|(?:fatal )?[Ee]rror\s?:)")


def own_causes(evidence: RunEvidence) -> list[Suspect]:
    """Ranks with a cause of their own, beside those that the kernel or the cluster ended."""
    strong = strong_suspects(evidence)
    if not strong or _lived_on(evidence, strong) or _lived_to_be_stopped(evidence, strong):
        return []
    strong = _without_bystanders(_without_good_exits(strong, evidence), evidence)
    strong = [suspect for suspect in strong if not _is_hearsay_only(suspect, evidence)]
    strong = with_the_odd_one(strong, evidence)
    killed = killed_for_memory(evidence)
    named = {suspect.rank.key for suspect in killed if suspect.rank}
    strong = [s for s in strong if not (s.rank and s.rank.key in named)]
    if evidence.cluster and strong:
        strong = with_words_of_their_own(ended_by_cluster(evidence), strong)
    return [*killed, *(with_hardware(suspect, evidence.kernel) for suspect in strong)]


def _without_good_exits(strong: list[Suspect], evidence: RunEvidence) -> list[Suspect]:
    """The ranks but for those seen to end with 0, where their parent saw another one fail."""
    exits = [reading.rank.exit for reading in evidence.readings if reading.rank.exit]
    seen = [ending for ending in exits if ending.seen_by == "parent" and not ending.stopped]
    if not any(ending.code or ending.signal for ending in seen):
        return strong
    return [
        s
        for s in strong
        if not (s.rank and s.rank.exit and s.rank.exit in seen and s.rank.exit.code == 0)
    ]


def _without_bystanders(strong: list[Suspect], evidence: RunEvidence) -> list[Suspect]:
    """Where one failed by itself: without those who had caught something, or lost a thread, and
    were alive until they were stopped.

    What a reader met may have stopped a process all the same.
    """
    stopped = {reading.rank.key for reading in evidence.readings if reading.stopped}

    def was_stopped(suspect: Suspect) -> bool:
        return suspect.was_stopped or (suspect.rank is not None and suspect.rank.key in stopped)

    failed = [suspect for suspect in strong if not was_stopped(suspect)]
    uncaught = any(suspect.found and suspect.found.ends_process for suspect in failed)
    if not uncaught and not any(suspect.order == 0 for suspect in failed):
        return strong
    return [
        suspect for suspect in strong if not (was_stopped(suspect) and _is_over(suspect, uncaught))
    ]


def _is_over(suspect: Suspect, uncaught: bool) -> bool:
    """`uncaught` says that another one ended by an exception that nobody caught."""
    found = suspect.found
    if found is None or _was_caught(found):
        return found is not None
    said = [f for f in (found, *suspect.support) if f.signature is found.signature]
    in_thread = any("thread" in f.event.fields for f in said)
    return uncaught and in_thread and not found.category.startswith("data")


def _is_hearsay_only(suspect: Suspect, evidence: RunEvidence) -> bool:
    """The console shows what it caught, and the launcher names others as failed."""
    rank, found = suspect.rank, suspect.found
    if rank is None or found is None or not (rank.mixed and rank.pids):
        return False
    return bool(evidence.named) and rank.rank not in evidence.named and _was_caught(found)


def _was_caught(found: Observation) -> bool:
    return found.event.block > 0 and not found.ends_process and not may_take_effect_later(found)


def _lived_on(evidence: RunEvidence, strong: Sequence[Suspect]) -> bool:
    """All who show an error were alive until they were stopped, and somebody else was not.

    The parent's word is the strongest: who died without a word comes first, unless it may have
    died of what another one says clearly.
    """
    if any(suspect.accusers or not suspect.stopped_by_launcher for suspect in strong):
        return False
    gone = first_to_fail(evidence)
    if gone is None:
        return False
    return gone.was_killed or not any(suspect.is_clear for suspect in strong)


def _lived_to_be_stopped(evidence: RunEvidence, strong: Sequence[Suspect]) -> bool:
    """All have caught an error and lived on until they were stopped, one of them by a stranger."""
    if len(strong) < len(evidence.readings) or not all(r.stopped for r in evidence.readings):
        return False
    caught = all(suspect.found and _was_caught(suspect.found) for suspect in strong)
    return caught and bool(stopped_by_outsiders(evidence))


def survived_errors(evidence: RunEvidence) -> list[Suspect]:
    """Ranks that went on for a few steps after an error and then stopped for good.

    A reader thread that died leaves its queue behind: the steps it had prepared are still made.
    That may explain a bad end that somebody saw; it makes none of a log that merely stops.
    """
    went_on = [reading for reading in evidence.readings if reading.survived]
    if all(reading.stopped for reading in evidence.readings):  # nobody had failed by itself
        went_on = [r for r in went_on if not all(map(is_of_a_thread_aside, r.survived))]
    if not evidence.ended_badly:
        return []
    stop = cause_of_launcher(evidence) if went_on else None
    if not went_on or (stop and stop.category == "external.kill"):
        return []
    accused = {rank.key for accusation in evidence.accusations for rank in accusation.accused}
    # who waits for somebody in turn is no end of the chain
    accused -= {accusation.accuser.rank.key for accusation in evidence.accusations}
    accused -= {r.rank.key for r in evidence.readings if r.primary and _is_of_a_connection(r)}
    suspects = [
        _by_survived_error(reading, evidence)
        for reading in went_on
        if not (reading.symptoms or reading.causes) and (not accused or reading.rank.key in accused)
    ]
    suspects.sort(key=Suspect.strength)
    gone = None if evidence.accusations else first_to_fail(evidence)
    if gone is None:
        return suspects
    return [] if gone.was_killed else [s for s in suspects if s.rank is gone.rank]


def _is_of_a_connection(reading: RankReading) -> bool:
    """Whether a rank ended because of what another one did, or did not."""
    families = [(f.category.partition(".")[0], f.signature.generic) for f in reading.causes]
    return all(family == "comm" or generic for family, generic in families)


def _by_survived_error(reading: RankReading, evidence: RunEvidence) -> Suspect:
    first = min(reading.survived, key=lambda f: (f.signature.generic, f.event.line))
    others = [f for f in reading.survived if f is not first][:2]
    why = wording.went_on(len(steps_after(first, reading.rank.progress)))
    return by_own_words(first, reading, others, evidence, why)


def consequences(evidence: RunEvidence) -> list[Suspect]:
    """Ranks whose own cause may follow from another one's failure, where no other is known."""
    return [
        suspect
        for suspect in own_suspects(evidence)
        if not (_only_follows(suspect, evidence) or _is_hearsay_only(suspect, evidence))
    ]


def _only_follows(suspect: Suspect, evidence: RunEvidence) -> bool:
    """A crash without a word of its own, below the complaint of another one in the same console.

    A connection breaks when its process is gone, and that one has told of its crash before.
    """
    found = suspect.found
    if found is None or found.category != "code.crash" or not found.signature.generic:
        return False
    own = suspect.rank.key if suspect.rank else None
    return any(
        complaint.found.file == found.file
        and complaint.found.event.line < found.event.line
        and (
            complaint.accuser.rank.rank is None
            if found.says("by-shell")
            else own is not None and complaint.accuser.rank.key != own
        )
        for complaint in evidence.accusations
    )


def hints(evidence: RunEvidence) -> list[Suspect]:
    """Ranks with a symptom that points at an earlier event which is not in the log."""
    hinting = [r for r in evidence.readings if r.inner and not _points_at_a_lost_peer(r)]
    if hinting and (gone := _gone_before(hinting, evidence)):
        return gone
    return sorted(map(by_hint, hinting), key=Suspect.strength)


def _gone_before(hinting: Sequence[RankReading], evidence: RunEvidence) -> list[Suspect]:
    """The rank that had gone when loader workers of the others ended, as a stop ends them.

    Killed, by the word of the launcher; or the only one that does not say such a thing.
    """
    keys = {reading.rank.key for reading in hinting}
    killed = [s for s in named_by_console(evidence) if s.was_killed and s.rank]
    if killed and not any(s.rank and s.rank.key in keys for s in killed):
        return killed
    others = [r for r in evidence.readings if r.rank.key not in keys]
    left = others[0] if len(others) == 1 and len(hinting) > 1 else None
    if left is None or not left.quiet or not left.rank.lines or left.stopped or left.ended_well:
        return []
    if len({r.inner[0].event.signature for r in hinting}) > 1:
        return []
    words = [reading.inner[0] for reading in hinting[:2]]
    why, position = wording.OTHERS_LOST_WORKERS, left.position
    return [without_words(SILENT, "unknown", left.rank, words, why, position=position)]


def _points_at_a_lost_peer(reading: RankReading) -> bool:
    """What the first hint points at is here: before it the rank says that it lost somebody."""
    first = reading.inner[0]
    return any(s.file == first.file and s.event.line < first.event.line for s in reading.symptoms)


def bare_exceptions(evidence: RunEvidence) -> list[Suspect]:
    """Ranks with an exception's line alone: a copied log may have lost the traceback above."""
    ended = [r for r in evidence.readings if r.quiet and not (r.stopped or r.ended)]
    raised = [
        silent_suspect(
            BARE_EXCEPTION,
            "code.python",
            reading.rank,
            (),
            wording.TRACEBACK_MISSING,
            position=reading.position,
        )
        for reading in ended
        if _tells_an_exception(reading, evidence)
    ]
    return raised or [
        silent_suspect(
            SILENT,
            "unknown",
            reading.rank,
            (),
            wording.LAST_WORD_IS_AN_ERROR,
            position=reading.position,
        )
        for reading in ended
        if _ends_in_an_error(reading, evidence)
    ]


def _ends_in_an_error(reading: RankReading, evidence: RunEvidence) -> bool:
    """Its last line is a program's farewell, and everybody else got further.

    What is fatal is one; of a mere error all others have to say that they are done.
    """
    last = reading.rank.tail[-1] if reading.rank.tail and not reading.rank.mixed else ""
    others = [r for r in evidence.readings if r is not reading]
    if not others or not all(r.rank.lines and r.quiet for r in others):
        return False
    fatal = ends_on_a_fatal_word(reading.rank)
    if fatal and all(_came_as_far(r, reading) for r in others):
        return True
    if any(r.stopped for r in others) or evidence.says_finished(reading):
        return False
    return all(map(evidence.says_finished, others)) and (fatal or bool(_SAYS_ERROR.match(last)))


def _came_as_far(other: RankReading, reading: RankReading) -> bool:
    """And had something to say behind its last step."""
    return other.position >= reading.position and has_words_behind_steps(other)


def _tells_an_exception(reading: RankReading, evidence: RunEvidence) -> bool:
    """Python's own line, or in words of the program, where it ended with them for all one sees."""
    if is_bare_exception(reading.rank):
        return True
    ended = evidence.ended_badly or _ends_in_an_error(reading, evidence)
    return ended and names_exception(reading.rank)


RULES = (
    Rule(
        "trainer-failed-unseen",
        Text(
            "a trainer failed although the launcher ended with 0",
            "启动器以 0 退出，但有 trainer 失败",
        ),
        doubtful_success,
        strong_suspects,
    ),
    Rule(
        "own-cause",
        Text("a rank's own log says what ended it", "rank 自己的日志说明了它因何结束"),
        no_success,
        own_causes,
        {
            "interrupted-first": Text(
                "what ranks say when they were stopped follows from that",
                "rank 被停止时的报错都由停止引起",
            ),
            "watched": Text(
                "who had all logs knows more than the words of those whose logs are left",
                "当时看过全部日志的报告，比剩下的日志更可信",
            ),
        },
    ),
    Rule(
        "survived-error",
        Text(
            "a rank went on for a few steps after an error of its own and then stopped",
            "某个 rank 出错后又走了几步才停止",
        ),
        no_success,
        survived_errors,
        {
            "pod-end": Text(
                "an error it went on after is weaker than an end the cluster saw",
                "出错后仍继续运行，其证据弱于集群看到的结束",
            )
        },
    ),
    Rule(
        "consequence",
        Text(
            "its own words, which may follow from another rank's failure",
            "它自己的报错，但可能由其他 rank 的失败引起",
        ),
        no_success,
        consequences,
        {
            "pod-exit": Text(
                "who died of an error code without a word broke the others' connections",
                "无声地以错误码退出的进程，断开了其他进程的连接",
            )
        },
    ),
    Rule(
        "hint",
        Text(
            "its own words point at something earlier that is not in the log",
            "它的报错指向更早的事件，而日志中没有",
        ),
        no_success,
        hints,
        {
            "consequence": Text(
                "a cause says more than a hint at something that is not in the log",
                "明确的原因比指向日志之外的线索更能说明问题",
            )
        },
    ),
    Rule(
        "bare-exception",
        Text(
            "its log ends with an exception without a traceback, or with a fatal word",
            "其日志以没有 traceback 的异常或致命错误结束",
        ),
        no_success_and_over,
        bare_exceptions,
        {
            "hint": Text(
                "a recognised line says more than one that only looks like an exception",
                "能识别的行比仅仅看起来像异常的行更可信",
            )
        },
    ),
)
