"""The runs of a job, judged, and the reports cut from that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pdtriage.analysis.baseline import GoodRun, earlier_success, note_on_unknown_end
from pdtriage.analysis.pipeline import NoSuchRun, Which
from pdtriage.hang.stragglers import notes_on_pace, step_courses, stragglers_of
from pdtriage.knowledge import Knowledge
from pdtriage.masking.redact import mask_secrets, sentences_of
from pdtriage.model import (
    Baseline,
    Difference,
    JobRow,
    Language,
    Moment,
    RankRow,
    Report,
    Run,
    RunFacts,
    Seam,
    Text,
    VerdictExplanation,
    VerdictWord,
)
from pdtriage.scan.lines import Prefixes
from pdtriage.support.gc_pause import gc_paused
from pdtriage.verdict import Judgement, judge, signatures_reported
from pdtriage.verdict.attempt_comparison import attempts_of, row_of
from pdtriage.verdict.differences import differences_between, differences_of_ranks
from pdtriage.verdict.rank_rows import rank_rows
from pdtriage.verdict.timeline import timeline_of, with_moments

if TYPE_CHECKING:
    from pdtriage.scan import Engine
    from pdtriage.sources import Source

MOST_LOOKED = 4096
"""Ranks of all runs together whose logs are looked into again; the newest run's are in any case."""
_NO_SEAMS: Mapping[str, Sequence[Seam]] = {}


class Job:
    """The runs of one job, oldest first, judged; reports on them are cut from it."""

    @gc_paused()
    def __init__(
        self,
        runs: Sequence[RunFacts],
        knowledge: Knowledge,
        notes: Sequence[Text] = (),
        sources: Sequence[Source] = (),
        seams: Mapping[str, Sequence[Seam]] = _NO_SEAMS,
        engine: Engine | None = None,
    ) -> None:
        """`sources` are the logs, to be looked into again when runs are compared; `seams` those of
        rotated logs, by path. With an `engine` curves show every step that small logs tell."""
        self.runs = runs
        self._sources = sources
        self._seams = seams
        self._engine = engine
        self.knowledge = knowledge
        self.judgements = [judge(run, knowledge) for run in runs]
        self._rows: tuple[Run, ...] = ()
        """As reports list the runs: one tuple for all of them, of thousands of runs as well."""
        self._sentences: tuple[Text, ...] = ()
        self.notes = (*notes, *knowledge.problems)

    @gc_paused()
    def report(
        self,
        which: Which,
        language: Language,
        redact: bool = True,
        good: GoodRun | None = None,
        explained: bool = False,
    ) -> Report:
        chosen = self._index(which)
        facts, judgement = self.runs[chosen], self.judgements[chosen]
        rows = self._listed()
        good = good or earlier_success(self.runs, self.verdicts, chosen)
        unlike, compared = self._unlike(facts, judgement, good) if good else ((), ())
        slow = stragglers_of(step_courses(facts))
        report = Report(
            verdict=judgement.verdict,
            language=language,
            job=JobRow(facts.job_id, facts.mode, facts.started_by, facts.world_size, facts.nodes),
            runs=rows,
            run=facts.run.index,
            root_causes=judgement.causes,
            victims=judgement.victims,
            ranks=self._rank_rows(judgement),
            timeline=self._timeline(facts, judgement),
            notes=tuple(
                dict.fromkeys(
                    (
                        *judgement.notes,
                        *notes_on_pace(slow, facts, judgement.verdict),
                        *facts.notes,
                        *self.notes,
                        *compared,
                    )
                )
            ),
            stragglers=slow,
            baseline=good.baseline if good else None,
            differences=(*unlike, *differences_of_ranks(facts)),
            attempts=attempts_of(rows, rows[chosen]),
            standstill=facts.standstill,
            cards=facts.cards,
            explanation=self._explanation(facts) if explained else None,
        )
        if self._seams:
            from pdtriage.analysis.rotated import name_pieces  # few logs are rotated

            report = name_pieces(report, self._seams)
        return mask_secrets(report, self._sentences) if redact else report

    def _rank_rows(self, judgement: Judgement) -> tuple[RankRow, ...]:
        rows = rank_rows(judgement)
        if self._engine is None or not any(row.pace or row.losses for row in rows):
            return rows
        from pdtriage.analysis.curves import with_whole_curves  # many logs have none

        ranks = [reading.rank for reading in judgement.readings]
        return with_whole_curves(rows, ranks, self.sources, self._engine)

    def _timeline(self, facts: RunFacts, judgement: Judgement) -> tuple[Moment, ...]:
        """The timeline of a run, with what happened to its cards."""
        moments = timeline_of(facts, judgement, self.knowledge)
        if not facts.cards and not facts.card_events:
            return moments
        from pdtriage.analysis.cards import card_moments  # few jobs leave such a log

        return with_moments(moments, card_moments(facts))

    def _explanation(self, facts: RunFacts) -> VerdictExplanation:
        from pdtriage.verdict.explanation import explain_verdict  # few ask for it

        return explain_verdict(facts, self.knowledge)

    @cached_property
    def sources(self) -> dict[str, Source]:
        """The sources of all logs by the paths of their files."""
        return {source.file.path: source for source in self._sources}

    @cached_property
    def _prefixes(self) -> Prefixes:
        return Prefixes(self.knowledge.prefixes)

    def look_for_life(self) -> None:
        """In the logs of every run, the newest first: below errors, and where nothing says how it
        ended. Of the newest also whether more comes."""
        looked = 0
        for place in reversed(range(len(self.runs))):
            looked += len(self.runs[place].ranks)
            if looked > MOST_LOOKED and place < len(self.runs) - 1:
                return
            self.look_below_errors(place)
            if self._may_have_ended_well(place):
                self._look_at_the_end(place)

    def _may_have_ended_well(self, place: int) -> bool:
        """Whether nothing says how a run ended, or only a kernel that names none of its ranks."""
        causes = self.judgements[place].causes
        if not causes:
            return self.verdicts[place] == "unknown"
        return bool(self.runs[place].kernel) and all(cause.rank is None for cause in causes)

    def look_below_errors(self, place: int = -1) -> None:
        """Whether those who show one in a run, mostly the newest, went on as before."""
        if not self.runs or not self.judgements[place].causes:
            return
        from pdtriage.analysis.ordinary_lines import with_ordinary_lines  # healthy runs have none

        run = self.runs[place]
        looked = with_ordinary_lines(run, self.sources, self.knowledge, self._prefixes)
        self._judge_again(place, looked)

    def _look_at_the_end(self, place: int) -> None:
        """Its last lines, and whether more come."""
        from pdtriage.analysis.liveness import (  # most runs have an end
            with_last_lines,
            with_liveness,
        )

        run = with_last_lines(self.runs[place], self.sources, self._prefixes)
        is_newest = place == len(self.runs) - 1
        self._judge_again(place, with_liveness(run, self.sources) if is_newest else run)

    def _judge_again(self, place: int, run: RunFacts) -> None:
        if run is not self.runs[place]:
            runs = [*self.runs]
            runs[place] = run
            self.runs = runs
            self.judgements[place] = judge(run, self.knowledge)
            self._rows = ()

    @property
    def verdicts(self) -> list[VerdictWord]:
        return [judgement.verdict for judgement in self.judgements]

    def good_run(self, number: int) -> GoodRun:
        """A run of this very job, by its number."""
        facts = self.runs[self._index(number)]
        return GoodRun(Baseline(facts.run.index), facts)

    def _unlike(
        self, facts: RunFacts, judgement: Judgement, good: GoodRun
    ) -> tuple[tuple[Difference, ...], tuple[Text, ...]]:
        from pdtriage.analysis.baseline import (  # as a rule there is no good run
            Side,
            unlike_lines,
        )

        theirs = self.sources if good.sources is None else good.sources
        ours = Side(facts, self.sources)
        lines, notes = unlike_lines(ours, judgement, Side(good.facts, theirs))
        if not good.proven:
            notes = (*notes, note_on_unknown_end(good))
        told = signatures_reported(judgement) | {event.signature for _, event in facts.launcher}
        return differences_between(facts, good.facts, self.knowledge, told, lines), notes

    def _index(self, which: Which) -> int:
        if which == "last":
            # a pod that was started again alone is no run of the job
            whole = [place for place, facts in enumerate(self.runs) if not facts.partial]
            return whole[-1] if whole else len(self.runs) - 1
        if 1 <= which <= len(self.runs):
            return which - 1
        count = len(self.runs)
        raise NoSuchRun(
            Text(
                f"there is no run {which}: {count} found, numbered from 1 (the oldest)",
                f"没有第 {which} 次运行：共找到 {count} 次，从 1（最早）开始编号",
            )
        )

    def _listed(self) -> tuple[Run, ...]:
        if not self._rows:
            self._rows = tuple(
                row_of(facts, judgement, newest=facts is self.runs[-1])
                for facts, judgement in zip(self.runs, self.judgements, strict=True)
            )
            self._sentences = sentences_of(self._rows)
        return self._rows
