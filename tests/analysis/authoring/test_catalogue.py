"""docs/failures/ says what parsers/ says."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt

from pdtriage.analysis.authoring.catalogue import pages, write_catalogue
from pdtriage.knowledge import Knowledge, load_knowledge
from pdtriage.model import CATEGORIES
from tests.knowledge.builders import SOUND

FAILURES = Path(__file__).parents[3] / "docs" / "failures"


def test_the_catalogue_is_up_to_date() -> None:
    wanted = pages(load_knowledge())
    there = {
        path.relative_to(FAILURES).as_posix(): path.read_text(encoding="utf-8")
        for path in FAILURES.rglob("*.md")
    }
    stale = sorted(name for name in {*wanted, *there} if wanted.get(name) != there.get(name))
    assert stale == [], "run `make docs`"


def test_what_people_read_is_shown_as_it_is_written() -> None:
    """`**确认：**执行` is no bold print in CommonMark; `-j <job>` and `__version__` lose a part."""
    labels = {"How to confirm:", "What to do", "Start again?", "如何确认", "怎么办", "要不要重启"}
    shown = MarkdownIt().enable("table")
    for name, page in pages(load_knowledge()).items():
        tokens = [t for block in shown.parse(page) for t in block.children or ()]
        assert [t.content for t in tokens if t.type in ("html_inline", "em_open")] == [], name
        assert [t.content for t in tokens if t.type == "text" and "**" in t.content] == [], name
        bold = {after.content for t, after in pairwise(tokens) if t.type == "strong_open"}
        assert bold <= labels, name


def test_one_page_per_category_and_language() -> None:
    names = set(pages(Knowledge(signatures={})))
    assert names == {
        f"{language}/{page}.md" for language in ("en", "zh") for page in ("README", *CATEGORIES)
    }


def test_a_signature_stands_on_the_page_of_its_category() -> None:
    written = pages(Knowledge(signatures={SOUND.id: SOUND}))
    assert "## The frobnicator is full" in written["en/storage.disk.md"]
    assert "## frobnicator 已满" in written["zh/storage.disk.md"]
    assert SOUND.samples[0] in written["en/storage.disk.md"]
    assert "frobnicator" not in written["en/data.io.md"]


def test_pages_of_categories_that_are_gone_are_removed(tmp_path: Path) -> None:
    old = tmp_path / "en" / "data.gone.md"
    old.parent.mkdir()
    old.write_text("x")
    write_catalogue(Knowledge(signatures={}), tmp_path)
    assert not old.exists()
    assert (tmp_path / "zh" / "data.io.md").exists()
