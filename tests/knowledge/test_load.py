"""Given a wrong parsers file, when it is loaded, then it is refused by name and place."""

from __future__ import annotations

import importlib.metadata
import os
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import regex

from pdtriage.knowledge import load_knowledge, parsers_file
from pdtriage.model import Text
from pdtriage.support.errors import UserError

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
    with pytest.raises(UserError) as refused:
        load_knowledge([path])
    assert str(refused.value).startswith(
        f"{path}: signature 'storage.frobnicator-full': {key} does not compile: "
    )


@pytest.mark.parametrize(
    "table", ["prefix", "clock", "counter", "finish", "recovery", "trouble", "unfinished"]
)
def test_a_format_that_does_not_compile(tmp_path: Path, table: str) -> None:
    path = _written(tmp_path, f'[[{table}]]\nid = "odd"\npattern = "(unclosed"')
    with pytest.raises(UserError) as refused:
        load_knowledge([path])
    assert str(refused.value).startswith(f"{path}: {table} 'odd': pattern does not compile: ")


def test_a_prefix_is_for_the_standard_library(tmp_path: Path) -> None:
    path = _written(tmp_path, '[[prefix]]\nid = "odd"\npattern = "\\\\p{L}+"')
    with pytest.raises(UserError, match="does not compile"):
        load_knowledge([path])


@pytest.mark.parametrize(
    "table",
    ["signature", "prefix", "clock", "counter", "finish", "recovery", "trouble", "unfinished"],
)
@pytest.mark.parametrize("form", ["{} = 3", "{} = ['a']", "[{}]\nid = 'odd'"])
def test_what_is_no_list_of_tables(tmp_path: Path, table: str, form: str) -> None:
    path = _written(tmp_path, form.format(table))
    with pytest.raises(UserError) as refused:
        load_knowledge([path])
    assert str(refused.value).startswith(f"{path}: {table} must be a list of tables")


def test_in_the_environment_it_is_skipped_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _written(tmp_path, SIGNATURE + 'pattern = "(unclosed"')
    monkeypatch.setenv("PDTRIAGE_PARSERS", str(tmp_path))
    knowledge = load_knowledge()
    assert "storage.frobnicator-full" not in knowledge.signatures
    assert [problem.en.partition(":")[0] for problem in knowledge.problems] == [str(path)]


def test_of_a_broken_file_nothing_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _written(tmp_path, SIGNATURE + '\n[[signature]]\nid = "no.role"')
    monkeypatch.setenv("PDTRIAGE_PARSERS", str(tmp_path))
    knowledge = load_knowledge()
    assert "storage.frobnicator-full" not in knowledge.signatures
    (problem,) = knowledge.problems
    assert problem.en.endswith("(nothing of this file is used)")
    assert "role 只能是" in problem.zh


@pytest.mark.parametrize("value", ["2026-11-16", "07:32:00", "1979-05-27T07:32:00Z"])
def test_a_date_is_refused_each_time(tmp_path: Path, value: str) -> None:
    path = _written(tmp_path, SIGNATURE + f"pattern = {value}")
    for _ in range(2):  # the second time it may come from the cache
        with pytest.raises(UserError, match="put it in quotes"):
            load_knowledge([path])


@pytest.mark.parametrize("pattern", [r"step (?P<step>\d+)(?=, loss)" + "{70000}", r"a{1,40000}"])
def test_a_counter_that_cannot_be_scanned_for(tmp_path: Path, pattern: str) -> None:
    path = _written(tmp_path, f"[[counter]]\nid = 'odd'\npattern = '{pattern}'")
    with pytest.raises(UserError) as refused:
        load_knowledge([path])
    assert str(refused.value).startswith(f"{path}: counter 'odd': pattern does not compile")
    assert "无法编译" in refused.value.message.zh


def test_a_package_whose_parsers_cannot_be_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PDTRIAGE_CACHE", str(tmp_path))
    point = EntryPoint("theirs", "no_such_module_here", "pdtriage.parsers")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [point])
    (problem,) = load_knowledge().problems
    assert "no_such_module_here cannot be loaded: ModuleNotFoundError" in problem.en


def test_a_package_whose_function_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PDTRIAGE_CACHE", str(tmp_path))
    point = EntryPoint("theirs", "os:folders_of_theirs", "pdtriage.parsers")
    monkeypatch.setattr(os, "folders_of_theirs", lambda: 1 // 0, raising=False)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [point])
    (problem,) = load_knowledge().problems
    assert "cannot be loaded: ZeroDivisionError" in problem.en


def test_a_folder_without_packages_may_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PDTRIAGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    looks: list[str] = []

    def look(group: str) -> list[EntryPoint]:
        looks.append(group)
        return []

    monkeypatch.setattr(importlib.metadata, "entry_points", look)
    load_knowledge()
    (tmp_path / "report.json").write_text("{}")
    load_knowledge()
    assert len(looks) == 1


def test_packages_are_looked_through_again_after_an_installation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PDTRIAGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    for _ in range(2):  # the second time nobody looks
        assert not load_knowledge().problems
    told = tmp_path / "theirs-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text("[pdtriage.parsers]\ntheirs = no_such_module_here\n")
    (problem,) = load_knowledge().problems
    assert "no_such_module_here" in problem.en


def test_what_ships_is_not_compiled_to_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(pattern: str) -> None:
        raise AssertionError(pattern)

    monkeypatch.setattr(regex, "compile", compiled)
    assert load_knowledge().signatures


def test_what_was_read_once_comes_from_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PDTRIAGE_CACHE", str(tmp_path))
    read = load_knowledge()

    def tables_of(_: bytes, path: Path) -> dict[str, object]:
        raise AssertionError(path)

    monkeypatch.setattr(parsers_file, "_tables_of", tables_of)
    again = load_knowledge()
    assert again == read
    for signature in again.signatures.values():
        told = (signature.title, signature.meaning, signature.confirm, *signature.advice)
        assert all(isinstance(text, Text) for text in told if text is not None)


def test_a_file_of_another_name_is_another_family(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PDTRIAGE_CACHE", str(tmp_path / "cache"))
    path = _written(tmp_path, SIGNATURE)
    other = tmp_path / "theirs.toml"
    other.write_bytes(path.read_bytes())
    for file in (path, other):
        (found,) = [s for s in load_knowledge([file]).signatures.values() if "frob" in s.id]
        assert found.family == file.stem


def _written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path
