"""What is asked for and not there: every optional part says what to do about it."""

from __future__ import annotations

from pdtriage.support.bilingual import Text


class NotAvailableError(Exception):
    """A package, a cluster or a kind of storage is not there; `message` says what to do."""

    def __init__(self, message: Text) -> None:
        super().__init__(message.en)
        self.message = message


def missing_package(what: str, requirement: str) -> NotAvailableError:
    return NotAvailableError(
        Text(
            f"{what} needs a package that is not installed here: pip install '{requirement}'",
            f"{what} 需要一个尚未安装的软件包：pip install '{requirement}'",
        )
    )
