"""All that was ever recorded, as a tree of old logs: jobs are told apart, failures grouped."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdtriage.history.filling import Filled, fill
from pdtriage.history.groups import groups_of
from pdtriage.history.store import open_history
from tests.cli.conftest import FIXTURES, Command
from tests.lab.stored import unpacked
from tests.report.browser import CHROMIUM, running


class Recorded:
    def __init__(self, tree: Path, history: Path, filled: Filled) -> None:
        self.tree, self.history, self.filled = tree, history, filled
        with open_history(str(history)) as store:
            self.runs = store.runs()

    def case_of(self, place: str) -> str:
        return Path(place).relative_to(self.tree).parts[0]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    top = tmp_path_factory.mktemp("history")
    tree, history = top / "tree", top / "h.db"
    tree.mkdir()
    with unpacked() as cases:
        for case in cases:
            shutil.move(case / "kept", tree / case.name)
    for folder in FIXTURES.iterdir():
        if folder.is_dir():
            shutil.copytree(folder, tree / folder.name)
    yield Recorded(tree, history, fill(str(history), [str(tree)]))
    shutil.rmtree(top)


def test_every_folder_is_one_job_and_nothing_is_left_out(recorded: Recorded) -> None:
    folders = {path.name for path in recorded.tree.iterdir()}
    places = {run.place for run in recorded.runs}
    assert len(folders) >= 300
    assert recorded.filled.jobs == len(places) == len(folders)
    assert {recorded.case_of(place) for place in places} == folders
    assert recorded.filled.new == recorded.filled.runs == len(recorded.runs)
    assert recorded.filled.skipped == ()


def test_failures_are_in_the_groups_of_their_kind(recorded: Recorded) -> None:
    groups = groups_of(recorded.runs)
    for group in groups:
        causes = [run.causes[0] for run in group.runs]
        assert {cause.fingerprint for cause in causes} == {group.fingerprint}
        assert len({(cause.category, cause.signature) for cause in causes}) == 1
    assert sum(len(group.runs) for group in groups) == sum(
        bool(run.causes) for run in recorded.runs
    )
    last = {recorded.case_of(run.place): run for run in recorded.runs}
    labels = {
        label.parent.name: json.loads(label.read_text())
        for label in FIXTURES.glob("*/label.json")
        if not (label.parent / "mtimes.json").exists()
    }
    wrong = [
        name
        for name, label in labels.items()
        if label.get("category")
        and label["runs"] == 1
        and last[name].causes[0].category not in (label["category"], *label.get("also_ok", ()))
    ]
    assert wrong == []


def test_the_same_fault_of_other_jobs_is_the_same_failure(recorded: Recorded) -> None:
    """A module that is missing is one failure, whatever the size of the job and the rank."""
    groups = [group for group in groups_of(recorded.runs) if group.cause.category == "code.import"]
    often = groups[0]
    assert len(often.runs) >= 5
    assert len({run.world_size for run in often.runs}) > 1
    assert len({run.causes[0].title for run in often.runs}) == 1


def test_a_second_import_adds_nothing(recorded: Recorded, pdtriage: Command) -> None:
    some = sorted(recorded.tree.iterdir())[::9]
    answer = pdtriage("history", "import", *some, "--history", recorded.history)
    assert answer.code == 0
    assert f"{len(some)} jobs, " in answer.out
    assert " runs: 0 new, " in answer.out
    with open_history(str(recorded.history)) as store:
        assert len(store.runs()) == len(recorded.runs)


def test_views(recorded: Recorded, pdtriage: Command) -> None:
    listed = pdtriage("history", "list", PDTRIAGE_HISTORY=str(recorded.history)).out
    first = next(line for line in listed.splitlines() if line.startswith("1:"))
    print_ = first.split()[0]
    shown = pdtriage("history", "show", print_[2:10], "--history", recorded.history).out
    assert shown.startswith(first)
    top = pdtriage("history", "top", "--history", recorded.history, "--lang", "zh").out
    assert "127.0.0.1" in top
    assert "次是根源" in top
    values = json.loads(pdtriage("history", "top", "--history", recorded.history, "-f", "json").out)
    assert values["schema"] == "pdtriage.history/1"
    assert values["runs"] == len(recorded.runs)
    assert values["failures"][0]["fingerprint"] == print_
    assert values["hosts"][0]["used"] >= values["hosts"][0]["blamed"] > 0
    assert pdtriage("history", "show", "1:", "--history", recorded.history).code == 2
    assert pdtriage("history", "show", "zz", "--history", recorded.history).code == 3
    assert pdtriage("history", "list").code == 2


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium")
def test_the_page_in_a_browser(recorded: Recorded, pdtriage: Command, tmp_path: Path) -> None:
    page = tmp_path / "h.html"
    assert pdtriage("history", "list", "--history", recorded.history, "-o", page).code == 0
    with running(tmp_path / "profile") as browser:
        for width, dark in ((1200, False), (1200, True), (390, False)):
            browser.open(page, width=width, dark=dark)
            assert browser.console == []
            assert browser.evaluate("document.documentElement.scrollWidth") <= width
            assert browser.evaluate("document.querySelectorAll('svg rect').length") > 10
            paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
            assert paper == ("rgb(22, 24, 28)" if dark else "rgb(251, 250, 248)")


def test_a_launch_is_kept_once_and_says_that_it_was_there_before(
    pdtriage: Command, tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text("open('/nonexistent/data')\n")
    words = ("run", "--nproc_per_node", "1", "--history", "h.db", "train.py")
    assert "same failure" not in pdtriage(*words).err
    assert "pdtriage run: The same failure was seen once before" in pdtriage(*words).err
    assert "2 runs: 0 new, 2 known" in pdtriage("history", "import", "log", "--history", "h.db").out
    again = pdtriage("analyze", "log", "--history", "h.db")
    assert "The same failure was seen once before" in " ".join(again.out.split())
