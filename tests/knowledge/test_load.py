"""Given a wrong parsers file, when it is loaded, then it is refused by name and place."""

from __future__ import annotations

from pathlib import Path

import pytest
import regex

from pdtriage.knowledge import KnowledgeError, load_knowledge

SIGNATURE = """
[[signature]]
id = "storage.frobnicator-full"
role = "cause"
category = "storage.disk"
title = { en = "The frobnicator is full", zh = "frobnicator 已满" }
literals = ["frobnicator is full"]
"""


def test_a_sound_file_is_taken(tmp_path: Path) -> None:
    knowledge = load_knowledge([_written(tmp_path, SIGNATURE + 'pattern = "is (full)"')])
    assert knowledge.signatures["storage.frobnicator-full"].pattern == "is (full)"


@pytest.mark.parametrize("key", ["pattern", "stack"])
def test_a_pattern_that_does_not_compile(tmp_path: Path, key: str) -> None:
    path = _written(tmp_path, SIGNATURE + f'{key} = "(unclosed"')
    with pytest.raises(KnowledgeError) as refused:
        load_knowledge([path])
    assert str(refused.value).startswith(
        f"{path}: signature 'storage.frobnicator-full': {key} does not compile: "
    )


@pytest.mark.parametrize("table", ["prefix", "clock", "counter"])
def test_a_format_that_does_not_compile(tmp_path: Path, table: str) -> None:
    path = _written(tmp_path, f'[[{table}]]\nid = "odd"\npattern = "(unclosed"')
    with pytest.raises(KnowledgeError) as refused:
        load_knowledge([path])
    assert str(refused.value).startswith(f"{path}: {table} 'odd': pattern does not compile: ")


def test_a_prefix_is_for_the_standard_library(tmp_path: Path) -> None:
    path = _written(tmp_path, '[[prefix]]\nid = "odd"\npattern = "\\\\p{L}+"')
    with pytest.raises(KnowledgeError, match="does not compile"):
        load_knowledge([path])


@pytest.mark.parametrize("table", ["signature", "prefix", "clock", "counter"])
@pytest.mark.parametrize("form", ["{} = 3", "{} = ['a']", "[{}]\nid = 'odd'"])
def test_what_is_no_list_of_tables(tmp_path: Path, table: str, form: str) -> None:
    path = _written(tmp_path, form.format(table))
    with pytest.raises(KnowledgeError) as refused:
        load_knowledge([path])
    assert str(refused.value).startswith(f"{path}: {table} must be a list of tables")


def test_in_the_environment_it_is_skipped_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _written(tmp_path, SIGNATURE + 'pattern = "(unclosed"')
    monkeypatch.setenv("PDTRIAGE_PARSERS", str(tmp_path))
    knowledge = load_knowledge()
    assert "storage.frobnicator-full" not in knowledge.signatures
    assert [problem.partition(":")[0] for problem in knowledge.problems] == [str(path)]


def test_what_ships_is_not_compiled_to_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(pattern: str) -> None:
        raise AssertionError(pattern)

    monkeypatch.setattr(regex, "compile", compiled)
    assert load_knowledge().signatures


def _written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path
