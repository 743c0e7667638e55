"""The engines that can scan a buffer for many expressions. All of them find the same."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, Protocol, cast, get_args

from pdtriage.knowledge.signature import PATTERN_SECONDS

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
        """Tell every place of a literal, and every line of a pattern, in any order."""


def database_of(
    name: str, expressions: Sequence[bytes], engine: EngineName | None = None
) -> Database:
    """A scanner for these expressions; `name` is for its place in the cache."""
    engine = engine or chosen_engine()
    if engine == "hyperscan":
        from pdtriage.scan import hyper

        return hyper.Database(name, expressions)
    return Re2(expressions) if engine == "re2" else Python(expressions)


def chosen_engine() -> EngineName:
    """What the environment asks for, else the fastest that is installed."""
    asked = os.environ.get(ENVIRONMENT_VARIABLE)
    if asked in get_args(EngineName):
        return cast(EngineName, asked)
    if find_spec("hyperscan"):
        return "hyperscan"
    return "re2" if find_spec("re2") else "python"


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
    """A literal where it is one: comparing bytes needs no time limit."""

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
