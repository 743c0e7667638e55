"""The lines of a failing rank beside those of its counterpart in the good run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pdtriage.analysis.novelty import Novel, Written, novel_lines, template, unreached_line
from pdtriage.model import Cause, Difference, Evidence, Rank, RunFacts, Text
from pdtriage.scan.lines import clean, visible
from pdtriage.sources import Source
from pdtriage.sources.head_tail import OutOfReachError, Stretch, Stretches, stretches_of
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.verdict.judgement import Judgement

MOST_RANKS = 2
OURS, THEIRS = 3 << 20, 6 << 20
"""Bytes of a log that are compared; what is larger is read at its beginning and its end."""
SHOWN = 160
EXCERPT = 2
"""Lines above the evidence that the report shows anyway."""

Sources = Mapping[str, Source]


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
            notes.append(_uncompared(error.file))
            continue
        if not ours or not theirs:
            continue
        novel = novel_lines(ours, {template(line.text) for line in theirs})
        found += [_printed(one) for one in novel]
        if not whole and novel:
            notes.append(_part_only(other))
        unreached = unreached_line({template(line.text) for line in ours}, theirs)
        if unreached is not None and whole:
            found.append(_unreached(unreached))
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
    lines = list(_numbered(evidence.file, read, span[1], (evidence.offset, evidence.line)))
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
        lines.extend(_numbered(file, read, begin, last))
    return lines, whole


def _numbered(
    file: str, read: Stretches, begin: int, known: tuple[int, int] | None
) -> Iterator[Written]:
    """`known` is the offset and the number of one line, at or behind the last stretch's lines."""
    for stretch in read.parts:
        number = _first_number(stretch, begin, known, stretch is read.parts[-1])
        for raw in stretch.content.split(b"\n"):
            text = clean(visible(raw))
            if text.strip():
                yield Written(text, file, number)
            number = None if number is None else number + 1


def _first_number(
    stretch: Stretch, begin: int, known: tuple[int, int] | None, last: bool
) -> int | None:
    if last and known is not None:
        return known[1] - stretch.content.count(b"\n", 0, known[0] - stretch.offset)
    return 1 if stretch.offset == begin == 0 else None


def _printed(novel: Novel) -> Difference:
    line = novel.line.text.strip()
    shown = line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
    often = f" (× {novel.count})" if novel.count > 1 else ""
    return Difference(
        "printed",
        Text(f"only this run{often}: {shown}", f"只有这次出现{often}：{shown}"),
        None,
        line,
        novel.line.place,
    )


def _unreached(line: Written) -> Difference:
    text = line.text.strip()
    shown = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    said = Text(f"the good run went on: {shown}", f"正常的运行接着输出：{shown}")
    return Difference("missing", said, text, None, line.place)


def _uncompared(file: str) -> Text:
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
