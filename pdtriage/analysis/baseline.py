"""The good run a bad one is compared with: which one it is, and the lines only the bad one has."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pdtriage.model import Baseline, Cause, Difference, Evidence, Rank, RunFacts, Text, VerdictWord
from pdtriage.scan.lines import readable_line, visible_part
from pdtriage.sources import Source
from pdtriage.sources.head_tail import OutOfReachError, Stretch, Stretches, stretches_of
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.verdict import Judgement

BAD: tuple[VerdictWord, ...] = ("failed", "hung", "interrupted", "unknown")
MOST_RANKS = 2
OURS, THEIRS = 3 << 20, 6 << 20
"""Bytes of a log that are compared; what is larger is read at its beginning and its end."""
SHOWN = 160
EXCERPT = 2
"""Lines above the evidence that the report shows anyway."""
Sources = Mapping[str, Source]
MOST_NOVEL = 3
NEAR = 200
"""Lines before the failure in which also a line without an alarming word is worth showing."""
TALKATIVE = 30
"""More new kinds of lines than this, and the log speaks freely: only alarming ones are shown."""
COMPARED = 200
_VARIABLE = re.compile(
    r"0[xX][0-9a-fA-F]+"
    # paths; what goes before is looked at once, however long a word is
    r"|(?<![\w.-])(?:[A-Za-z]:|~|[\w.-]+)?[/\\][\w.~@%+=/\\-]+"
    r"|\b[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*\b"
    r"|[-+]?\d(?:[\d.:,_eE+-]*\d)?"
)
_LETTERS = re.compile(r"[^\W\d_]{2}")
_ALARMING = re.compile(
    r"err(?:or|no)|\bE\d{4}\b|fail|fatal|warn|\bW\d{4}\b|retry|retri|tim(?:ed|e)[ _-]?out|\bnan\b"
    r"|\binf\b|lost|refused|reset|denied|missing|not found|cannot|can't|unable|exception|kill|slow"
    r"|stuck|stall|corrupt|invalid|mismatch|abort|overflow|out of|exceed|unexpected|disconnect"
    r"|错误|失败|异常|警告|超时|重试|无法|丢失|损坏|断开|不足",
    re.IGNORECASE,
)


class GoodRun(NamedTuple):
    baseline: Baseline
    facts: RunFacts
    sources: Mapping[str, Source] | None = None
    """Its logs, where they lie elsewhere than those of the run compared with it."""
    proven: bool = True


def earlier_success(
    runs: Sequence[RunFacts], verdicts: Sequence[VerdictWord], chosen: int
) -> GoodRun | None:
    """The last run before the chosen one that went well, where the chosen one did not."""
    if verdicts[chosen] not in BAD:
        return None
    for position in reversed(range(chosen)):
        if verdicts[position] == "succeeded":
            return GoodRun(Baseline(runs[position].run.index), runs[position])
    return None


def last_success(
    runs: Sequence[RunFacts],
    judgements: Sequence[Judgement],
    path: str,
    sources: Mapping[str, Source],
) -> GoodRun | None:
    """The last run of another job that went well; else one in which nothing went wrong.

    Who names a run as the good one may know more than its logs, which often do not tell how a
    process ended.
    """
    judged = list(zip(runs, judgements, strict=True))[::-1]
    well = [facts for facts, judgement in judged if judgement.verdict == "succeeded"]
    quiet = [facts for facts, j in judged if j.verdict == "unknown" and not j.causes]
    for facts in [*well, *quiet][:1]:
        return GoodRun(Baseline(facts.run.index, path), facts, sources, proven=facts in well)
    return None


def note_on_unknown_end(good: GoodRun) -> Text:
    path = good.baseline.path
    return Text(
        f"--baseline {path}: its logs do not say how that run ended; it is taken as a good one.",
        f"--baseline {path}：日志没有说明那次运行如何结束，这里把它当作正常的运行。",
    )


def baseline_without_success(path: str) -> Text:
    return Text(
        f"--baseline {path}: no run there succeeded; give a run that did",
        f"--baseline {path}：那里没有成功的运行；请指定一次成功的运行",
    )


class Side(NamedTuple):
    """A run and its logs."""

    facts: RunFacts
    sources: Sources


def unlike_lines(
    bad: Side, judgement: Judgement, good: Side
) -> tuple[tuple[Difference, ...], tuple[Text, ...]]:
    """What only one of the two printed, and a word where not everything could be compared."""
    found: list[Difference] = []
    notes: list[Text] = []
    for rank, evidence in _failing(judgement)[:MOST_RANKS]:
        other = _counterpart(rank, good.facts)
        if other is None:
            continue
        try:
            ours = _lines_before(rank, evidence, bad.sources)
            theirs, whole = _lines(other, good.sources, THEIRS)
        except OutOfReachError as error:
            notes.append(_not_compared_note(error.file))
            continue
        if not ours or not theirs:
            continue
        novel = novel_lines(ours, {template(line.text) for line in theirs})
        found += [_line_difference(one) for one in novel]
        if not whole and novel:
            notes.append(_part_only(other))
        unreached = unreached_line({template(line.text) for line in ours}, theirs)
        if unreached is not None and whole:
            found.append(_unreached_difference(unreached))
    unlike = {(one.kind, template(one.after or one.before or "")): one for one in found}
    return tuple(unlike.values()), tuple(dict.fromkeys(notes))


def _failing(judgement: Judgement) -> list[tuple[Rank, Evidence | None]]:
    """The culprits; where there are none, whoever has said something."""
    for cause in judgement.causes[:1]:
        ranks = [r.rank for r in judgement.readings if _is_of(r.rank, cause)]
        return [
            (rank, next((e for e in cause.evidence if e.file in rank.files), None))
            for rank in ranks
            if rank.parts
        ]
    return [(r.rank, None) for r in judgement.readings if r.rank.parts and not r.ended]


def _is_of(rank: Rank, cause: Cause) -> bool:
    if rank.role != cause.role:
        return False
    if rank.rank is not None:
        return rank.rank in cause.ranks
    return any(evidence.file in rank.files for evidence in cause.evidence)


def _counterpart(rank: Rank, good: RunFacts) -> Rank | None:
    alike = [other for other in good.ranks if other.role == rank.role and other.parts]
    return next((other for other in alike if other.rank == rank.rank), None) or next(
        (other for other in alike if other.local_rank == rank.local_rank), None
    )


def _lines_before(rank: Rank, evidence: Evidence | None, sources: Sources) -> list[Written]:
    """What the rank wrote until it failed, without what the report shows as the failure itself."""
    if evidence is None:
        return _lines(rank, sources, OURS)[0]
    span = next((part for part in rank.parts if part[0] == evidence.file), None)
    source = sources.get(evidence.file)
    if span is None or source is None:
        return []
    read = stretches_of(source, span[1], evidence.offset, OURS)
    begun = next(
        (e.first_line for f, e in rank.events if (f, e.line) == (evidence.file, evidence.line)), 0
    )
    until = min(begun or evidence.line, evidence.line - EXCERPT)
    lines = list(_number_lines(evidence.file, read, span[1], (evidence.offset, evidence.line)))
    return [line for line in lines if line.number is None or line.number < until]


def _lines(rank: Rank, sources: Sources, most: int) -> tuple[list[Written], bool]:
    lines: list[Written] = []
    whole = True
    for file, begin, end in rank.parts:
        source = sources.get(file)
        if source is None:
            whole = False
            continue
        read = stretches_of(source, begin, end, most // len(rank.parts))
        whole = whole and read.whole
        known = (rank.last_offset, rank.last_line) if rank.last_line else None
        last = known if file == rank.parts[-1][0] else None
        lines.extend(_number_lines(file, read, begin, last))
    return lines, whole


def _number_lines(
    file: str, read: Stretches, begin: int, known: tuple[int, int] | None
) -> Iterator[Written]:
    """`known` is the offset and the number of one line, at or behind the last stretch's lines."""
    for stretch in read.parts:
        number = _first_number(stretch, begin, known, stretch is read.parts[-1])
        for raw in stretch.content.split(b"\n"):
            text = readable_line(visible_part(raw))
            if text.strip():
                yield Written(text, file, number)
            number = None if number is None else number + 1


def _first_number(
    stretch: Stretch, begin: int, known: tuple[int, int] | None, last: bool
) -> int | None:
    if last and known is not None:
        return known[1] - stretch.content.count(b"\n", 0, known[0] - stretch.offset)
    return 1 if stretch.offset == begin == 0 else None


def _line_difference(novel: Novel) -> Difference:
    line = novel.line.text.strip()
    shown = line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
    often = f" (× {novel.count})" if novel.count > 1 else ""
    return Difference(
        "printed",
        Text(f"only this run{often}: {shown}", f"只有这次出现{often}：{shown}"),
        None,
        line,
        novel.line.location,
    )


def _unreached_difference(line: Written) -> Difference:
    text = line.text.strip()
    shown = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    said = Text(f"the good run went on: {shown}", f"正常的运行接着输出：{shown}")
    return Difference("missing", said, text, None, line.location)


def _not_compared_note(file: str) -> Text:
    return Text(
        f"{file}: its lines were not compared; the storage does not give them, or their end alone, "
        "a second time.",
        f"{file}：未逐行对比；存储无法再次提供其内容，或无法只提供末尾部分。",
    )


def _part_only(other: Rank) -> Text:
    files = ", ".join(file for file, _, _ in other.parts[:2])
    most = THEIRS >> 20
    return Text(
        f"{files}: compared with {most} MB from the beginning and the end of the good run; a line "
        "said to be new may stand in between.",
        f"{files}：只与正常运行的首尾共 {most} MB 做了对比；所谓新出现的行也可能在中间部分出现过。",
    )


@dataclass(frozen=True, slots=True)
class Written:
    """A line of a log, and where it stands."""

    text: str
    file: str
    number: int | None = None
    """None where nobody counted the lines before it."""

    @property
    def location(self) -> str:
        return self.file if self.number is None else f"{self.file}:{self.number}"


@dataclass(frozen=True, slots=True)
class Novel:
    """One kind of line; shown is the last of them."""

    line: Written
    count: int


@lru_cache(maxsize=1 << 14)
def template(text: str) -> str:
    """What stays of a line when numbers, addresses, times and paths are left open."""
    return " ".join(_VARIABLE.sub("#", text[:COMPARED]).split())


def is_alarming_line(text: str) -> bool:
    return bool(_ALARMING.search(text))


def novel_lines(ours: Sequence[Written], theirs: Collection[str]) -> list[Novel]:
    """What only our log says, the most telling of it, in the order of the log.

    `ours` are the lines up to the failure, `theirs` the templates of the other log.
    """
    last: dict[str, int] = {}
    counts: dict[str, int] = {}
    for location, line in enumerate(ours):
        kind = template(line.text)
        if kind not in theirs and _speaks(line.text):
            last[kind] = location
            counts[kind] = counts.get(kind, 0) + 1
    end = len(ours)
    scored = []
    for kind, location in last.items():
        alarm, distance = is_alarming_line(ours[location].text), end - location
        if alarm or (distance <= NEAR and len(last) <= TALKATIVE):
            nearness = 1 - min(distance, NEAR) / NEAR
            scored.append((2 * alarm + nearness + 1 / counts[kind], location, kind))
    chosen = sorted(sorted(scored, reverse=True)[:MOST_NOVEL], key=lambda one: one[1])
    return [Novel(ours[location], counts[kind]) for _, location, kind in chosen]


def unreached_line(ours: Collection[str], theirs: Sequence[Written]) -> Written | None:
    """What the other log says next, after the last thing that both say."""
    common = max((n for n, line in enumerate(theirs) if template(line.text) in ours), default=None)
    if common is None:
        return None
    return next((line for line in theirs[common + 1 :] if _speaks(line.text)), None)


def _speaks(text: str) -> bool:
    """Neither a ruler, nor a bare number, nor the inside of something longer."""
    return bool(_LETTERS.search(text)) and (
        not text.startswith(("  ", "\t")) or is_alarming_line(text)
    )
