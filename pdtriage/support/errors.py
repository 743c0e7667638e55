"""What people are told when something cannot be done, and whether they want to see where."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NoReturn

from pdtriage.support import exit_codes
from pdtriage.support.language import Text

DEBUG_VARIABLE = "PDTRIAGE_DEBUG"
_NONE = Text("", "")


class UserError(Exception):
    """What was asked for cannot be done: why, what to do about it, and the code to exit with.

    `notes` say what was there and could not be used.
    """

    exit_code = exit_codes.USAGE

    def __init__(
        self,
        message: Text,
        remedy: Text = _NONE,
        *,
        notes: Sequence[Text] = (),
        exit_code: int | None = None,
    ) -> None:
        super().__init__(message.en)
        self.message = message
        self.remedy = remedy
        self.notes = tuple(dict.fromkeys(notes))
        if exit_code is not None:
            self.exit_code = exit_code

    @property
    def text(self) -> Text:
        """All of it: the message with its remedy, and each note on a line of its own."""
        space = " " if self.remedy.en else ""
        en = f"{self.message.en}{space}{self.remedy.en}"
        zh = f"{self.message.zh}{self.remedy.zh}"
        return Text(
            "\n  ".join([en, *(note.en for note in self.notes)]),
            "\n  ".join([zh, *(note.zh for note in self.notes)]),
        )


class NotAvailableError(UserError):
    """A package, a cluster or a kind of storage is not there."""


def missing_package(what: str, requirement: str) -> NotAvailableError:
    return NotAvailableError(
        Text(
            f"{what} needs a package that is not installed here: pip install '{requirement}'",
            f"{what} 需要一个尚未安装的软件包：pip install '{requirement}'",
        )
    )


def assert_never(value: NoReturn) -> NoReturn:
    """After all cases of a closed list: a case that somebody forgot is a type error here.

    `typing` has it from Python 3.11 on.
    """
    raise AssertionError(f"not expected here: {value!r}")


def debugging() -> bool:
    """Whether somebody wants to see where a mistake of ours happened."""
    return bool(os.environ.get(DEBUG_VARIABLE))
