"""Rotated logs: which piece of a log a file is, and which piece is older."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.lazy_regex import lazy_compile


class Piece(NamedTuple):
    """A piece as its name tells it: by number (1 is newer than 2), by date, or just old."""

    number: int = 0
    date: str = ""
    """Digits only, so that text order is time order."""
    old: bool = False


NEWEST = Piece()


def without_rotation(name: str) -> tuple[str, Piece]:
    """Split `workerlog.0.1`, `workerlog.0-20240101` or `train.log.old` into log and piece.

    The number of `workerlog.0` is the process, not a piece.
    """
    for pattern in (_OF_PROCESS, _OF_ANY):
        if match := pattern.fullmatch(name):
            old = match["old"]
            if old is not None:
                return match["stem"], Piece(old=True)
            date = match["date"]
            if date is not None:
                return match["stem"], Piece(date=re.sub(r"\D", "", date))
            return match["stem"], Piece(number=int(match["number"]))
    return name, NEWEST


def rotations(pieces: Sequence[Piece]) -> list[int]:
    """A rotation number for each piece of one log, 0 for the newest, in the order given.

    Numbers stay what they are; dated and old pieces, and equal ones, come behind them.
    """
    numbers = [0] * len(pieces)
    taken: set[int] = set()
    for place in sorted(range(len(pieces)), key=lambda at: _age(pieces[at], at)):
        wanted = rotation_of(pieces[place])
        while wanted in taken:
            wanted += 1
        taken.add(wanted)
        numbers[place] = wanted
    return numbers


def rotation_of(piece: Piece) -> int:
    """The rotation number of a piece, unless another one of the log has it."""
    return piece.number if not piece.date and not piece.old else 1


def _age(piece: Piece, place: int) -> tuple[int, int, int, int]:
    """Sorts numbered pieces first, then dated ones from the newest, then old ones."""
    date = -int(piece.date.ljust(20, "0")[:20]) if piece.date else 0
    return (2 if piece.old else 1 if piece.date else 0, piece.number, date, place)


_PIECE = (
    r"(?:\.(?P<number>\d{1,4})"
    r"|[._-](?P<date>(?:19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d(?:[-_T.]?\d[\d:._-]*Z?)?|1\d{9})"
    r"|[._-](?P<old>old|prev|bak|backup|orig|save))"
)
_OF_PROCESS = lazy_compile(
    r"(?P<stem>(?:worker|server|heter|coordinator|env)(?:log)?[._-](?:n\d{1,9}[._-]c)?\d{1,9}(?:\.(?:log|txt))?)"
    + _PIECE
    + r"(?:\.(?:log|txt))?",
    re.IGNORECASE | re.ASCII,
)
_OF_ANY = lazy_compile(
    r"(?P<stem>(?:.*\.(?:log|txt|out|err)|dmesg|syslog|messages|stdout|stderr|nohup\.out))"
    + _PIECE,
    re.IGNORECASE | re.ASCII,
)
