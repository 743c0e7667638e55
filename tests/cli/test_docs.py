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
GROUPS = ("history", "collect", "parsers")
FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


def section(verb: str) -> str:
    return CLI.split(f"## `pdtriage {verb}`\n", 1)[1].split("\n## ", 1)[0]


def test_every_verb_is_documented(pdtriage: Command) -> None:
    top = _verbs(pdtriage("--help").out)
    inner = {
        f"{group} {verb}" for group in GROUPS for verb in _verbs(pdtriage(group, "--help").out)
    }
    assert set(VERBS) == {verb for verb in top if verb not in GROUPS} | inner


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
    + sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.md"))
    + sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/zh/*.md"))
    + ["docs/ci/README.md"],
)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)]+)\)", text)
    for target in [*links, *re.findall(r'<img src="([^"]+)"', text)]:
        path, _, anchor = target.partition("#")
        linked = (ROOT / page).parent.joinpath(path) if path else ROOT / page
        assert linked.exists(), target
        if anchor and linked.suffix == ".md":
            assert anchor in _anchors(linked.read_text(encoding="utf-8")), target


def _anchors(page: str) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", page, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


CHINESE = sorted(path.name for path in (ROOT / "docs" / "zh").glob("*.md"))


def _pair(name: str) -> tuple[str, str]:
    english = "ci/README.md" if name == "ci.md" else name
    return (
        (ROOT / "docs" / english).read_text(encoding="utf-8"),
        (ROOT / "docs" / "zh" / name).read_text(encoding="utf-8"),
    )


@pytest.mark.parametrize("name", CHINESE)
def test_the_chinese_page_tells_the_same(name: str) -> None:
    english, chinese = _pair(name)
    headings = [re.findall(r"^(#+) ", page, re.M) for page in (english, chinese)]
    assert headings[0] == headings[1]
    assert _first_cells(english) == _first_cells(chinese)
    flags = [set(re.findall(r"(?<![\w-])--[a-z][a-z_-]+", page)) for page in (english, chinese)]
    assert flags[0] == flags[1]
    assert f"](zh/{name})" in english or f"](../zh/{name})" in english
    assert "[English](" in chinese


def _first_cells(page: str) -> list[str]:
    """What stands as code at the beginning of the rows of its tables."""
    return [
        code
        for row in re.findall(r"^\| ([^|]+?) \|", page, re.M)
        for code in re.findall(r"`([^`]+)`", row)
    ]


@pytest.mark.parametrize("name", CHINESE)
def test_chinese_pages_use_the_words_of_paddle(name: str) -> None:
    _, chinese = _pair(name)
    for word in ("作业", "卡死", "失败目录", "动词"):
        assert word not in chinese


def test_so_does_the_tool() -> None:
    texts = [*ROOT.glob("pdtriage/**/*.py"), *ROOT.glob("pdtriage/**/*.toml")]
    for path in [*texts, *ROOT.glob("parsers/*.toml"), ROOT / "README.zh.md"]:
        assert "作业" not in path.read_text(encoding="utf-8"), path


def test_what_the_chinese_readme_links_to_is_chinese() -> None:
    page = (ROOT / "README.zh.md").read_text(encoding="utf-8")
    documents = page.split("## 文档\n")[1].split("\n## ")[0]
    for line in documents.splitlines():
        for target in re.findall(r"\]\((docs/[^)]+\.md)\)", line):
            assert "/zh/" in target or "（英文）" in line, target
    english = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [len(h) for h in re.findall(r"^(#+) ", english, re.M)] == [
        len(h) for h in re.findall(r"^(#+) ", page, re.M)
    ]


def test_chinese_tables_say_what_the_tool_says() -> None:
    assert script_named("chinese_pages").stale() == [], "run `make docs`"


def test_meanings_in_chinese_tables_are_whole() -> None:
    table = script_named("chinese_pages").current(ROOT / "docs" / "zh" / "cli.md")
    assert "否则为 text。可选 text, json, " in table
    assert "、wecombot://、slack://" in table
    assert "never；最多 --max_restart 次" in table


def test_the_terminal_in_the_readmes_is_real() -> None:
    assert script_named("readme_pictures").stale() == [], "run `make docs`"


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_pictures_are_small_and_the_first_screen_has_what_one_needs(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    for picture in re.findall(r"docs/images/[\w.]+", page):
        assert (ROOT / picture).stat().st_size <= 300_000, picture
    first = page.split("\n## ", 1)[0]
    commands = ("$ pip install", "$ pdtriage run", "$ pdtriage analyze", "$ pdtriage doctor")
    for needed in ("docs/images/terminal", *commands, "make demo", "make test"):
        assert needed in first


def _verbs(told: str) -> list[str]:
    commands = told.split("Commands:\n", 1)[1]
    return re.findall(r"^  ([a-z0-9]+)", commands, re.M)
