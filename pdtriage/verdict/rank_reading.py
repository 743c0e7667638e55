"""One rank by itself: what it says went wrong, whether it survived that, whom it accuses."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial

from pdtriage.knowledge import Knowledge, Signature
from pdtriage.knowledge.slots import title_with
from pdtriage.model import Event, Rank, Says, Text
from pdtriage.support.fast_namedtuple import NamedTuple, maker
from pdtriage.verdict.life import (
    OFTEN,
    Rest,
    end_of,
    is_outlived,
    is_survived,
    may_take_effect_later,
    milestones_in,
    was_caught,
)

NEAR = 40
"""Lines between two events that still belong to one failure."""
LAST_WORDS = 2
"""Lines at the end of a log that count as its last words."""
FAR = 120
"""A failure that far before the last one, without a step in between, was about something else."""
_GROUP = re.compile(r"ExceptionGroup: .*\(\d+ sub-exceptions?\)$")


class Observation(NamedTuple):
    """An event with its file and the signature that recognised it."""

    file: str
    event: Event
    signature: Signature

    @property
    def category(self) -> str:
        return self.event.category or "unknown"

    @property
    def title(self) -> Text:
        return title_with(self.signature, {**self.event.fields, "message": self.event.text})

    @property
    def where(self) -> tuple[str, int]:
        return (self.file, self.event.line)

    @property
    def is_bad_end(self) -> bool:
        """The job ended, and not with 0."""
        return self.event.role == "end" and self.event.fields.get("exit_code", "0") != "0"

    @property
    def ends_process(self) -> bool:
        """Whether nobody caught the exception, or the signal is fatal, for all that can be told."""
        return bool(self.event.final or self.event.ends_at)

    def says(self, *words: Says) -> bool:
        """Its signature carries one of these words."""
        own = self.signature.says
        return bool(own) and not set(words).isdisjoint(own)


class RankReading(NamedTuple):
    """What a rank told of its end; most ranks of a big job have nothing to tell."""

    rank: Rank
    causes: Sequence[Observation] = ()
    """Not survived and not explained by another event of this rank; the first failure first."""
    symptoms: Sequence[Observation] = ()
    """Not survived; those that point at other ranks."""
    inner: Sequence[Observation] = ()
    """Not survived; those that point at an earlier event of this rank."""
    explained: Sequence[Observation] = ()
    """Not survived, but only following from another event of this rank."""
    context: Sequence[Observation] = ()
    """Lines that support a cause of their category and mean nothing alone."""
    survived: Sequence[Observation] = ()
    """Causes after which steps were made; they count only when nothing else explains the end."""
    outlived: Sequence[Observation] = ()
    """What looked bad and was not: it went on for long."""
    milestones: Sequence[Observation] = ()
    """Evaluations, saved models, the end of training."""
    stopped: Observation | None = None
    ended: Observation | None = None
    done: Observation | None = None
    """Its own word that training is done, which nothing below contradicts."""

    @property
    def primary(self) -> Observation | None:
        return self.causes[0] if self.causes else None

    @property
    def interrupted(self) -> Observation | None:
        """Its word that somebody interrupted it, where it had not failed before."""
        primary = self.primary
        return primary if primary is not None and primary.says("interrupted") else None

    @property
    def position(self) -> tuple[int, int]:
        """(epoch, step) of the last progress; (-1, -1) without any."""
        last = self.rank.progress[-1] if self.rank.progress else None
        return (last.epoch or 0, last.step) if last else (-1, -1)

    @property
    def sender(self) -> int | None:
        told = self.stopped.event.fields.get("sender", "") if self.stopped else ""
        return int(told) if told.isdecimal() else None

    @property
    def waited_in(self) -> str | None:
        """The collective it was waiting in when it was stopped."""
        return self.stopped.event.fields.get("waiting_in") if self.stopped else None

    @property
    def quiet(self) -> bool:
        return not (self.causes or self.symptoms or self.inner)

    @property
    def ended_well(self) -> bool:
        """Whether a rank ended well, by its own word or by its parent's."""
        return bool(self.ended or (self.rank.exit and self.rank.exit.code == 0))


def has_words_behind_steps(reading: RankReading) -> bool:
    """Whether a rank spoke after its last step: of an evaluation, say, or that it is done."""
    steps = reading.rank.progress
    return bool(steps) and reading.rank.last_line > steps[-1].line


_made = maker(RankReading)
_NOTHING_TOLD = ((), (), (), (), (), (), (), (), None, None, None)


def read_rank(rank: Rank, knowledge: Knowledge) -> RankReading:
    """Sorts the events of a rank by what they mean for it."""
    if not rank.events:  # as most ranks of a big job
        return _made((rank, *_NOTHING_TOLD))
    known = [
        Observation(file, event, knowledge.signatures[event.signature])
        for file, event in rank.events
        if event.signature in knowledge.signatures
    ]
    stopped = _proof_of_stop([f for f in known if f.event.role == "victim"], rank)
    context = tuple([f for f in known if f.event.role == "context" and f.event.category])
    ended = _good_end(known)
    done = _training_done(known, rank)
    milestones = milestones_in(known)
    telling = _telling([f for f in known if f.event.role in ("cause", "symptom")], rank, stopped)
    if not telling:
        return RankReading(
            rank, context=context, milestones=milestones, stopped=stopped, ended=ended, done=done
        )
    trouble = [end_of(f) for f in known if f.event.role in ("cause", "symptom", "victim")]
    lost = [f for f in telling if f.signature.points == "peer"]
    back = {passage(f) for f in telling if f.signature.points == "earlier"}
    ends = [
        f.event.first_line
        for f in telling
        if f.ends_process and f.event.first_line and passage(f) not in back
    ]
    dying = [f.event.line for f in telling if f.event.final and not f.event.block]
    finishes, recoveries = knowledge.finishes, knowledge.recoveries
    often = _signatures_met_often(telling)
    lost_peers = [f.event.line for f in lost]
    ended_by_peers = [f.event.line for f in lost if f.ends_process]
    rest = Rest(
        *(rank, milestones, trouble, finishes, lost_peers, ended_by_peers),
        *(ends, dying, recoveries, often),
    )
    lived_on = partial(is_outlived, rest=rest)
    unsurvived = _not_survived(telling, partial(is_survived, rest=rest), lived_on, knowledge)
    alive = _before_interruption(_before_cleanup(_not_explained(unsurvived, knowledge)))
    symptoms = tuple([f for f in alive if f.signature.points == "peer"])
    inner = tuple([f for f in alive if f.signature.points == "earlier"])
    causes = [f for f in alive if f.event.role == "cause" and not _is_of_a_handler(f, inner)]
    survived = _without(telling, unsurvived)
    explained = _without(unsurvived, alive)

    def is_over(found: Observation) -> bool:
        return lived_on(found) or not may_take_effect_later(found)

    return RankReading(
        rank,
        causes=tuple(
            _first_failure(_after_symptoms(causes, symptoms, _signs_of_life(rest)), explained)
        ),
        symptoms=symptoms,
        inner=inner,
        explained=tuple(explained),
        context=context,
        survived=tuple([f for f in survived if f.event.role == "cause" and not is_over(f)]),
        outlived=tuple(filter(is_over, survived)),
        milestones=milestones,
        stopped=stopped,
        ended=ended,
        done=done,
    )


def _good_end(known: Sequence[Observation]) -> Observation | None:
    """Where a launcher in the same log saw it fail, that it ended is no success."""
    ends = [f for f in known if f.says("completed")]
    if not ends or any(f.is_bad_end or f.says("failed") for f in known):
        return None
    return ends[-1]


def _training_done(known: Sequence[Observation], rank: Rank) -> Observation | None:
    """The program says so, and neither a step nor trouble follows."""
    said = [f for f in known if f.says("training-done")]
    last_step = rank.progress[-1].line if rank.progress else 0
    if not said or rank.mixed or said[-1].event.line < last_step:
        return None
    trouble = [f for f in known if f.event.role in ("cause", "symptom", "victim")]
    return None if any(f.where > said[-1].where for f in trouble) else said[-1]


def _proof_of_stop(said: Sequence[Observation], rank: Rank) -> Observation | None:
    """The proof that somebody else stopped it; the best one names who.

    A process that stops its readers, or goes on after that, is not stopped itself.
    """
    alone = not rank.mixed
    itself = {str(pid) for pid in rank.pids} if alone else set()
    last = rank.progress[-1].line if rank.progress and alone else 0
    children = {passage(f) for f in said if _sender(f) in (*itself, f.event.fields.get("pid", ""))}
    stops = [f for f in said if passage(f) not in children and f.event.line > last]
    named = [f for f in stops if "sender" in f.event.fields]
    return named[0] if named else stops[0] if stops else None


def _telling(
    errors: list[Observation], rank: Rank, stopped: Observation | None
) -> list[Observation]:
    """What a process says while it is torn down is no news."""
    telling = _often_enough(errors, rank)
    if stopped is None or rank.mixed:
        return telling
    at = stopped.where
    return [f for f in telling if f.where < at]


def _without(found: list[Observation], subset: Sequence[Observation]) -> list[Observation]:
    """The observations that are not in `subset`, in their order."""
    left_out = {id(f) for f in subset}
    return [f for f in found if id(f) not in left_out]


def _sender(found: Observation) -> str:
    return found.event.fields.get("sender", "-")


def passage(found: Observation) -> tuple[str, int, int]:
    """What was printed in one go: the lines of a signal's block, of a traceback, or one line."""
    block = found.event.block
    return (found.file, block, 0 if block else found.event.line)


def _often_enough(found: list[Observation], rank: Rank) -> list[Observation]:
    """A retry means something only when it comes again and again, or is the last word."""
    if all(f.signature.repeats <= 1 for f in found):
        return found
    counts: dict[tuple[str, str], int] = {}
    for f in found:
        counts[_repetition_key(f)] = counts.get(_repetition_key(f), 0) + f.event.count
    last_words = " ".join(rank.tail[-LAST_WORDS:])
    kept = []
    for f in found:
        wanted = f.signature.repeats
        if wanted > 2 and not rank.progress and any(w in last_words for w in f.signature.literals):
            wanted = max(2, wanted // 2)
        if counts[_repetition_key(f)] >= wanted:
            kept.append(f)
    return kept or [f for f in found if _ends_on_nan(f, rank)]


def _signatures_met_often(found: Sequence[Observation]) -> set[str]:
    counts: dict[str, int] = {}
    for f in found:
        counts[f.signature.id] = counts.get(f.signature.id, 0) + f.event.count
    return {name for name, count in counts.items() if count >= OFTEN}


def _repetition_key(found: Observation) -> tuple[str, str]:
    """What has to come again: of several peers each may be late once."""
    fields = found.event.fields
    return found.event.signature, fields.get("peer_addr") or fields.get("peer_rank", "")


def _ends_on_nan(found: Observation, rank: Rank) -> bool:
    """A log that says nothing else and stops at a loss of NaN: there is no step after it to ask."""
    if found.category != "numeric.nan" or found.signature.repeats > 2 or not rank.tail:
        return False
    return any(word in rank.tail[-1] for word in found.signature.literals)


def _not_survived(
    found: list[Observation],
    is_survived: Callable[[Observation], bool],
    is_outlived: Callable[[Observation], bool],
    knowledge: Knowledge,
) -> list[Observation]:
    """The errors but for those that life came after, unless a later failure goes back to them."""
    # of exceptions raised from each other the last one tells whether they were caught
    last = {passage(f): f for f in sorted(found, key=lambda f: f.where)}
    dead = [f for f in found if not is_survived(last[passage(f)])]
    if len(dead) == len(found):
        return dead
    caught = [f for f in _without(found, dead) if f.event.block]
    dead = [d for d in dead if not _has_lived_to_catch(d, caught)]
    for f in _without(found, dead):
        follows = [] if is_outlived(f) else [d for d in dead if d.where > f.where]
        if any(knowledge.explains(f.event.signature, d.event.signature) for d in follows):
            dead.append(f)
    fatal = {passage(d) for d in dead}  # the words of one traceback stand and fall together
    dead.extend(f for f in _without(found, dead) if passage(f) in fatal)
    return _without(found, _without(found, dead))


def _has_lived_to_catch(found: Observation, caught: Sequence[Observation]) -> bool:
    """A later exception was survived: so was this one, which ended nothing by itself."""
    if not found.event.block or found.ends_process or may_take_effect_later(found):
        return False
    return any(f.file == found.file and f.event.first_line > found.event.line for f in caught)


def without_outlived(reading: RankReading, outlived: Sequence[Observation]) -> RankReading:
    """A reading without errors that the rank went on after, as other ranks show."""
    return reading._replace(
        causes=tuple(_without([*reading.causes], outlived)),
        symptoms=tuple(_without([*reading.symptoms], outlived)),
        inner=tuple(_without([*reading.inner], outlived)),
        survived=tuple(_without([*reading.survived], outlived)),
        outlived=(*reading.outlived, *outlived),
    )


def _not_explained(found: list[Observation], knowledge: Knowledge) -> list[Observation]:
    """The errors but for those that another event of the same rank explains."""
    if len(found) <= 1:
        return found
    return [f for f in found if not _is_explained(f, found, knowledge)]


def _is_explained(f: Observation, found: Sequence[Observation], knowledge: Knowledge) -> bool:
    explaining = knowledge.explained_by.get(f.event.signature, frozenset())
    return any(
        g is not f
        and not knowledge.explains(f.event.signature, g.event.signature)
        and (g.event.block == f.event.block or g.where <= f.where)
        for g in found
        if g.event.signature in explaining
    )


def _before_cleanup(found: list[Observation]) -> list[Observation]:
    """The errors but for what failed only when the main program cleaned up after one of them."""
    failed = {passage(f) for f in found if "cleanup" not in f.event.fields}
    return [f for f in found if "cleanup" not in f.event.fields or passage(f) not in failed]


def _before_interruption(found: list[Observation]) -> list[Observation]:
    """The errors but for what a process says on its way out after it was interrupted.

    What comes long after, below lines that are no news, is another failure.
    """
    ordered = sorted(found, key=lambda f: f.where)
    at = next((n for n, f in enumerate(ordered) if f.says("interrupted")), None)
    if at is None:
        return found
    followed = []
    for earlier, later in itertools.pairwise(ordered[at:]):
        if not _together(earlier, later, FAR):
            break
        followed.append(later)
    return _without(found, followed)


def _is_of_a_handler(cause: Observation, hints: Sequence[Observation]) -> bool:
    """Whether an error was raised, without a word of its own, while another one was handled.

    One that a thread raised is its own, though another thread speaks in the midst of it.
    """
    own = cause.event
    above = [hint.event for hint in hints if hint.where < cause.where]
    handled = [hint for hint in above if own.block and hint.block == own.block]
    if "thread" in own.fields and any("thread" not in hint.fields for hint in handled):
        return False
    return cause.signature.generic and bool(handled)


def _signs_of_life(rest: Rest) -> list[int]:
    """Lines that only a living process writes."""
    steps = [step.line for step in rest.rank.progress]
    return sorted([*steps, *rest.rank.ordinary, *(f.event.line for f in rest.milestones)])


def _lived_between(symptom: Observation, cause: Observation, life: Sequence[int]) -> bool:
    """What a thread met, its process went on after: what ended that later is another matter."""
    begin = cause.event.first_line or cause.event.line
    after = bisect_right(life, symptom.event.last_seen)
    return after < len(life) and life[after] < begin


def _after_symptoms(
    causes: Sequence[Observation], symptoms: Sequence[Observation], life: Sequence[int]
) -> list[Observation]:
    """A general cause (an abort, a bare exception) right after a symptom only ends it."""
    return [
        cause
        for cause in causes
        if not (
            cause.signature.generic
            and any(
                s.file == cause.file
                and (
                    (s.event.block and s.event.block == cause.event.block)
                    or 0 <= cause.event.line - s.event.last_seen <= NEAR
                )
                and not _lived_between(s, cause, life)
                for s in symptoms
            )
        )
    ]


def _first_failure(
    causes: list[Observation], explained: Sequence[Observation]
) -> list[Observation]:
    """The earliest cluster of the failure that ended the rank; in it the most specific first.

    What the main program had caught is no reason that its readers ended: it went on to that.
    """
    if len(causes) <= 1:
        return causes
    clusters: list[list[Observation]] = []
    for cause in sorted(causes, key=lambda f: f.where):
        if clusters and _together(clusters[-1][-1], cause, NEAR):
            clusters[-1].append(cause)
        else:
            clusters.append([cause])
    chosen = len(clusters) - 1
    while chosen > 0 and _together(clusters[chosen - 1][-1], clusters[chosen][0], FAR):
        chosen -= 1
    rest = [cause for cluster in clusters[chosen + 1 :] for cause in cluster]
    ended = any(f.ends_process and f.category != "code.crash" for f in clusters[chosen])
    by_readers = any(f.ends_process and f.signature.points == "earlier" for f in explained)

    def rank_of(found: Observation) -> tuple[object, ...]:
        # The main program ended by an exception of its own, and no reader of data had died.
        is_reader = found.category.startswith("data")
        aside = ended and not is_reader and "thread" in found.event.fields
        caught = by_readers and was_caught(found) and found.event.block > 0
        return found.signature.generic, aside, _is_group(found), caught, found.where

    first = sorted(clusters[chosen], key=rank_of)
    return first + rest


def _is_group(found: Observation) -> bool:
    """The head of an exception group only counts its members; one of them says what happened."""
    return bool(_GROUP.search(found.event.text))


def _together(earlier: Observation, later: Observation, gap: int) -> bool:
    if earlier.file != later.file:
        return False
    if earlier.event.block and earlier.event.block == later.event.block:
        return True
    end = max(earlier.event.last_line, earlier.event.last_seen, earlier.event.line)
    begin = later.event.first_line or later.event.line
    return begin - end <= gap
