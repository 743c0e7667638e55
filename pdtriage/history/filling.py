"""Fills a history from old logs: which folders and archives of a tree are the logs of one job each,
and the runs of those, job by job."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pdtriage.analysis.pipeline import analyze_all_runs
from pdtriage.history.entry import RunEntry, entry_of, log_location
from pdtriage.history.store import open_history
from pdtriage.model import RECORD_FOLDER
from pdtriage.reading.local import Mapper
from pdtriage.sources.find.recognise import archive_by_name, read_name
from pdtriage.sources.remote.url import is_url
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Language, Text

_NODE = re.compile(
    r"(?:node|host|pod|machine|server|trainer|worker)s?[-_.]?\d+|(?:\d{1,3}\.){3}\d{1,3}", re.I
)
"""How people call the folder of one node of a job."""
_LOGS = ("log", "logs")


class Filled(NamedTuple):
    """What came of it."""

    jobs: int
    runs: int
    new: int
    skipped: tuple[Text, ...]
    """Places without logs, and what could not be read."""


def fill(
    path: str,
    roots: Sequence[str],
    language: Language = "en",
    parsers: Sequence[Path] = (),
    mapper: Mapper | None = None,
    tick: Callable[[int, int], None] | None = None,
) -> Filled:
    """Add all runs of all jobs below `roots` to the history at `path`; known ones stay one."""
    jobs = [job for root in roots for job in jobs_below(root)]
    runs = new = 0
    skipped: list[Text] = []
    with open_history(path, create=True) as history:
        for number, job in enumerate(jobs):
            if tick is not None:
                tick(number, len(jobs))
            try:
                entries = _entries(job, language, parsers, mapper)
            except UserError as error:
                skipped.append(error.message)
                continue
            runs += len(entries)
            new += sum([history.add(entry) for entry in entries])
    return Filled(len(jobs), runs, new, tuple(skipped))


def _entries(
    job: str, language: Language, parsers: Sequence[Path], mapper: Mapper | None
) -> list[RunEntry]:
    reports = analyze_all_runs(job, language=language, parsers=parsers, mapper=mapper)
    return [entry_of(report, log_location([job])) for report in reports]


def jobs_below(root: str) -> list[str]:
    """Folders and archives with the logs of one job each, in order of their names.

    A folder is one if logs lie in it; folders called like nodes, side by side, are one job. What is
    behind a URL, or a file, is one as a whole.
    """
    if is_url(root) or not os.path.isdir(root):
        return [root]
    jobs: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if _has_logs(folder, files):
            folders[:] = []
            jobs.append(_job_of(folder, root))
            continue
        jobs += [os.path.join(folder, name) for name in sorted(files) if archive_by_name(name)]
    return sorted(dict.fromkeys(jobs))


def _has_logs(folder: str, files: Sequence[str]) -> bool:
    facts = [read_name(name, folder) for name in files if not archive_by_name(name)]
    recorded = os.path.isdir(os.path.join(folder, RECORD_FOLDER))
    return recorded or any(one.kind is not None or one.promising for one in facts)


def _job_of(folder: str, root: str) -> str:
    """The folder itself, or the one above it where that holds a folder for each node."""
    for node in _above(folder, root):
        above = os.path.dirname(node)
        if not _NODE.fullmatch(os.path.basename(node)):
            continue
        alike = [name for name in os.listdir(above) if _NODE.fullmatch(name)]
        return above if len(alike) > 1 else folder
    return folder


def _above(folder: str, root: str) -> Iterator[str]:
    """The folder, and the one it is the `log` of; not the root, which somebody chose."""
    if os.path.normpath(folder) != os.path.normpath(root):
        yield folder
        if os.path.basename(folder) in _LOGS and os.path.dirname(folder) != os.path.normpath(root):
            yield os.path.dirname(folder)
