"""What the driver tells of the cards of a launch while it runs, asked by a process of its own.

A question to the driver of a card that broke may never be answered: nobody here waits for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pdtriage.analysis.cards import SLOWED_BITS
from pdtriage.launch.supervise.processes import HELPERS
from pdtriage.model.logs import CARD_TROUBLES, CardEvent

if TYPE_CHECKING:
    from ctypes import c_void_p

    from pdtriage.launch.plan.nvml import Nvml

LOOK_EVERY = 5.0
SLOWED_LOOKS = 3
"""In a row: a card is slowed down for a moment now and then."""
MOST_OF_A_KIND = 8
"""Of one card: a broken one may report the same all the time."""
AFTERMATH = frozenset({43, 45})
"""Xids that come with every program that is killed."""
_BOOT = """
import sys
sys.path[:] = sys.argv[2:]
from pdtriage.live.card_watch import serve
serve(sys.argv[1])
"""


def is_alarming(event: CardEvent) -> bool:
    """Worth a warning while the job runs; the rest is for the timeline."""
    if event.what == "slowed":
        return False
    return event.what != "xid" or event.number not in AFTERMATH


class CardWatch:
    """Has the cards watched until it is closed; `tell` is called in a thread of its own."""

    def __init__(
        self, devices: Sequence[str], environ: Mapping[str, str], tell: Callable[[CardEvent], None]
    ) -> None:
        self._devices = list(dict.fromkeys(devices))
        self._environ = environ
        self._tell = tell
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the watch; nothing happens where no process or no thread can be started."""
        with contextlib.suppress(OSError, RuntimeError):
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, json.dumps(self._devices), *sys.path],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(self._environ),
                start_new_session=True,
            )
            HELPERS.add(self._process.pid)
            threading.Thread(target=self._read, name="card-watch", daemon=True).start()

    def close(self) -> None:
        """Ends the watch at once: a process that is held up in the driver is not waited for."""
        if self._process is not None:
            with contextlib.suppress(OSError):
                self._process.kill()
            self._process = None

    def _read(self) -> None:
        process = self._process
        if process is None or process.stdout is None:
            return
        for line in process.stdout:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                device, what, number = json.loads(line)
                self._tell(CardEvent(time.time(), str(device), CARD_TROUBLES[what], int(number)))
        process.wait()


def serve(devices: str) -> None:
    """The life of the process: it writes a line for each event, and ends with who started it."""
    from pdtriage.launch.plan.nvml import open_nvml

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    nvml = open_nvml()
    if nvml is None:
        return
    parent = os.getppid()
    for found in troubles(nvml, json.loads(devices)):
        if os.getppid() != parent:
            return
        if found is not None:
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()


def troubles(nvml: Nvml, devices: Sequence[str]) -> Iterator[tuple[str, str, int] | None]:
    """(device, what, number) as it comes; None when nothing did for a while."""
    cards = {
        device: card
        for device in devices
        if (card := nvml.card(device.rpartition(":")[2])) is not None
    }
    names = {int(card.value or 0): device for device, card in cards.items()}
    events = nvml.errors_of(list(cards.values()))
    states = {device: _CardState(nvml, card) for device, card in cards.items()}
    counted: dict[tuple[str, str], int] = {}
    looked_at = time.monotonic()
    while cards:
        came = nvml.next_error(events, LOOK_EVERY) if events is not None else None
        found: list[tuple[str, str, int]] = []
        if came is not None and came[0] in names:
            found.append((names[came[0]], "xid", came[1]))
        left = LOOK_EVERY - (time.monotonic() - looked_at)
        if came is None and left > 0:
            time.sleep(left)  # a driver without events answers at once
        if came is None or left <= 0:
            looked_at = time.monotonic()
            found += [(device, *told) for device in cards for told in states[device].look()]
        for one in found:
            counted[one[:2]] = counted.get(one[:2], 0) + 1
            if counted[one[:2]] <= MOST_OF_A_KIND:
                yield one
        yield None


class _CardState:
    """What is known of one card from the looks before."""

    def __init__(self, nvml: Nvml, card: c_void_p) -> None:
        self._nvml, self._card = nvml, card
        self._errors = nvml.uncorrected_errors(card)
        self._slowed: list[int] = []
        self._told = 0
        self._lost = False

    def look(self) -> Iterator[tuple[str, int]]:
        if self._lost:
            return
        if self._nvml.is_lost(self._card):
            self._lost = True
            yield "lost", 0
            return
        errors = self._nvml.uncorrected_errors(self._card)
        if errors is not None and self._errors is not None and errors > self._errors:
            yield "ecc", errors - self._errors
            self._errors = errors
        self._slowed = [*self._slowed, self._nvml.slowdown_reasons(self._card) & SLOWED_BITS]
        self._slowed = self._slowed[-SLOWED_LOOKS:]
        lasting = self._slowed[0]
        for reasons in self._slowed:
            lasting &= reasons
        if len(self._slowed) == SLOWED_LOOKS and lasting & ~self._told:
            self._told |= lasting
            yield "slowed", lasting
