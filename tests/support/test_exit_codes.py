"""Names of signals are those of Linux, wherever logs are read."""

from __future__ import annotations

import signal

from pdtriage.support.exit_codes import SIGNAL_NAMES, signal_name


def test_signals_are_named_as_linux_does() -> None:
    known = {number: signal_name(number) for number in range(1, len(SIGNAL_NAMES) + 1)}
    here = {number: signal.Signals(number).name for number in known}
    assert {**known, 29: here[29]} == here  # SIGIO is SIGPOLL, too
    assert known[29] == "SIGIO"


def test_what_has_no_name_keeps_its_number() -> None:
    assert [signal_name(number) for number in (0, -1, 34, 64)] == [
        *("signal 0", "signal -1", "signal 34", "signal 64")
    ]
