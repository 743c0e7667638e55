"""A second look at logs that hold an error: whether the process went on below it as before.

Not every program tells its steps in a form that is known. But what writes the same kind of lines as
before, or the same kind over and over, lives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pdtriage.model import Event, Rank, RunFacts
from pdtriage.scan.lines import Prefixes
from pdtriage.sources.head_tail import OutOfReachError, stretches_of
from pdtriage.support.lazy_regex import lazy_compile
from pdtriage.verdict.fingerprint import shape

if TYPE_CHECKING:
    from pdtriage.knowledge import Knowledge
    from pdtriage.knowledge.signature import Format
    from pdtriage.sources import Source

ABOVE, BELOW = 1 << 13, 1 << 15
"""Bytes around an error that are read again."""
MOST_RANKS = 256
"""Of more the first ones are read again; the others hold the same errors, if any."""
LOOP = 3
"""So many lines of one shape are written in a loop."""
AGAIN = 2
"""Lines of one shape on one side of an error."""
_STACK = lazy_compile(r'^\s|^#?\d+ +(?:0x|\S*::|.*[(])|^File "|^@ ')
_WORD = lazy_compile(r"\w.*\w")


def with_ordinary_lines(
    run: RunFacts,
    sources: Mapping[str, Source],
    knowledge: Knowledge,
    prefixes: Prefixes,
) -> RunFacts:
    """The run with the lines of its ranks that show that they went on after an error.

    `prefixes` is what wrappers put before every line.
    """
    looked, found = 0, False
    ranks = list(run.ranks)
    for place, rank in enumerate(ranks):
        errors = [] if rank.mixed or not rank.parts else _errors_in(rank)
        if errors and looked < MOST_RANKS:
            looked += 1
            lines = _ordinary_lines(rank, errors, sources, knowledge, prefixes)
            if lines != rank.ordinary:
                ranks[place], found = rank._replace(ordinary=lines), True
    return run._replace(ranks=tuple(ranks)) if found else run


def _errors_in(rank: Rank) -> list[Event]:
    """The errors in a rank's last file below which something follows."""
    file = rank.parts[-1][0]
    return [
        event
        for path, event in rank.events
        if path == file and event.role in ("cause", "symptom") and event.line < rank.last_line
    ]


def _ordinary_lines(
    rank: Rank,
    errors: Sequence[Event],
    sources: Mapping[str, Source],
    knowledge: Knowledge,
    prefixes: Prefixes,
) -> tuple[int, ...]:
    file, begin, end = rank.parts[-1]
    source = sources.get(file)
    if source is None:
        return ()
    passages = [_passage(event) for path, event in rank.events if path == file]
    # of an error that is told a thousand times only some lines are known as events
    signatures = [knowledge.signatures[name] for name in {error.signature for error in errors}]
    words = [literal for signature in signatures for literal in signature.literals]
    found: set[int] = set()
    for error in {event.offset: event for event in (errors[0], errors[-1])}.values():
        if _is_all_known(error.line, rank.last_line, passages):  # as of most who died
            continue
        lines = _lines_around(error, source, begin, end, prefixes)
        others = [it for it in lines if not any(word in it[1] for word in words)]
        found.update(ordinary_below(error.line, others, passages, knowledge.troubles))
    return tuple(sorted(found))


def _passage(event: Event) -> tuple[int, int]:
    """The lines that tell of an error; what follows an exception's name may not be its message."""
    return (event.first_line or event.line, event.line)


def _is_all_known(line: int, last: int, passages: Sequence[tuple[int, int]]) -> bool:
    """Whether all lines below it tell of something known."""
    below = {number for begin, end in passages for number in range(max(begin, line + 1), end + 1)}
    return len(below) >= last - line


def _lines_around(
    error: Event, source: Source, begin: int, end: int | None, prefixes: Prefixes
) -> list[tuple[int, str]]:
    """Numbered lines above and below it."""
    first, last = max(begin, error.offset - ABOVE), error.offset + BELOW
    last = last if end is None else min(last, end)
    try:
        parts = stretches_of(source, first, last, ABOVE + BELOW).parts
    except OutOfReachError:
        return []
    if not parts:
        return []
    content = parts[0].content
    number = error.line - content.count(b"\n", 0, error.offset - parts[0].offset)
    return list(enumerate(prefixes.lines_of(content), number))


def ordinary_below(
    line: int,
    lines: Sequence[tuple[int, str]],
    passages: Sequence[tuple[int, int]],
    troubles: Sequence[Format],
) -> list[int]:
    """Lines below `line` that a living process writes: as it did above, or in a loop.

    `passages` are those that tell of something known: no ordinary lines.
    """
    told = {number for first, last in passages for number in range(first, last + 1)}
    ordinary = [one for one in lines if one[0] not in told and _says(one[1])]
    if not ordinary or ordinary[-1][0] <= line:
        return []
    shapes = {number: shape(text) for number, text in ordinary}
    below = Counter(own for number, own in shapes.items() if number > line)
    usual = Counter(own for number, own in shapes.items() if number < line)
    living = {own for own in below if _goes_on(own, usual, below, is_uneasy=False)}
    uneasy = {
        shapes[number]
        for number, text in lines
        if shapes.get(number) in living and any(form.search(text) for form in troubles)
    }
    return [
        number
        for number, own in shapes.items()
        if number > line and own in living and _goes_on(own, usual, below, own in uneasy)
    ]


def _goes_on(own: str, usual: Counter[str], below: Counter[str], is_uneasy: bool) -> bool:
    """A line of this shape shows a living process; where its words are those of trouble, only if
    it was written again and again on both sides of the error: `error rate 0.1`."""
    if is_uneasy:
        return usual[own] >= AGAIN and below[own] >= AGAIN
    return bool(usual[own]) or below[own] >= LOOP


def _says(text: str) -> bool:
    """Whether a line says something and is no line of a stack."""
    return not _STACK.match(text) and bool(_WORD.search(text))
