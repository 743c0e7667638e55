"""One table of kinds: what is recognised is read, and what has a role is a process's log."""

from __future__ import annotations

from typing import get_args

import pytest

from pdtriage.model import KINDS, LOG_OF_ROLE, FileKind, kinds_to
from pdtriage.model.kinds import Reading
from pdtriage.sources.find.recognise import read_name

ALL: tuple[FileKind, ...] = get_args(FileKind)


def test_every_kind_has_a_row_and_is_read_in_one_way() -> None:
    assert tuple(KINDS) == ALL
    assert sum(len(kinds_to(reading)) for reading in get_args(Reading)) == len(ALL)


@pytest.mark.parametrize("kind", [kind for kind, row in KINDS.items() if row.bare])
def test_the_short_way_to_a_kind_is_the_way_of_its_pattern(kind: FileKind) -> None:
    row = KINDS[kind]
    assert row.name is not None
    assert row.name.fullmatch(f"{row.bare}.12")
    assert (read_name(f"{row.bare}.12").kind, read_name(f"{row.bare}.12").index) == (kind, 12)


def test_logs_of_processes_are_scanned_and_followed() -> None:
    assert LOG_OF_ROLE == {
        "worker": "worker",
        "server": "server",
        "heter": "heter",
        "coordinator": "coordinator",
    }
    assert all(KINDS[kind].reading == "scan" for kind in LOG_OF_ROLE.values())
    assert all(KINDS[kind].followed for kind in LOG_OF_ROLE.values())


def test_what_is_skipped_or_ours_is_not_followed() -> None:
    assert not any(KINDS[kind].followed for kind in kinds_to("skip", "record", "parse"))
