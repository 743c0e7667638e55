"""What a signature says is a word of a closed list that fits the rest of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from pdtriage.knowledge import load_knowledge
from pdtriage.knowledge.says import TERMS, Terms
from pdtriage.model import Says
from pdtriage.support.errors import UserError

GUIDE = Path(__file__).parents[2] / "docs" / "parsers.md"
SIGNATURE = """
[[signature]]
id = "launch.flux-exit"
role = "{role}"
category = "unknown"
title = {{ en = "A task failed", zh = "任务失败" }}
literals = ["flux-job: error: "]
pattern = '''{pattern}'''
says = {says}
"""


@pytest.mark.parametrize(
    ("role", "pattern", "says", "complaint"),
    [
        ("cause", "task (?P<rank>\\d+)", '["names-culprits"]', "says 'names-culprits', which is"),
        ("start", "task (?P<rank>\\d+)", '["names-culprit"]', "which a start cannot say"),
        ("noise", "task", '["by-launcher"]', "which a noise cannot say"),
        ("cause", "task (\\d+)", '["names-culprit"]', "so its pattern needs the group rank"),
        ("cause", "task (?P<pid>\\d+)", '["exit-status"]', "the group rank / local_rank / path"),
        ("cause", "task", '"by-launcher"', "must be a list of non-empty strings"),
    ],
)
def test_a_word_that_does_not_fit_is_refused(
    tmp_path: Path, role: str, pattern: str, says: str, complaint: str
) -> None:
    path = tmp_path / "launch.toml"
    path.write_text(SIGNATURE.format(role=role, pattern=pattern, says=says))
    with pytest.raises(UserError, match=re.escape(complaint)):
        load_knowledge([path])


def test_words_that_fit_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "launch.toml"
    words = '["by-launcher", "names-culprit", "exit-status"]'
    path.write_text(SIGNATURE.format(role="cause", pattern="task (?P<rank>\\d+)", says=words))
    for _ in range(2):  # the second time from the cache
        known = load_knowledge([path]).signatures["launch.flux-exit"]
        assert known.says == ("by-launcher", "names-culprit", "exit-status")


def test_every_word_is_said_by_some_signature() -> None:
    used = {word for signature in load_knowledge().signatures.values() for word in signature.says}
    assert used == set(get_args(Says))


def test_the_guide_explains_every_word_on_the_terms_it_has() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*?) ?\| (.*?) ?\| .+ \|$", _words_of_the_guide(), re.M)
    assert [word for word, _, _ in rows] == list(get_args(Says))
    for word, roles, groups in rows:
        terms = TERMS.get(word, Terms())  # type: ignore[call-overload]
        assert re.findall(r"`(\w+)`", roles) == (list(terms.roles) if word in TERMS else []), word
        named = [name for group in terms.groups for name in group.split("|")]
        assert re.findall(r"`(\w+)`", groups) == named, word


def _words_of_the_guide() -> str:
    return GUIDE.read_text(encoding="utf-8").split("## What a line says")[1].split("\n## ")[0]
