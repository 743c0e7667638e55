"""A plain command line means the same without typer, and the rest is left to typer."""

from __future__ import annotations

import functools
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from pdtriage.commands.analyze import ReaderChoice, When, analyze
from pdtriage.commands.app import for_typer
from pdtriage.commands.verbs import Lang
from pdtriage.support.command_line import plain_options

NAMES = (
    *("--run", "--all-runs", "--format", "-f", "--output", "-o", "--lang", "--quiet", "-q"),
    *("--exit-zero", "--parsers", "--no-redact", "--baseline", "--engine", "--address"),
    *("--no-cache", "--color", "--explain-verdict", "--help", "-h", "--quie", "-x", "--", "-qo"),
)
VALUES = ("log", "-", "zh", "ray", "always", "json=a.json", "3", "", "a b", "=", "-1", "日志")
WORDS = st.one_of(
    st.sampled_from(NAMES),
    st.sampled_from(VALUES),
    st.builds("{}={}".format, st.sampled_from(NAMES), st.sampled_from(VALUES)),
)


def test_options_of_every_kind_are_plain_options() -> None:
    words = ["a", "-q", "--format", "json", "-f", "text", "--output=o.txt", "-", "--lang", "zh"]
    words += ["--engine=ray", "--parsers", "p", "--run", "3", "--color", "never"]

    assert plain_options(analyze, words) == {
        "paths": ["a", "-"],
        "quiet": True,
        "formats": ["json", "text"],
        "output": Path("o.txt"),
        "lang": Lang.zh,
        "engine": ReaderChoice.ray,
        "parsers": [Path("p")],
        "run": "3",
        "color": When.never,
    }


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--quie"],
        ["--quiet=yes"],
        ["--quiet="],
        ["-qo", "file"],
        ["-ofile"],
        ["-o=file"],
        ["--output"],
        ["--output="],
        ["--output", "--quiet"],
        ["--lang", "fr"],
        ["--", "log"],
        [""],
        ["", "log"],
    ],
)
def test_what_leaves_a_doubt_is_left_to_typer(words: list[str]) -> None:
    assert plain_options(analyze, words) is None


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=6))
def test_typer_understands_the_same(words: list[str]) -> None:
    quickly = plain_options(analyze, words)

    if quickly is not None:
        defaults = {
            name: parameter.default
            for name, parameter in inspect.signature(analyze).parameters.items()
        }
        assert defaults | quickly == defaults | by_typer(words)


@pytest.mark.parametrize(
    "words",
    [
        ["analyze", "FOLDER", "-q", "--exit-zero", "-o", "FOLDER/o"],
        ["run", "--help"],
        ["doctor", "--help"],
        ["--version"],
    ],
)
def test_typer_is_not_imported_for_a_plain_command_line(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "workerlog.0").write_text("step 1\n")
    words = [word.replace("FOLDER", str(tmp_path)) for word in words]
    program = (
        "import sys, atexit\n"
        "atexit.register(lambda: print(sorted({'typer', 'pydantic'} & set(sys.modules))))\n"
        "from pdtriage.__main__ import main\n"
        f"main({words})"
    )

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert (ended.stdout.splitlines()[-1], ended.stderr, ended.returncode) == ("[]", "", 0)


def by_typer(words: list[str]) -> dict[str, Any]:
    """What typer calls the verb with, less what it takes for nothing given."""
    seen: dict[str, Any] = {}

    @functools.wraps(analyze)
    def record(**options: Any) -> int:
        seen.update(options)
        return 0

    app = typer.Typer(add_completion=False)
    app.command()(for_typer(record))
    app(list(words), standalone_mode=False)
    return {name: value for name, value in seen.items() if value not in (None, [])}
