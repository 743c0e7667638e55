"""One file to its facts. Knows nothing of other files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice

from pdtriage.knowledge import Knowledge
from pdtriage.model import Event, FileFacts, LogFile, Progress
from pdtriage.scan.clock import Clock
from pdtriage.scan.detect import Hit, HitStream
from pdtriage.scan.lines import Lines, count_newlines, last_start, tail_of
from pdtriage.scan.restart_detection import Opening
from pdtriage.scan.sampling import DENSE, glog_stamps, regions, sample, sample_ends, thin_progress
from pdtriage.scan.scanner import PIECE, Engine, FileScanner
from pdtriage.scan.step_lines import Counters, StepLine
from pdtriage.sources.read_ahead import work_ahead

WORTH_A_THREAD = 4 << 20


def scan(
    file: LogFile,
    chunks: Iterable[bytes],
    engine: Engine,
    on_chunk: Callable[[int], None] | None = None,
) -> FileFacts:
    """All facts of one file; `on_chunk` is called with the length of each chunk.

    With `on_chunk`, one file is all there is to do: a second thread reads and scans ahead.
    """
    return begin_scan(file, chunks, engine, on_chunk)()


def begin_scan(
    file: LogFile,
    chunks: Iterable[bytes],
    engine: Engine,
    on_chunk: Callable[[int], None] | None = None,
) -> Callable[[], FileFacts]:
    """Reads and searches a file now; what it returns understands later what was found.

    Short files are begun together and finished together: the two push each other out of the
    processor's caches, which is a tenth of the time.
    """
    pieces = iter(chunks)
    begin = list(islice(pieces, 2)) if (file.size or 0) <= PIECE else []
    if len(begin) == 1 and len(begin[0]) <= PIECE:
        if on_chunk:
            on_chunk(len(begin[0]))
        return _begin_short(file, begin[0], engine)
    scanner = FileScanner(file, engine)
    found = _with_hits(chain(begin, pieces), HitStream(engine.detector, 0))
    for chunk, hits in (
        work_ahead(found) if on_chunk and (file.size or 0) >= WORTH_A_THREAD else found
    ):
        scanner.take(chunk, hits)
        if on_chunk:
            on_chunk(len(chunk))
    return scanner.facts


def _with_hits(chunks: Iterable[bytes], stream: HitStream) -> Iterator[tuple[bytes, list[Hit]]]:
    """One by one; written as an expression, compiled it would be a list of all."""
    for chunk in chunks:
        yield chunk, stream.take(chunk)


def events_of(text: bytes, knowledge: Knowledge, kind: str = "worker") -> tuple[Event, ...]:
    """The events of a piece of log by itself."""
    file = LogFile(path="-", kind=kind, folder="")  # type: ignore[arg-type]
    return scan(file, [text], Engine(knowledge)).events


def _begin_short(file: LogFile, text: bytes, engine: Engine) -> Callable[[], FileFacts]:
    hits = engine.detector.find(text)
    if hits or file.kind == "console":
        return partial(_in_full, file, text, hits, engine)
    return partial(_quiet, file, text, count_newlines(text), engine)


def _in_full(file: LogFile, text: bytes, hits: list[Hit], engine: Engine) -> FileFacts:
    scanner = FileScanner(file, engine)
    scanner.take(text, hits)
    return scanner.facts()


def _quiet(file: LogFile, text: bytes, breaks: int, engine: Engine) -> FileFacts:
    """The facts of a log with nothing in it that any signature knows.

    Most logs of a big job are that, and most of what `FileScanner` does is for pieces, blocks
    and events: half of the time.
    """
    size = len(text)
    prefix = engine.prefixes.of_log(text)
    lines = Lines(text, 1, prefix)
    lines.number_end(breaks)
    clock = Clock(engine.clocks, file.modified)
    clock.learn_year(text)
    find = partial(engine.step_lines.find, lines)
    seen = sample_ends(size, find, _reader(lines, clock, engine))
    if seen is None:
        wanted = regions(0, 0, size, (), is_end=True)
        seen = sample(wanted, 0, True, False, (), find, _reader(lines, clock, engine))
    opening = Opening()
    opening.learn(text[:DENSE], seen.steps[0].offset if seen.steps else size)
    if opening.echoes_with(text, 0, 0, 1):  # it begins anew
        return _in_full(file, text, [], engine)
    last = last_start(text, prefix)
    return FileFacts(
        file,
        progress=tuple(thin_progress(seen.steps, [])),
        stamps=tuple(glog_stamps(lines, seen.glog, clock, 0)),
        lines=breaks + (text[-1:] not in (b"", b"\n")),
        bytes=size,
        tail=tail_of(text, prefix),
        last_line=lines.number_at(last),
        last_offset=last,
        undated=clock.is_undated,
        last_dated=clock.last_dated,
    )


def _reader(lines: Lines, clock: Clock, engine: Engine) -> Callable[[StepLine], Progress | None]:
    """A new one each time: which counter fits depends on what was read before."""
    counters = Counters(engine.counters)

    def read(line: StepLine) -> Progress | None:
        return counters.read(lines, line, 0, clock)

    return read
