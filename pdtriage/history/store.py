"""The store of the history: one SQLite file, in which every run stands once.

Writers wait for each other (a busy timeout and one transaction for each run), so that several
launches may share a file, on a shared folder, too, where a write-ahead log would not work. A file
that is damaged, or of something else, is refused and left as it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from pdtriage.history.entry import CauseEntry, RunEntry
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text
from pdtriage.support.private_files import PRIVATE

APPLICATION = 0x70645472
"""Stands in the head of the file: `file` and we know by it whose it is."""
VERSION = 1
PATIENCE = 30.0
"""Seconds to wait for another writer."""
VARIABLE = "PDTRIAGE_HISTORY"
_SCHEMA = """
CREATE TABLE runs (
  key TEXT PRIMARY KEY, place TEXT NOT NULL, run INTEGER, job TEXT, mode TEXT NOT NULL,
  launcher TEXT NOT NULL, world_size INTEGER, verdict TEXT NOT NULL, started REAL, ended REAL,
  last_step INTEGER, changes TEXT NOT NULL
);
CREATE TABLE causes (
  key TEXT NOT NULL REFERENCES runs (key), position INTEGER NOT NULL, fingerprint TEXT NOT NULL,
  signature TEXT NOT NULL, category TEXT NOT NULL, title_en TEXT NOT NULL, title_zh TEXT NOT NULL,
  role TEXT NOT NULL, rank INTEGER, ranks INTEGER NOT NULL, host TEXT, device TEXT,
  confidence TEXT NOT NULL, evidence TEXT NOT NULL, PRIMARY KEY (key, position)
);
CREATE INDEX causes_by_fingerprint ON causes (fingerprint);
CREATE TABLE used (
  key TEXT NOT NULL REFERENCES runs (key), host TEXT NOT NULL, device TEXT NOT NULL,
  PRIMARY KEY (key, host, device)
);
"""
_STATEMENTS = "SELECT 1 FROM sqlite_master WHERE type NOT IN ('table', 'index')"
"""Views and triggers, which run when they are looked at; none is ours."""


class History:
    """The runs in one file of a history."""

    def __init__(self, path: str, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    def add(self, entry: RunEntry) -> bool:
        """Keep a run; whether it is new. One that is known is brought up to date."""
        with _explained(self.path), self._connection as db:
            db.execute("BEGIN IMMEDIATE")
            known = db.execute("SELECT 1 FROM runs WHERE key = ?", [entry.key]).fetchone()
            for table in ("used", "causes", "runs"):
                db.execute(f"DELETE FROM {table} WHERE key = ?", [entry.key])
            self._insert(entry)
        return known is None

    def _insert(self, entry: RunEntry) -> None:
        values = entry._asdict()
        causes, used = values.pop("causes"), values.pop("used")
        values["changes"] = json.dumps(entry.changes, ensure_ascii=False)
        self._insert_row("runs", list(values.values()))
        for position, cause in enumerate(causes):
            row = list(cause)
            at = CauseEntry._fields.index("title")
            row[at : at + 1] = [*cause.title]
            self._insert_row("causes", [entry.key, position, *row])
        for host, device in used:
            self._insert_row("used", [entry.key, host, device])

    def _insert_row(self, table: str, row: Sequence[Any]) -> None:
        marks = ", ".join("?" * len(row))
        self._connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)

    def runs(self) -> list[RunEntry]:
        """All runs, oldest first; those without a time come before."""
        with _explained(self.path):
            db = self._connection
            causes, used = _by_key(db, "causes", ", position"), _by_key(db, "used", "")
            rows = db.execute("SELECT * FROM runs ORDER BY started, place, run").fetchall()
            entries = [
                (
                    *row[:-1],
                    [_cause(one) for one in causes.get(row[0], ())],
                    [one[1:] for one in used.get(row[0], ())],
                    json.loads(row[-1]),
                )
                for row in rows
            ]
            return _typed(entries)


@contextlib.contextmanager
def open_history(
    path: str, *, create: bool = False, patience: float = PATIENCE
) -> Iterator[History]:
    """The store at `path`; one that is not there is begun only where something will be added."""
    _refuse_other_places(path)
    if create and not os.path.exists(path):
        _create(path)
    if not os.path.isfile(path):
        raise UserError(
            Text(f"{path}: there is no history here;", f"{path}：这里没有历史记录；"),
            Text(
                "`pdtriage history import` or `--history` begins one.",
                "可用 `pdtriage history import` 或 `--history` 建立。",
            ),
        )
    with _explained(path):
        connection = sqlite3.connect(path, timeout=patience, isolation_level=None)
    with contextlib.closing(connection):
        _prepare(path, connection, create)
        yield History(path, connection)


def refuse_unusable_store(path: str) -> None:
    """Refuses a file that cannot be a history, before any work is done that is to be kept there."""
    _refuse_other_places(path)
    if os.path.exists(path) and os.path.getsize(path):
        with open_history(path):
            pass


def _refuse_other_places(path: str) -> None:
    folder = os.path.dirname(os.path.abspath(path))
    if "://" in path:
        raise UserError(
            Text(
                f"--history {path.split('://')[0]}://…: a history is a file of this machine or of "
                "a folder it has mounted",
                f"--history {path.split('://')[0]}://…：历史记录只能是本机或已挂载目录中的文件",
            )
        )
    if os.path.isdir(path):
        raise UserError(
            Text(f"{path} is a folder; give the name of a file", f"{path} 是目录；请给出文件名")
        )
    if not os.path.isdir(folder):
        raise UserError(
            Text(
                f"cannot keep the history {path}: there is no folder {folder}",
                f"无法保存历史记录 {path}：没有目录 {folder}",
            )
        )


def _create(path: str) -> None:
    """Creates the file, readable by its owner alone, as reports beside a run record are."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, PRIVATE))
    except OSError as error:
        raise UserError(
            Text(
                f"cannot keep the history {path}: {error.strerror}",
                f"无法保存历史记录 {path}：{error.strerror}",
            )
        ) from None


def _prepare(path: str, connection: sqlite3.Connection, create: bool) -> None:
    with _explained(path):
        if create and os.path.getsize(path) == 0:
            _begin(connection)
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            raise _unusable(path, Text("it is something else", "它不是历史记录"))
        if version != VERSION:
            newer = Text("another version of pdtriage wrote it", "它由另一版本的 pdtriage 写成")
            raise _unusable(path, newer)
        if connection.execute(_STATEMENTS).fetchone():
            raise _unusable(path, Text("somebody has added to it", "有人在其中添加了别的内容"))
        (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise _unusable(path, Text("it is damaged", "它已损坏"))


def _begin(connection: sqlite3.Connection) -> None:
    """Two may begin it at once: the second finds it begun."""
    with connection as db:
        db.execute("BEGIN IMMEDIATE")
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            for statement in filter(str.strip, _SCHEMA.split(";")):
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {VERSION}")


@contextlib.contextmanager
def _explained(path: str) -> Iterator[None]:
    """What SQLite refuses, in words for people."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise UserError(
                Text(
                    f"{path}: others write to it all the time; nothing was added",
                    f"{path}：一直有其他进程在写入；没有添加内容",
                )
            ) from None
        raise UserError(
            Text(f"cannot use the history {path}: {error}", f"无法使用历史记录 {path}：{error}")
        ) from None
    except (sqlite3.DatabaseError, ValueError) as error:
        damaged = Text(f"it is damaged ({error})", f"它已损坏（{error}）")
        raise _unusable(path, damaged) from None


def _unusable(path: str, why: Text) -> UserError:
    return UserError(
        Text(
            f"{path} cannot be used as a history: {why.en}; it is left as it is.",
            f"{path} 不能用作历史记录：{why.zh}；未作改动。",
        ),
        Text("Give another file, or move this one away.", "请换一个文件，或先把它移走。"),
    )


def _by_key(db: sqlite3.Connection, table: str, order: str) -> dict[str, list[tuple[Any, ...]]]:
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for row in db.execute(f"SELECT * FROM {table} ORDER BY key{order}"):
        rows.setdefault(row[0], []).append(row)
    return rows


def _cause(row: Sequence[Any]) -> list[Any]:
    values = list(row[2:])
    at = CauseEntry._fields.index("title")
    values[at : at + 2] = [values[at : at + 2]]
    return values


def _typed(entries: list[Any]) -> list[RunEntry]:
    """SQLite keeps anything in any column, and a shared file is anybody's."""
    import msgspec  # only those who look into a history need it

    try:
        return msgspec.convert(entries, list[RunEntry])
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
