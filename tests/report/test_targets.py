"""`-f` and `-o`: which format goes where."""

from __future__ import annotations

from pathlib import Path, PurePath

import pytest

from pdtriage.report import FORMATS, reporter_for_file, reporter_named
from pdtriage.report.delivery import targets_named, targets_of
from pdtriage.report.repository import Location, repository_around, source_location_of
from pdtriage.support.errors import UserError
from tests.report import reports

HERE: dict[str, str] = {}
GITHUB = {"GITHUB_ACTIONS": "true"}


def asked(
    *formats: str, output: str | None = None, environment: dict[str, str] = HERE
) -> list[tuple[str, str | None]]:
    found = targets_of(formats, Path(output) if output else None, environment)
    return [(t.reporter.name, str(t.path) if t.path else None) for t in found]


def test_text_on_the_terminal_is_the_default() -> None:
    assert asked() == [("text", None)]


def test_github_is_chosen_where_github_runs() -> None:
    assert asked(environment=GITHUB) == [("github", None)]
    assert asked("json", environment=GITHUB) == [("json", None)]
    assert asked(output="x.md", environment=GITHUB) == [("markdown", "x.md")]


def test_files_of_their_own_leave_the_terminal_its_text() -> None:
    assert asked("junit=triage.xml", "sarif=a=b.sarif") == [
        ("text", None),
        ("junit", "triage.xml"),
        ("sarif", "a=b.sarif"),
    ]
    assert asked("junit=triage.xml", environment=GITHUB)[0] == ("github", None)


def test_files_for_a_launch_are_separated_by_commas() -> None:
    found = targets_named("a.html,junit=b.xml,c=d.md,plain")
    assert [(target.reporter.name, str(target.path)) for target in found] == [
        ("html", "a.html"),
        ("junit", "b.xml"),
        ("markdown", "c=d.md"),
        ("text", "plain"),
    ]


def test_a_format_of_a_launch_needs_a_file() -> None:
    with pytest.raises(UserError, match="html needs a file: html=FILE"):
        targets_named("html")


def test_one_format_may_go_to_the_terminal_or_to_output() -> None:
    assert asked("json", "junit=t.xml") == [("json", None), ("junit", "t.xml")]
    assert asked("json", "junit=t.xml", output="o") == [("json", "o"), ("junit", "t.xml")]


@pytest.mark.parametrize(
    ("formats", "output", "sentence"),
    [
        (("json", "text"), None, "only one can go to the same place"),
        (("pdf",), None, "there is no such format"),
        (("pdf=x",), None, "there is no such format"),
        (("junit=",), None, "a file name is missing"),
        (("junit=x", "sarif=./x"), None, "two reports cannot go to the same file"),
        (("json", "sarif=x"), "x", "two reports cannot go to the same file"),
    ],
)
def test_what_cannot_be_written(
    formats: tuple[str, ...], output: str | None, sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        asked(*formats, output=output)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("r.txt", "text"),
        ("r.json", "json"),
        ("r.md", "markdown"),
        ("r.xml", "junit"),
        ("r.sarif", "sarif"),
        ("r.sarif.json", "sarif"),
        ("gl-code-quality-report.json", "gitlab"),
        ("r.unheard-of", None),
    ],
)
def test_the_name_of_a_file_tells_its_format(name: str, expected: str | None) -> None:
    found = reporter_for_file(PurePath(name))
    assert (found.name if found else None) == expected


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_calls_itself_as_it_is_called(name: str) -> None:
    assert reporter_named(name).name == name


def test_code_of_a_container_is_found_in_the_checkout(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "reader.py").touch()
    cause = reports.io_error()  # its frame is /opt/train/reader.py
    assert source_location_of(cause, tmp_path) == Location("train/reader.py", 31)


def test_code_outside_the_repository_has_no_place(tmp_path: Path) -> None:
    assert source_location_of(reports.io_error(), tmp_path) is None
    assert source_location_of(reports.io_error(), None) is None


def test_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert repository_around(inner, {}) == tmp_path
    assert repository_around(tmp_path, {"GITHUB_WORKSPACE": str(inner)}) == inner
    assert repository_around(tmp_path, {"GITHUB_WORKSPACE": "/nowhere"}) == tmp_path
