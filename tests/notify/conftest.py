from __future__ import annotations

import pytest

from tests.cli.conftest import Answer, Command, failed_job
from tests.cli.conftest import pdtriage as plain

__all__ = ["failed_job", "plain"]


@pytest.fixture
def pdtriage(plain: Command) -> Command:
    """With all the time a busy machine needs to import apprise, unless it is about that time."""

    def _run(*words: object, **more: str) -> Answer:
        return plain(*words, **{"PDTRIAGE_NOTIFY_SECONDS": "120", **more})  # type: ignore[arg-type]

    return _run
