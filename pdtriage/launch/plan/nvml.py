"""The few questions launcher and doctor have for NVIDIA's driver, asked of its own library."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from pdtriage.support.fast_namedtuple import NamedTuple

_LIBRARY = "libnvidia-ml.so.1"
_TEXT = 96
_MOST_PROCESSES = 256
_LOST = 15
_XID_EVENTS = 8
_UNCORRECTED, _VOLATILE = 1, 0


class CardMemory(NamedTuple):
    """Bytes."""

    total: int
    used: int


class _Memory(ctypes.Structure):
    _fields_ = [
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    ]


class _Process(ctypes.Structure):
    _fields_ = [
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


class _Event(ctypes.Structure):
    _fields_ = [
        ("card", ctypes.c_void_p),
        ("kind", ctypes.c_ulonglong),
        ("number", ctypes.c_ulonglong),
        ("instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


class Nvml:
    """An open library; every answer is None where the driver does not give it."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def count(self) -> int | None:
        """Number of cards."""
        count = ctypes.c_uint(0)
        failed = self._call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        return None if failed else count.value

    def driver(self) -> str | None:
        text = ctypes.create_string_buffer(_TEXT)
        if self._call("nvmlSystemGetDriverVersion", text, _TEXT) != 0:
            return None
        return text.value.decode("ascii", "replace")

    def cuda(self) -> tuple[int, int] | None:
        """The newest CUDA this driver can run."""
        number = ctypes.c_int(0)
        for name in ("nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"):
            if self._call(name, ctypes.byref(number)) == 0:
                return number.value // 1000, number.value % 1000 // 10
        return None

    def memory(self, index: int) -> CardMemory | None:
        card = self._card(index)
        memory = _Memory()
        if card is None or self._call("nvmlDeviceGetMemoryInfo", card, ctypes.byref(memory)) != 0:
            return None
        return CardMemory(int(memory.total), int(memory.used))

    def processes(self, index: int) -> tuple[int, ...] | None:
        """Pids that compute on a card."""
        card = self._card(index)
        if card is None:
            return None
        for name in (
            "nvmlDeviceGetComputeRunningProcesses_v3",
            "nvmlDeviceGetComputeRunningProcesses_v2",
        ):
            count = ctypes.c_uint(_MOST_PROCESSES)
            found = (_Process * _MOST_PROCESSES)()
            if self._call(name, card, ctypes.byref(count), found) == 0:
                return tuple(int(process.pid) for process in found[: count.value])
        return None

    def card(self, name: str) -> ctypes.c_void_p | None:
        """A card by its number or by its UUID."""
        if name.isdecimal():
            return self._card(int(name))
        card = ctypes.c_void_p()
        asked = self._call("nvmlDeviceGetHandleByUUID", name.encode(), ctypes.byref(card))
        return card if asked == 0 else None

    def is_lost(self, card: ctypes.c_void_p) -> bool:
        return self._call("nvmlDeviceGetMemoryInfo", card, ctypes.byref(_Memory())) == _LOST

    def uncorrected_errors(self, card: ctypes.c_void_p) -> int | None:
        """Memory errors since the driver was loaded; None for a card without ECC."""
        count = ctypes.c_ulonglong(0)
        asked = ("nvmlDeviceGetTotalEccErrors", card, _UNCORRECTED, _VOLATILE)
        return None if self._call(*asked, ctypes.byref(count)) else count.value

    def slowdown_reasons(self, card: ctypes.c_void_p) -> int:
        """Why a card's clocks are lower than they could be, as NVML's bits."""
        reasons = ctypes.c_ulonglong(0)
        for name in (
            "nvmlDeviceGetCurrentClocksEventReasons",
            "nvmlDeviceGetCurrentClocksThrottleReasons",
        ):
            if self._call(name, card, ctypes.byref(reasons)) == 0:
                return reasons.value
        return 0

    def errors_of(self, cards: Sequence[ctypes.c_void_p]) -> ctypes.c_void_p | None:
        """A set of events that wakes for each Xid of these cards; None where there is no such."""
        events = ctypes.c_void_p()
        if self._call("nvmlEventSetCreate", ctypes.byref(events)) != 0:
            return None
        kind = ctypes.c_ulonglong(_XID_EVENTS)
        taken = [self._call("nvmlDeviceRegisterEvents", card, kind, events) for card in cards]
        return events if 0 in taken else None

    def next_error(self, events: ctypes.c_void_p, seconds: float) -> tuple[int, int] | None:
        """The card, as its handle, and its Xid; None when none came in so many seconds."""
        event, patience = _Event(), ctypes.c_uint(int(seconds * 1000))
        for name in ("nvmlEventSetWait_v2", "nvmlEventSetWait"):
            status = self._call(name, events, ctypes.byref(event), patience)
            if status == 0:
                return int(event.card or 0), int(event.number)
            if status != -1:
                break
        return None

    def close(self) -> None:
        self._call("nvmlShutdown")

    def _card(self, index: int) -> ctypes.c_void_p | None:
        card = ctypes.c_void_p()
        if self._call("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(card)) != 0:
            return None
        return card

    def _call(self, name: str, *arguments: object) -> int:
        """NVML's status; -1 where this driver is too old to have the function."""
        function = getattr(self._library, name, None)
        return -1 if function is None else int(function(*arguments))


def open_nvml() -> Nvml | None:
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return None
    return Nvml(library) if library.nvmlInit_v2() == 0 else None
