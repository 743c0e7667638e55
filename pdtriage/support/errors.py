"""What people are told when something cannot be done, and whether they want to see where."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import NoReturn

from pdtriage.support import exit_codes, streams
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
    """Ends a match over a closed list: a case that somebody forgot is a type error here.

    `typing` has it from Python 3.11 on.
    """
    raise AssertionError(f"not expected here: {value!r}")


def debugging() -> bool:
    """Whether somebody wants to see where a mistake of ours happened."""
    return bool(os.environ.get(DEBUG_VARIABLE))


def description_of(error: Exception, who: str) -> tuple[Text, int]:
    """What to say when something cannot be done or goes wrong, and what to exit with."""
    if isinstance(error, UserError):
        return Text(*(f"{who}: {text}" for text in error.text)), error.exit_code
    if isinstance(error, OSError) and streams.is_full(error):
        sentence = Text(
            f"pdtriage: the output cannot be written: {error.strerror}",
            f"pdtriage：无法写出输出：{error.strerror}",
        )
        return sentence, exit_codes.USAGE
    if isinstance(error, OSError) and error.errno == errno.ENFILE:
        sentence = Text(
            "pdtriage: the machine has no open file left (sysctl fs.file-max)",
            "pdtriage：本机可打开的文件数已用尽（sysctl fs.file-max）",
        )
        return sentence, exit_codes.USAGE
    if isinstance(error, OSError) and error.errno == errno.EMFILE:
        import resource  # there is no such error where there is no such module

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        sentence = Text(
            f"pdtriage: {limit} open files are not enough; raise the limit: ulimit -n 65535",
            f"pdtriage：可打开的文件数上限 {limit} 不够；请提高上限：ulimit -n 65535",
        )
        return sentence, exit_codes.USAGE
    what = f"{type(error).__name__}: {error}".replace("\n", " ")
    sentence = Text(
        f"pdtriage: internal error: {what} (set {DEBUG_VARIABLE}=1 to see where)",
        f"pdtriage：内部错误：{what}（设置 {DEBUG_VARIABLE}=1 可查看位置）",
    )
    return sentence, exit_codes.INTERNAL
