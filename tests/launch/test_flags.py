"""A flag is declared once; help, parsing, variable, default and documentation follow from that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pdtriage.commands.doctor import _help as doctors
from pdtriage.launch.options.flags import FLAGS, LaunchFlags
from pdtriage.launch.options.parse import help_text, parse_flags
from pdtriage.launch.options.secret import MASKED, SECRET_FLAGS
from pdtriage.support.command_line import Option, flag, flags_of
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Language
from pdtriage.support.text_width import columns

CLI = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
VALUES: dict[object, tuple[str, object]] = {
    str: ("x", "x"),
    int: ("7", 7),
    float: ("1.5", 1.5),
    bool: ("yes", True),
}


def value_of(flag: Option) -> tuple[str, object]:
    """What may be written, and what it means."""
    if flag.name in SECRET_FLAGS:
        return "x", MASKED
    return (flag.choices[-1], flag.choices[-1]) if flag.choices else VALUES[flag.kind]


@pytest.mark.parametrize("words", [["--job-secret", "abc"], ["--job_secret=abc"]])
def test_a_secret_is_kept_apart_from_all_that_is_shown(words: list[str]) -> None:
    flags = parse_flags([*words, "--job=me", "train.py", "abc"], {})
    assert flags.secret.reveal() == "abc"
    assert flags.job_id == "me"
    assert flags.training_script_args == ("abc",)
    assert "abc" not in repr(
        flags._replace(training_script_args=(), argv=flags.argv[:-1], passthrough=())
    )
    assert parse_flags(["train.py"], {"PDTRIAGE_JOB_SECRET": "abc"}).notes == ()


def test_the_grace_is_what_the_help_says() -> None:
    untold, given = parse_flags(["train.py"], {}), parse_flags(["--grace=7", "train.py"], {})
    assert (untold.failure_grace(), untold.interrupt_grace()) == (5.0, 30.0)
    assert (given.failure_grace(), given.interrupt_grace()) == (7.0, 7.0)
    assert "(5; 30 after Ctrl-C)" in " ".join(help_text("en").split())


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.name)
def test_every_flag_is_whole(flag: Option) -> None:
    written, meant = value_of(flag)

    for name in (*flag.names, flag.names[0].replace("_", "-")):
        flags = parse_flags([name, written, "train.py"], {})
        assert getattr(flags, flag.name) == meant
        assert flags.given == {flag.name}
    for variable in flag.variables:
        assert getattr(parse_flags(["train.py"], {variable: written}), flag.name) == meant
    assert getattr(parse_flags(["train.py"], {}), flag.name) == flag.default
    assert getattr(LaunchFlags(), flag.name) == flag.default

    for page, meaning in ((help_text("en"), flag.help.en), (help_text("zh"), flag.help.zh)):
        assert ", ".join(flag.names) in " ".join(page.split())
        assert "".join(meaning.split()) in "".join(page.split())
        assert all(variable in page for variable in flag.variables)
    documented = ", ".join(f"`{name}`" for name in flag.names)
    assert f"| {documented} | {flag.help.en} |" in CLI, "docs/cli.md"


def test_nothing_but_flags_is_documented() -> None:
    page = CLI.split("\n## `pdtriage run`\n")[1].split("\n## ")[0]
    assert sorted(re.findall(r"^\| `--(\w+)`", page, re.M)) == sorted(f.name for f in FLAGS)


def test_one_line_declares_a_flag() -> None:
    class Flags(NamedTuple):
        patience: float | None = flag(2.5, "own", "wait so long ({default})", "等待（{default}）")
        answer: int = 42

    (declared,) = flags_of(Flags)

    assert (declared.name, declared.kind, declared.default) == ("patience", float, 2.5)
    assert declared.help == ("wait so long (2.5)", "等待（2.5）")
    assert Flags() == (2.5, 42)
    assert parse_flags(["--pat", "7", "train.py"], {}, also=[declared]).others == {"patience": 7.0}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_help_fits_a_terminal_of_80_columns(language: Language) -> None:
    for line in (*help_text(language).splitlines(), *doctors(language).splitlines()):
        assert columns(line) <= 80, line
