"""A plugin of pytest: with `--pdtriage` a failed distributed test shows the triage of its logs.

Where these lie is known from `@pytest.mark.pdtriage("folder")`; else they are looked for in the
test's `tmp_path` and in `./log`, if something was written there since the test began.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

_BEGAN = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("pdtriage").addoption(
        "--pdtriage",
        action="store_true",
        help="show which rank of a failed distributed test failed first, and why",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "pdtriage(*folders): where the job of a test logs")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[_BEGAN] = time.time()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    report = (yield).get_result()
    if report.failed and report.when == "call" and item.config.getoption("--pdtriage"):
        for folder in _log_folders(item):
            report.sections.append((f"pdtriage {folder}", _triage(folder)))


def _log_folders(item: pytest.Item) -> list[str]:
    marked = [str(folder) for mark in item.iter_markers("pdtriage") for folder in mark.args]
    if marked:
        return [folder for folder in marked if os.path.exists(folder)]
    own = getattr(item, "funcargs", {}).get("tmp_path")
    places = [*([own] if isinstance(own, Path) else []), Path("log")]
    since = item.stash.get(_BEGAN, 0.0)
    return list(dict.fromkeys(str(f) for place in places for f in _written_since(place, since)))


def _written_since(place: Path, since: float) -> Iterator[Path]:
    """Folders with logs of ranks that were written while the test ran; files have coarse clocks."""
    for name in ("workerlog.*", "serverlog.*"):
        for file in sorted(place.rglob(name)):
            if file.stat().st_mtime >= since - 1:
                yield file.parent


def _triage(folder: str) -> str:
    from pdtriage.analysis.pipeline import analyze
    from pdtriage.report import Options, reporter_named

    try:
        text = StringIO()
        reporter_named("text").write(analyze(folder), text, Options())
    except Exception as error:  # a test has failed: what we do wrong must not hide why
        return f"not analysed: {type(error).__name__}: {error}"
    return text.getvalue()
