"""No pattern of the code can run away, whatever a log holds.

Each one is tried on text that nearly fits it and repeats what it repeats, as long as lines may be.
Patterns of `parsers/` go through the same trial in `pdtriage parsers check`.
"""

from __future__ import annotations

import base64
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pdtriage
from pdtriage.analysis.authoring.trial import runs_away
from pdtriage.support.lazy_regex import _LazyPattern

try:
    from re import _constants as opcodes
    from re import _parser as parser
except ImportError:  # Python 3.10
    import sre_constants as opcodes  # type: ignore[no-redef]
    import sre_parse as parser  # type: ignore[no-redef]

PACKAGE = Path(pdtriage.__file__).parent
PROGRAMS = {"__main__", "train"}
USUAL = ("AaAa", "a.b.C: d", "/a/b-c.py", "key = 'a b'", "2026-01-02 03:04:05,678 [a] b")
SIGNATURE = """
[[signature]]
id = "theirs.frob"
category = "code.python"
role = "cause"
title = { en = "Frob", zh = "故障" }
literals = ["frob"]
pattern = "frob (?!AWAY)"
advice = [{ en = "Mend it.", zh = "修复。" }]
cases = [{ pattern = "AWAY", advice = [{ en = "Mend it.", zh = "修复。" }] }]
"""
RUNAWAYS = (r"^[A-Z][a-z0-9]+(?:[A-Z]\w*)+$", r"^(?:\s*\w+\s*)+$", r"(?:a|aa)+$", r"\w*\d\w*\d\w*:")


def _modules() -> Iterator[Any]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.stem not in PROGRAMS:
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            yield importlib.import_module(".".join(parts).removesuffix(".__init__"))


def _is_searched(name: str) -> bool:
    """Whether a pattern is looked for anywhere in a text; the others only fit its beginning."""
    module, _, own = name.rpartition(".")
    home = Path(str(importlib.import_module(module).__file__))
    sources = [home] if own.startswith("_") else PACKAGE.rglob("*.py")
    use = re.compile(rf"\bgroups_of\({own}\b|\b{own}\.(?:search|subn?|findall|finditer|split)\b")
    return any(use.search(path.read_text("utf-8")) for path in sources)


def _patterns() -> Iterator[tuple[str, str, int]]:
    """Its name, its text and its flags; also those in tuples and in tables."""
    seen = set()
    for module in _modules():
        for name, value in vars(module).items():
            for one in _inside(value):
                flags = one.flags & ~re.UNICODE & ~re.DEBUG
                text = one.pattern if isinstance(one.pattern, str) else one.pattern.decode("latin1")
                if (text, flags) not in seen:
                    seen.add((text, flags))
                    yield f"{module.__name__}.{name}", text, flags


def _inside(value: object) -> Iterator[Any]:
    if isinstance(value, (re.Pattern, _LazyPattern)):
        yield value
    elif isinstance(value, dict):
        yield from (one for item in value.values() for one in _inside(item))
    elif isinstance(value, (tuple, list)):
        yield from (one for item in value for one in _inside(item))


def _example(tree: Any) -> str:
    """Text that a pattern nearly fits: everything that may repeat stands there once."""
    text = ""
    for operation, argument in tree:
        if operation in (opcodes.LITERAL, opcodes.NOT_LITERAL):
            text += chr(argument) if operation is opcodes.LITERAL else "a"
        elif operation is opcodes.IN:
            text += _member(argument)
        elif operation is opcodes.ANY:
            text += "a"
        elif operation is opcodes.BRANCH:
            text += _example(argument[1][0])
        elif operation is opcodes.SUBPATTERN:
            text += _example(argument[-1])
        elif operation in (opcodes.MAX_REPEAT, opcodes.MIN_REPEAT):
            text += _example(argument[2]) * max(1, min(argument[0], 3))
    return text


def _member(choices: Any) -> str:
    for kind, argument in choices:
        if kind is opcodes.LITERAL:
            return chr(argument)
        if kind is opcodes.RANGE:
            return chr(argument[0])
        if kind is opcodes.CATEGORY:
            return {"SPACE": " ", "DIGIT": "1"}.get(str(argument).rpartition("_")[2], "a")
    return "中"


def _trial(text: str, flags: int, anywhere: bool = True) -> str | None:
    seeds = [*USUAL, _example(parser.parse(text, flags))[:200]]
    return runs_away(text, seeds, flags, anywhere=anywhere)


def test_there_are_patterns() -> None:
    assert len(list(_patterns())) > 120


def test_no_pattern_of_the_code_runs_away() -> None:
    slow = {
        name: on
        for name, text, flags in _patterns()
        if (on := _trial(text, flags, _is_searched(name)))
    }
    assert slow == {}


@pytest.mark.parametrize("pattern", RUNAWAYS)
def test_the_trial_notices_those_that_do(pattern: str) -> None:
    assert _trial(pattern, 0) is not None


def test_a_traceback_above_a_line_of_base64_keeps_nobody_busy(tmp_path: Path) -> None:
    line = base64.b64encode(b"Base" * 300 + b"64").decode()
    log = tmp_path / "workerlog.0"
    log.write_text(f'Traceback (most recent call last):\n  File "a.py", line 1, in f\n{line}\n')
    command = [sys.executable, "-m", "pdtriage", "analyze", str(log), "--exit-zero"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def test_a_pattern_of_others_that_runs_away_keeps_nobody_busy(tmp_path: Path) -> None:
    """Whatever it is for: the log holds lines for all of them, at its ends and around an error."""
    away, line = "(?:a|aa)+$", "a" * 90 + "!"
    tables = (
        *("prefix", "clock", "counter", "finish"),
        *("remainder", "recovery", "trouble", "unfinished"),
    )
    parsers = tmp_path / "theirs.toml"
    parsers.write_text(
        "".join(f"[[{table}]]\nid = '{table}'\npattern = '^{away}'\n" for table in tables)
        + SIGNATURE.replace("AWAY", away)
    )
    steps = "".join(f"step {step}/100 loss 0.5\n" for step in range(1, 101))
    log = tmp_path / "workerlog.0"
    log.write_text(
        f"{line}\n" * 30
        + f'{steps}Traceback (most recent call last):\n  File "a.py", line 1, in f\n    {line}\n'
        + f"ValueError: {line}\n{line}\nfrob {line}\n"
        + f"{line}\n" * 30
        + f"Epoch 3/3 {line}\n{steps}{line}\n"
    )
    command = [sys.executable, "-m", "pdtriage", "analyze", str(log), "--exit-zero"]
    subprocess.run([*command, "--parsers", parsers], check=True, capture_output=True, timeout=100)
