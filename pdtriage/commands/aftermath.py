"""What is done with a report beside showing it: it is kept in a history, people are told.

Neither may cost the answer: what goes wrong is a warning on standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pdtriage.model import Language, Report, Text
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import language_of

if TYPE_CHECKING:
    from pdtriage.history.entry import RunEntry

HISTORY, NOTIFY = "PDTRIAGE_HISTORY", "PDTRIAGE_NOTIFY"
PATIENCE_AFTER_RUN = 5.0
"""Seconds that an exit code waits for other writers of the history."""


class Aftermath(NamedTuple):
    """Where reports are kept, and who is told; both may be nobody."""

    history: str = ""
    addresses: tuple[str, ...] = ()

    def keep(self, reports: Sequence[Report], paths: Sequence[str]) -> list[Report]:
        """Keeps reports in the history; returns them with notes on failures seen before."""
        if not self.history:
            return list(reports)
        from pdtriage.history.entry import entry_of, log_location
        from pdtriage.history.remember import remember
        from pdtriage.masking.redact import mask_secrets

        place = log_location(paths)
        entries = [entry_of(mask_secrets(report), place) for report in reports]
        try:
            seen = remember(self.history, entries)
        except UserError as error:
            _warn(error.text, reports[0].language)
            return list(reports)
        return [
            report if note is None else report._replace(notes=(*report.notes, note))
            for report, note in zip(reports, seen, strict=True)
        ]

    def tell(self, report: Report, paths: Sequence[str]) -> None:
        if self.addresses:
            from pdtriage.history.entry import log_location
            from pdtriage.masking.redact import mask_secrets

            values = mask_secrets(report).to_json()
            self._send(values, log_location(paths), report.language, "")

    def follow_run(self, folder: str, started: float, language: Language, code: int) -> None:
        """After a launch that exits with `code` and left its report beside its record."""
        if not self.history and not self.addresses:
            return
        from pdtriage.history.entry import entry_of_values, log_location

        place, seen = log_location([folder]), ""
        values = _report_beside(folder, started)
        if values is None:  # the logs could not be read in time; that is no reason to be silent
            values = {"verdict": "failed" if code else "succeeded", "language": language}
        elif self.history:
            seen = self._remember(entry_of_values(values, place), language)
            if seen:
                print(f"pdtriage run: {seen}", file=sys.stderr)
        if self.addresses:
            self._send(values, place, language, seen)

    def _remember(self, entry: RunEntry, language: Language) -> str:
        from pdtriage.history.remember import remember

        try:
            (note,) = remember(self.history, [entry], PATIENCE_AFTER_RUN)
        except UserError as error:
            _warn(error.text, language)
            return ""
        return note.in_(language) if note else ""

    def _send(self, values: Mapping[str, Any], place: str, language: Language, seen: str) -> None:
        from pdtriage.notify.message import message_on
        from pdtriage.notify.send import send

        message = message_on(values, place, os.environ, seen)
        if message is not None:
            for warning in send(self.addresses, message):
                _warn(warning, language)


def aftermath_of(history: str | None, notify: str | Sequence[str] | None) -> Aftermath:
    """What to do with reports, by the options that were typed, else by the variables.

    What cannot work is refused before the work begins; a variable, which may have been set for many
    machines and years ago, costs a warning.
    """
    path = history or os.environ.get(HISTORY, "")
    variable = os.environ.pop(NOTIFY, "")  # what we start has no use for the keys in it
    if path and not _is_usable(lambda: _refuse_store(path), bool(history)):
        path = ""
    addresses: list[str] = []
    if notify or variable:
        from pdtriage.notify.send import addresses_of, refuse_unusable

        addresses = addresses_of(notify or variable)
        if not _is_usable(lambda: refuse_unusable(addresses), bool(notify)):
            addresses = []
    return Aftermath(path, tuple(addresses))


def _refuse_store(path: str) -> None:
    from pdtriage.history.store import refuse_unusable_store

    refuse_unusable_store(path)


def _is_usable(refuse: Callable[[], None], typed: bool) -> bool:
    try:
        refuse()
    except UserError as error:
        if typed:
            raise
        _warn(error.text, language_of())
        return False
    return True


def _report_beside(folder: str, started: float) -> dict[str, Any] | None:
    import json

    path = os.path.join(folder, "pdtriage", "report.json")
    try:
        if os.path.getmtime(path) < started:
            return None
        with open(path, encoding="utf-8") as stream:
            values = json.load(stream)
    except (OSError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _warn(text: Text, language: Language) -> None:
    print(f"pdtriage: {text.in_(language)}", file=sys.stderr)
