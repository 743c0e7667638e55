"""A short timeline of a run: what was seen, in the best order the evidence allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pdtriage.knowledge import Knowledge
from pdtriage.knowledge.slots import title_with
from pdtriage.model import Cause, Exit, Moment, RunFacts, Says, Text
from pdtriage.verdict import wording
from pdtriage.verdict.fingerprint import shape
from pdtriage.verdict.host_clocks import clock_offsets, culprit_places
from pdtriage.verdict.judgement import Judgement
from pdtriage.verdict.rank_reading import NEAR, Observation, RankReading
from pdtriage.verdict.rank_rows import parents_word

MOST = 40
Place = tuple[str, int]
Who = tuple[str, int | None]
Blamed = tuple[str, int, str]
"""Whom a cause blames, and its signature."""
HOUR = 3600.0
AT_ONCE = 1.0
"""Seconds."""
OF_A_KIND = 8
"""Of a thousand ranks that say the same, the first few are shown; each has its lane besides."""


def timeline_of(facts: RunFacts, judgement: Judgement, knowledge: Knowledge) -> tuple[Moment, ...]:
    """Start, errors, signals and exits, in the order of time as far as there is one."""
    moments: list[Moment] = []
    lines = {(c.evidence[0].file, c.evidence[0].line) for c in judgement.causes if c.evidence}
    blamed = {(c.role, rank, c.signature) for c in judgement.causes for rank in c.ranks}
    launchers = {
        (line.file, line.line)
        for cause in judgement.causes
        if cause.role == "launcher"
        for line in cause.evidence
    }
    guilty = {who for cause in judgement.causes for who in _blamed_by(cause)}
    culprits = culprit_places(judgement)
    offsets = clock_offsets(judgement.readings, culprits)
    for reading in judgement.readings:
        if not reading.quiet or reading.survived or reading.stopped or reading.rank.exit:
            seen = _moments_of(reading, lines, blamed, launchers)
            moments.extend(_corrected(seen, offsets.get(reading.rank.host or "", 0.0)))
    findings: set[Moment] = set()
    stops: set[Moment] = set()
    launcher_words: set[tuple[str, Text]] = set()
    for path, event in facts.launcher:
        signature = knowledge.signatures.get(event.signature)
        if signature and "milestone" in signature.says:
            words = title_with(signature, event.fields)
            if (path, words) in launcher_words:
                continue
            launcher_words.add((path, words))
            moments.append(Moment(event.time, None, "launcher", words, "launcher"))
            if _FINDS.intersection(signature.says):
                findings.add(moments[-1])
            if "launcher-stopped" in signature.says:
                stops.add(moments[-1])
    moments.extend(_ends_of_launchers(facts))
    began = facts.run.started
    moments = [_without_an_older_time(moment, began) for moment in dict.fromkeys(moments)]
    moments = _with_the_culprit(moments, facts, judgement, culprits)
    done = _orderly_ends(moments, judgement.readings)
    moments = _stop_first(_by_time(moments, guilty, findings, done), stops)
    moments = _cause_first(moments, judgement.causes[:1], findings, done)
    if began is not None:
        start = _first_by_one_clock(began, judgement.readings, offsets)
        words = Text("run started", "运行开始")
        moments.insert(0, Moment(start, None, "start", words, "launcher", start != began))
    return _telling(moments, guilty)


def _first_by_one_clock(
    began: float, readings: Iterable[RankReading], offsets: Mapping[str, float]
) -> float:
    """When a run began by the culprit's clock, where the host that told it has another."""
    told = (r.rank for r in readings if began in (r.rank.first_time, r.rank.started))
    return min((began - offsets.get(rank.host or "", 0.0) for rank in told), default=began)


def _without_an_older_time(moment: Moment, began: float | None) -> Moment:
    """A line that tells no time was given that of a line above, perhaps of an earlier run."""
    is_older = began is not None and moment.t is not None and moment.t < began - HOUR
    return moment._replace(t=None) if is_older else moment


def _blamed_by(cause: Cause) -> Iterator[Who]:
    for rank in cause.ranks[:OF_A_KIND] or (None,):
        yield cause.role, rank


def _ends_of_launchers(facts: RunFacts) -> Iterator[Moment]:
    """Those that were told to stop, and Paddle's that a signal ended."""
    for stop in facts.stops:
        yield Moment(stop.time, None, "signal", wording.launcher_stopped(stop), "launcher")
    for gone in facts.vanished:
        if gone.signal is not None:
            told = parents_word(Exit(signal=gone.signal))
            yield Moment(gone.time, None, "exit", told, "launcher")


def _corrected(moments: Iterable[Moment], offset: float) -> Iterator[Moment]:
    """The moments by the culprit's clock, marked where a host's clock is known to differ."""
    for moment in moments:
        is_own = moment.t is not None and moment.role != "launcher"
        if offset and is_own and moment.t is not None:
            moment = moment._replace(t=moment.t - offset, about=True)
        yield moment


def _with_the_culprit(
    moments: list[Moment], facts: RunFacts, judgement: Judgement, culprits: Iterable[int]
) -> list[Moment]:
    """The moments with what a culprit without a word did: its end, not before its last line; or
    that it stood still, since nothing moved any more."""
    still = facts.standstill if judgement.verdict == "hung" else None
    for place in culprits:
        rank = judgement.readings[place].rank
        kinds = {m.kind for m in moments if (m.role, m.rank) == (rank.role, rank.rank)}
        if not kinds or (judgement.verdict == "hung" and "error" not in kinds):
            since = still.time - still.still if still and still.still else rank.last_time
            title = judgement.causes[0].title
            moments.append(Moment(since, rank.rank, "error", title, rank.role, True))
            break
    return moments


def with_moments(timeline: tuple[Moment, ...], more: Iterable[Moment]) -> tuple[Moment, ...]:
    """The timeline with further moments, each before the first that is known to be later."""
    moments = list(timeline)
    for one in more:
        later = [
            place
            for place, moment in enumerate(moments)
            if one.t is not None and moment.t is not None and moment.t > one.t
        ]
        moments.insert(later[0] if later else len(moments), one)
    return tuple(moments)


def _moments_of(
    reading: RankReading,
    lines: Collection[Place],
    blamed: Collection[Blamed],
    launchers: Collection[Place],
) -> Iterator[Moment]:
    """What one rank says of its end, and how its parent saw it.

    What the report blames is told even where the rank went on after it for a while; what a
    launcher says went wrong is the launcher's, although its console counts as a rank's log.
    """
    rank = reading.rank
    said = [("error", f) for f in (*reading.survived, *reading.inner) if f.where in lines]
    said += [("error", f) for f in _own_errors(reading, blamed)]
    said += [("symptom", f) for f in reading.symptoms[:1]]
    if reading.stopped:
        said.append(("signal", reading.stopped))
    for kind, found in said:
        title = found.title
        if kind == "error" and found.where in launchers:
            yield Moment(found.event.time, None, kind, title, "launcher")
        else:
            yield Moment(found.event.time, rank.rank, kind, title, rank.role)
    if rank.exit and (rank.exit.code is not None or rank.exit.signal is not None):
        yield Moment(rank.exit.time, rank.rank, "exit", parents_word(rank.exit), rank.role)


def _own_errors(reading: RankReading, blamed: Collection[Blamed]) -> Sequence[Observation]:
    """At most two, what the report blames first; what stands around that is of the same failure."""
    rank = reading.rank
    known = {signature for role, number, signature in blamed if (role, number) == rank.key[:2]}
    chief = next((f for f in reading.causes if f.signature.id in known), None)
    if chief is None:
        return reading.causes[:2]
    around = [f for f in reading.causes if f is not chief and _is_one_failure(f, chief)]
    if chief.event.time is None:
        time = next((f.event.time for f in around if f.event.time is not None), None)
        chief = chief._replace(event=chief.event._replace(time=time))
    others = [f for f in reading.causes if f.where != chief.where and f not in around]
    return [chief, *others][:2]


def _is_one_failure(found: Observation, chief: Observation) -> bool:
    own, time = found.event, chief.event.time
    is_later = own.time is not None and time is not None and own.time > time + AT_ONCE
    is_near = abs(own.line - chief.event.line) <= NEAR
    return found.file == chief.file and is_near and not is_later


def _telling(moments: list[Moment], guilty: Iterable[tuple[str, int | None]]) -> tuple[Moment, ...]:
    """At most `MOST` moments in their order: culprits and launchers, then a few of each kind."""
    if len(moments) <= MOST:
        return tuple(moments)
    guilty = {*guilty, ("launcher", None)}
    chosen = [place for place, m in enumerate(moments) if (m.role, m.rank) in guilty][:MOST]
    seen: Counter[tuple[str, str]] = Counter()
    for place, moment in enumerate(moments):
        if len(chosen) == MOST:
            break
        alike = moment.kind, shape(moment.text.en)
        seen[alike] += 1
        if place not in chosen and seen[alike] <= OF_A_KIND:
            chosen.append(place)
    return tuple(moments[place] for place in sorted(chosen))


def _orderly_ends(moments: Iterable[Moment], readings: Iterable[RankReading]) -> set[Moment]:
    """Who ended with 0 by itself may have been done: that follows from nobody's failure."""
    ends = ((r.rank, r.rank.exit) for r in readings)
    done = {
        (rank.role, rank.rank) for rank, end in ends if end and end.code == 0 and not end.stopped
    }
    return {m for m in moments if m.kind == "exit" and (m.role, m.rank) in done}


def _by_time(
    moments: list[Moment], guilty: set[Who], findings: set[Moment], done: set[Moment]
) -> list[Moment]:
    """Moments in the order of time; without one, what a rank said stands before its known death.

    The error of a culprit stands before all that it led to.
    """
    deaths = {(m.role, m.rank): m.t for m in moments if m.kind == "exit" and m.t is not None}
    fallen = [m for m in moments if (m.kind in _FALLS and m not in done) or m in findings]
    first = min((m.t for m in fallen if m.t is not None), default=None)

    def key(moment: Moment) -> tuple[bool, float, bool, bool]:
        who = (moment.role, moment.rank)
        caused = moment.t is None and moment.kind == "error" and who in guilty
        time = first if caused else deaths.get(who) if moment.t is None else moment.t
        return time is None, time or 0.0, moment.t is not None, not caused

    return sorted(moments, key=key)


def _stop_first(moments: list[Moment], stops: set[Moment]) -> list[Moment]:
    """Who was stopped tells the second alone, and so stands below what stopped it within that."""
    for stop in [moment for moment in moments if moment in stops and moment.t is not None]:
        place, second = moments.index(stop), float(int(stop.t or 0.0))
        early = [m for m in moments[:place] if m.kind == "signal" and m.t == second]
        others = [m for m in moments[:place] if m not in early]
        stopped = [m._replace(t=stop.t) for m in early]
        moments = [*others, stop, *stopped, *moments[place + 1 :]]
    return moments


def _cause_first(
    moments: list[Moment],
    causes: Sequence[Cause],
    findings: set[Moment],
    done: set[Moment],
) -> list[Moment]:
    """Moments with what the culprit did first before all others say of it, and before its own end.

    Its parent may have seen it later than those who were connected to it, and its own clock may
    be behind theirs; its time is then theirs, and marked. When a launcher was stopped is known
    better than when a rank complained, which may have the time of an earlier line.
    """
    own = [n for n, m in enumerate(moments) if any(_is_own(m, cause) for cause in causes)]
    first = next((n for n in own if moments[n].kind not in _ENDS), next(iter(own), None))
    fallen = (n for n, m in enumerate(moments) if n in own or m not in done)
    effects = (n for n in fallen if moments[n] in findings or _is_end(moments[n], n in own))
    place = next((n for n in effects if n != first), None)
    if first is None or place is None or first < place:
        return moments
    cause, effect = moments.pop(first), moments[place]
    if cause.role == "launcher" and cause.kind in _FALLS and cause.t is not None:
        before, after = moments[:place], moments[place:]
        ends = [m for m in after if m.kind == "exit" and m.t is not None and m.t < cause.t]
        return [*before, *ends, cause, *(_not_before(cause.t, m) for m in after if m not in ends)]
    if effect.t is not None and (cause.t is None or cause.t > effect.t):
        cause = cause._replace(t=effect.t, about=True)
    elif effect.t is None:
        cause = cause._replace(t=None)
    moments.insert(place, cause)
    return moments


def _not_before(time: float, moment: Moment) -> Moment:
    if moment.t is None or moment.t >= time or moment.kind not in _FALLS:
        return moment
    return moment._replace(t=time, about=True)


def _is_own(moment: Moment, cause: Cause) -> bool:
    """Whether it is of whom the cause blames; of a launcher, which says much, its end or that."""
    if cause.role == "launcher":
        is_it = moment.kind in _ENDS or moment.text == cause.title
        return moment.role == "launcher" and is_it
    return moment.role == cause.role and moment.rank in cause.ranks[:OF_A_KIND]


def _is_end(moment: Moment, is_own: bool) -> bool:
    """Of the culprit how it ended; of other ranks all that a fall of another makes them say."""
    return moment.kind in (_ENDS if is_own else _FALLS) and (is_own or moment.role != "launcher")


_FALLS = ("symptom", "signal", "exit")
_ENDS = ("signal", "exit")
_FINDS: frozenset[Says] = frozenset({"process-failed", "lists-failed", "names-culprit"})
"""A launcher that says so has looked at processes that were dead before."""
