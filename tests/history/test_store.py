"""The file: two writers lose nothing, a known run stays one, what is damaged is left as it is."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pdtriage.history.entry import entry_of_values
from pdtriage.history.store import open_history
from pdtriage.support.errors import UserError
from tests.cli.conftest import Command
from tests.history.test_groups import cause, run
from tests.running import clean_environment

WRITER = """
import sys
from pdtriage.history.store import open_history
from tests.history.test_groups import cause, run
sys.stdin.readline()
for number in range(int(sys.argv[2]), int(sys.argv[2]) + 40):
    with open_history(sys.argv[1], create=True) as history:
        history.add(run(number, cause()))
"""


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    path = str(tmp_path / "h.db")
    runs = [run(1, cause(), cause("1:b", device=None)), run(2, changes=("a", "b"), job=None)]
    with open_history(path, create=True) as history:
        assert [history.add(one) for one in runs] == [True, True]
        assert history.add(runs[0]._replace(verdict="hung")) is False
    with open_history(path) as history:
        assert history.runs() == [runs[0]._replace(verdict="hung"), runs[1]]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "h.db")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, path, str(100 * number)],
            cwd=Path(__file__).parents[2],
            env=clean_environment(),
            stdin=subprocess.PIPE,
        )
        for number in range(3)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"\n")
        writer.stdin.close()
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    with open_history(path) as history:
        assert len(history.runs()) == 120


def damaged(path: Path) -> None:
    with open_history(str(path), create=True) as history:
        for number in range(60):
            history.add(run(number, cause()))
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 4000] = b"\xff" * 4000
    path.write_bytes(content)


def of_something_else(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE runs (key TEXT)")
    db.close()


def of_another_version(path: Path) -> None:
    with open_history(str(path), create=True):
        pass
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()


def with_a_view_that_never_ends(path: Path) -> None:
    with open_history(str(path), create=True):
        pass
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE runs")
        db.execute(
            "CREATE VIEW runs AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
            "SELECT x FROM n"
        )
    db.close()


def no_database(path: Path) -> None:
    path.write_bytes(b"dear diary\n" * 1000)


@pytest.mark.parametrize(
    "make",
    [damaged, of_something_else, of_another_version, with_a_view_that_never_ends, no_database],
)
def test_what_cannot_be_used_is_told_and_left_as_it_is(
    pdtriage: Command, failed_job: Path, tmp_path: Path, make: object
) -> None:
    path = tmp_path / "h.db"
    assert callable(make)
    make(path)
    before = path.read_bytes()
    refused = pdtriage("analyze", failed_job, "--history", path)
    assert (refused.code, refused.out) == (2, "")
    assert "left as it is" in refused.err
    warned = pdtriage("analyze", failed_job, PDTRIAGE_HISTORY=str(path))
    assert warned.code == 1
    assert "FAILED: rank 1" in warned.out
    assert "left as it is" in warned.err
    assert pdtriage("history", "list", "--history", path).code == 2
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("column", "value"),
    [("last_step", "many"), ("ended", b"\xff"), ("changes", "[1]")],
)
def test_a_row_of_other_types_is_told(
    pdtriage: Command, failed_job: Path, tmp_path: Path, column: str, value: object
) -> None:
    path = tmp_path / "h.db"
    with open_history(str(path), create=True) as history:
        history.add(run(1, cause()))
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE runs SET {column} = ?", [value])
    db.close()
    refused = pdtriage("history", "list", "--history", path)
    assert refused.code == 2
    assert "it is damaged" in refused.err
    warned = pdtriage("analyze", failed_job, PDTRIAGE_HISTORY=str(path))
    assert warned.code == 1
    assert "FAILED: rank 1" in warned.out
    assert "it is damaged" in warned.err


def test_places_that_cannot_be_one(tmp_path: Path) -> None:
    for path in (str(tmp_path), str(tmp_path / "no" / "h.db"), "s3://bucket/h.db"):
        with pytest.raises(UserError), open_history(path, create=True):
            pass
    with pytest.raises(UserError, match="no history here"), open_history(str(tmp_path / "h")):
        pass


def test_a_report_of_another_shape_is_a_run_without_much(tmp_path: Path) -> None:
    odd = {"verdict": 7, "runs": [3, {"index": "x"}], "root_causes": "no", "ranks": [{"host": 5}]}
    entry = entry_of_values(odd, "/logs")
    assert (entry.verdict, entry.causes, entry.used) == ("unknown", (), ())
    with open_history(str(tmp_path / "h.db"), create=True) as history:
        assert history.add(entry)
        assert history.runs() == [entry]
