"""Searching a buffer for many expressions at once: Hyperscan, RE2, or plain Python.

All of them find the same, but not equally fast.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, get_args

from pdtriage.support import cache
from pdtriage.support.lazy_regex import PATTERN_SECONDS

if TYPE_CHECKING:
    import regex

EngineName = Literal["hyperscan", "re2", "python"]
ENVIRONMENT_VARIABLE = "PDTRIAGE_SCANNER"
MOST_MEMORY = 256 << 20
"""For re2's automaton of some two thousand literals."""

OnMatch = Callable[[int, int, int, int, object], None]
"""Takes the index of an expression and, third, where its match ends: the form Hyperscan has."""


class Database(Protocol):
    def scan(self, buffer: bytes | memoryview, on_match: OnMatch) -> None:
        """Reports every place of a literal and every line of a pattern, in any order."""


def database_of(
    name: str, expressions: Sequence[bytes], engine: EngineName | None = None
) -> Database:
    """A scanner for these expressions; `name` is for its place in the cache."""
    engine = engine or chosen_engine()
    if engine == "hyperscan":
        return Hyperscan(name, expressions)
    return Re2(expressions) if engine == "re2" else Python(expressions)


def chosen_engine() -> EngineName:
    """What the environment asks for, else the fastest that is installed."""
    asked = os.environ.get(ENVIRONMENT_VARIABLE)
    if asked in get_args(EngineName):
        return cast(EngineName, asked)
    if find_spec("hyperscan"):
        return "hyperscan"
    return "re2" if find_spec("re2") else "python"


class Hyperscan:
    """A database of all expressions. Loading one from the cache beats compiling it 1000 : 1."""

    def __init__(self, name: str, expressions: Sequence[bytes]) -> None:
        import hyperscan

        # The package's own word: asking importlib.metadata reads every installed package.
        version = str(getattr(hyperscan, "__version__", "")).encode()
        key = cache.key_of(version, _machine(), *expressions)
        database = _loaded_database(cache.load(name, key))
        if database is None:
            database = _compiled_database(expressions)
            cache.store_atomically(name, key, hyperscan.dumpb(database))
        self._database = database

    def scan(self, buffer: bytes | memoryview, on_match: OnMatch) -> None:
        self._database.scan(buffer, match_event_handler=on_match)


def _compiled_database(expressions: Sequence[bytes]) -> Any:
    import hyperscan

    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    wanted = list(expressions) or [rb"\x00never\x00"]
    flags = hyperscan.HS_FLAG_PREFILTER | hyperscan.HS_FLAG_MULTILINE
    database.compile(
        expressions=wanted,
        ids=list(range(len(wanted))),
        elements=len(wanted),
        flags=[flags] * len(wanted),
    )
    return database


def _loaded_database(body: bytes | None) -> Any | None:
    import hyperscan

    if body is None:
        return None
    try:
        database = hyperscan.loadb(body, mode=hyperscan.HS_MODE_BLOCK)
        database.scratch = hyperscan.Scratch(database)
    except hyperscan.HyperscanError:  # of another version or processor
        return None
    return database


def _machine() -> bytes:
    """What a database is tuned to: a cache on a shared home must not cross kinds of CPU."""
    machine = os.uname().machine if hasattr(os, "uname") else ""
    return f"{machine} {_cpu_flags()}".encode()


def _cpu_flags() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith(("flags", "Features")):
                return hashlib.sha256(line.encode()).hexdigest()
    except OSError:
        pass
    import platform  # takes as long as loading a database

    return platform.processor()


class Python:
    """One expression after the other over the whole buffer: slow, and always there."""

    def __init__(self, expressions: Sequence[bytes]) -> None:
        self._expressions = [_Expression(expression) for expression in expressions]

    def scan(self, buffer: bytes | memoryview, on_match: OnMatch) -> None:
        whole = bytes(buffer)
        for index, expression in enumerate(self._expressions):
            for end in expression.ends(whole):
                on_match(index, 0, end, 0, None)


class Re2:
    """All expressions as one find the lines worth a look; there each is tried by itself."""

    def __init__(self, expressions: Sequence[bytes]) -> None:
        import re2  # type: ignore[import-untyped, import-not-found, unused-ignore]

        options = re2.Options()
        options.max_mem = MOST_MEMORY
        joined = b"|".join(b"(?:%s)" % expression for expression in expressions)
        self._any = re2.compile(b"(?m)" + joined, options=options) if expressions else None
        self._each = Python(expressions)

    def scan(self, buffer: bytes | memoryview, on_match: OnMatch) -> None:
        if self._any is None:
            return
        whole = bytes(buffer)
        at = 0
        while found := self._any.search(whole, at):
            start = whole.rfind(b"\n", 0, found.end() - 1) + 1
            end = whole.find(b"\n", found.end() - 1)
            end = len(whole) if end < 0 else end
            self._each.scan(whole[start:end], _shifted(on_match, start))
            at = end + 1


def _shifted(on_match: OnMatch, by: int) -> OnMatch:
    return lambda index, start, end, flags, context: on_match(
        index, start + by, end + by, flags, context
    )


class _Expression:
    """One expression to search for; a literal is compared, which needs no time limit."""

    def __init__(self, expression: bytes) -> None:
        plain = re.sub(rb"\\(\W)", rb"\1", expression)
        self._literal = plain if re.escape(plain) == expression else None
        self._source = expression
        self._pattern: regex.Pattern[bytes] | None = None

    def ends(self, text: bytes) -> Iterator[int]:
        if self._literal is None:
            yield from self._pattern_ends(text)
            return
        at = text.find(self._literal)
        while at >= 0:
            yield at + len(self._literal)
            at = text.find(self._literal, at + 1)

    def _pattern_ends(self, text: bytes) -> list[int]:
        if self._pattern is None:
            import regex  # only where nothing faster is installed

            self._pattern = regex.compile(self._source, regex.MULTILINE)
        try:
            return self._limited(text)
        except TimeoutError:
            return self._line_by_line(text)

    def _limited(self, text: bytes) -> list[int]:
        assert self._pattern is not None
        found = self._pattern.finditer(text, overlapped=True, timeout=PATTERN_SECONDS)
        return [match.end() for match in found]

    def _line_by_line(self, text: bytes) -> list[int]:
        ends: list[int] = []
        start = 0
        for line in text.splitlines(keepends=True):
            with suppress(TimeoutError):  # a hostile line counts as no match
                ends += [start + end for end in self._limited(line)]
            start += len(line)
        return ends
