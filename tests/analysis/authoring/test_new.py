"""A new signature begins as something that loads and recognises its own sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdtriage.analysis.authoring.check import check
from pdtriage.analysis.authoring.new import IDENTIFIER, skeleton
from pdtriage.knowledge import load_knowledge

LINE = "OSError: [Errno 116] Stale \"file\" handle: '/mnt/a\\b'"


@pytest.mark.parametrize("sample", [None, LINE])
def test_the_skeleton_lacks_only_what_people_have_to_write(
    tmp_path: Path, sample: str | None
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(skeleton("zebra.frobnicator-dry", sample), encoding="utf-8")
    knowledge = load_knowledge([path])
    mine = knowledge.signatures["zebra.frobnicator-dry"]
    assert mine.family == "mine"
    alone = type(knowledge)(signatures={mine.id: mine})
    problems = [problem.message.en for problem in check(alone, folders=[path])]
    parts = ["title", "meaning", "confirm", "advice", "misses", *(["samples"] * (sample is None))]
    assert problems == [f"{part}: still the text of the skeleton" for part in parts]


def test_the_category_follows_the_name() -> None:
    assert 'category = "memory.gpu"' in skeleton("memory.pool")
    assert 'category = "hang"' in skeleton("hang.barrier")
    assert 'category = "unknown"' in skeleton("zebra.x")


@pytest.mark.parametrize("bad", ["Data.x", "data", "data.", "data.x_y", "../x", "data x"])
def test_ids_have_one_form(bad: str) -> None:
    assert not IDENTIFIER.fullmatch(bad)


def test_good_ids() -> None:
    assert IDENTIFIER.fullmatch("data.stale-mount")
