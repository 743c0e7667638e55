"""The documentation says what the tool says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pdtriage.report import FORMATS
from pdtriage.support import exit_codes
from tests.cli.conftest import Command
from tests.running import script_named

ROOT = Path(__file__).parents[2]
CLI = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
VERBS = re.findall(r"^## `pdtriage ([a-z0-9 ]+)`$", CLI, re.M)
FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


def section(verb: str) -> str:
    return CLI.split(f"## `pdtriage {verb}`\n", 1)[1].split("\n## ", 1)[0]


def test_every_verb_is_documented(pdtriage: Command) -> None:
    top = _verbs(pdtriage("--help").out)
    inner = {
        f"{group} {verb}"
        for group in ("collect", "parsers")
        for verb in _verbs(pdtriage(group, "--help").out)
    }
    assert set(VERBS) == {verb for verb in top if verb not in ("collect", "parsers")} | inner


@pytest.mark.parametrize("verb", VERBS)
def test_arguments_and_their_meaning(pdtriage: Command, verb: str) -> None:
    told = pdtriage(*verb.split(), "--help", COLUMNS="300", TERMINAL_WIDTH="300").out
    rows = re.findall(r"^\| (`.+?`) \| (.+) \|$", section(verb), re.M)
    documented = {flag for names, _ in rows for flag in FLAG.findall(names)}
    offered = {
        flag
        for line in told.splitlines()
        if re.match(r"\s+-", line)
        for flag in FLAG.findall(re.split(r"\s{2,}", line.strip())[0])
    }
    assert documented == offered - {"-h", "--help"}
    flat = " ".join(told.split())
    for names, meaning in rows:
        assert meaning in flat, names


def test_exit_codes() -> None:
    page = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    for command, code, meaning in exit_codes.TABLE:
        assert f"| `{code}` | {meaning.en} |" in page.split(f"`pdtriage {command}`")[1]


def test_formats() -> None:
    for name in FORMATS:
        assert f"`{name}`" in section("analyze")


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_readmes_show_every_verb_and_every_folder(pdtriage: Command, name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    for verb in _verbs(pdtriage("--help").out):
        assert f"$ pdtriage {verb} " in page, verb
    for package in (ROOT / "pdtriage").glob("*/__init__.py"):
        assert f"\npdtriage/{package.parent.name}/ " in page, package.parent.name


def test_samples_in_the_readmes_are_real() -> None:
    assert script_named("readme_samples").stale() == [], "run `make docs`"


@pytest.mark.parametrize(
    "page",
    sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("*.md"))
    + sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.md")),
)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), target


def _verbs(told: str) -> list[str]:
    commands = told.split("Commands:\n", 1)[1]
    return re.findall(r"^  ([a-z0-9]+)", commands, re.M)
