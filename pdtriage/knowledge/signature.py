"""A signature: one way in which software says that something happened."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Literal

from pdtriage.model import FileKind, Says, SignatureRole, Text
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.lazy_regex import limited_compile

Points = Literal["peer", "earlier"]
Retry = Literal["yes", "no", "once"]
"""Whether another attempt may go better."""
Trigger = Literal[
    "literal",  # a literal stands in a line
    "traceback",  # an exception that no literal recognised
    "fatal",  # a glog line of level F, which has no word of its own
    "verdict",  # no line at all: what the verdict concludes from several logs
]


class Case(NamedTuple):
    """What to do where the message of a signature says more than that it matched."""

    pattern: str
    """Found in the message; its named groups fill the slots of the advice."""
    advice: tuple[Text, ...]
    instead: tuple[int, ...] = ()
    """Places of steps that stand in for the one above, where that falls away."""


class Signature(NamedTuple):
    """What to look for, and what it means."""

    id: str
    family: str
    """Stem of the TOML file it comes from."""
    role: SignatureRole
    category: str | None
    title: Text
    full_title: Text | None = None
    """The title with values that the pattern captures (`slots.py`); used where it has them all."""
    literals: tuple[str, ...] = ()
    """Any of these in a line makes it a candidate. Empty only for other triggers."""
    trigger: Trigger = "literal"
    pattern: str | None = None
    """Exact pattern (`regex` package); named groups become fields of the event."""
    lines: int = 1
    """How many lines from the candidate on the pattern may see."""
    stack: str | None = None
    """Must be found in the stack (Python or C++ frames) of the block around the line."""
    kinds: tuple[FileKind, ...] = ()
    """Kinds of file it may come from; empty for any."""
    generic: bool = False
    """Yields to any other cause or symptom that claims the same line or block."""
    final: bool = False
    """Such a line ends the process that wrote it, even without a traceback."""
    repeats: int = 1
    """How often the line must come, without progress after it, before it means anything."""
    points: Points | None = None
    """For a symptom: at another rank, or at an earlier event of the same one."""
    says: tuple[Says, ...] = ()
    """What it means for the judgement, beyond its role."""
    explains: tuple[str, ...] = ()
    """Ids (or `family.*`) of signatures that only follow from this one."""
    retry: Retry | None = None
    """Where it differs from its category's."""
    meaning: Text | None = None
    confirm: Text | None = None
    advice: tuple[Text, ...] = ()
    instead: tuple[int, ...] = ()
    """Places in `advice` of steps that stand in for the one above, where that falls away."""
    cases: tuple[Case, ...] = ()
    """The first that fits gives its advice in place of the general one."""
    names: tuple[tuple[str, str, str], ...] = ()
    """Slot, value, and what that value is called in commands: the package of a module."""
    samples: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()

    @property
    def weight(self) -> int:
        """How specific a claim is: a generic one yields, one bound to a stack wins."""
        return 0 if self.generic else 2 if self.stack else 1


class Format(NamedTuple):
    """How a line prefix, a clock, a step counter or a good last line looks; tried in order."""

    id: str
    pattern: str
    samples: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()
    shipped: bool = False
    """Comes with pdtriage, where tests show that no line makes it run away."""

    def compiled(self) -> re.Pattern[str]:
        """What ships needs no time limit and is ten times faster without one."""
        return re.compile(self.pattern) if self.shipped else limited_compile(self.pattern)

    def search(self, text: str) -> re.Match[str] | None:
        return self.compiled().search(text)


def detecting_form(pattern: str) -> str:
    """What of a counter's pattern suffices to see that a line is progress: no groups, and no
    optional end (the loss)."""
    plain = re.sub(r"\(\?P<\w+>", "(?:", pattern)
    tail = re.search(r"\(\?:\.\{0,\d+\}\?", plain)
    if tail and plain.endswith(")?"):
        try:
            re.compile(plain[: tail.start()])
        except re.error:  # the optional part does not end where the pattern ends
            return plain
        plain = plain[: tail.start()]
    return plain


class _Contents(NamedTuple):
    signatures: Mapping[str, Signature]
    prefixes: tuple[Format, ...] = ()
    clocks: tuple[Format, ...] = ()
    counters: tuple[Format, ...] = ()
    finishes: tuple[Format, ...] = ()
    remainders: tuple[Format, ...] = ()
    recoveries: tuple[Format, ...] = ()
    troubles: tuple[Format, ...] = ()
    unfinished: tuple[Format, ...] = ()
    problems: tuple[Text, ...] = ()
    """What was wrong with extra parsers that were skipped; the shipped ones have none."""


class Knowledge(_Contents):
    """All signatures and formats."""

    @cached_property
    def explained_by(self) -> Mapping[str, frozenset[str]]:
        """For each signature the ids of those that explain it, wildcards resolved."""
        edges: dict[str, set[str]] = {}
        for signature in self.signatures.values():
            for target in signature.explains:
                for found in self._resolve(target):
                    edges.setdefault(found, set()).add(signature.id)
        return {found: frozenset(causes) for found, causes in edges.items()}

    def explains(self, cause: str, effect: str) -> bool:
        return cause in self.explained_by.get(effect, frozenset())

    def _resolve(self, target: str) -> list[str]:
        if target.endswith(".*"):
            return [known for known in self.signatures if known.startswith(target[:-1])]
        return [target] if target in self.signatures else []
