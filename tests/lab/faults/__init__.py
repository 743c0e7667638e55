"""What can go wrong in a drawn job, and what is true when it does."""

from __future__ import annotations

from . import code, ends, libraries, reading, resources, setup
from .fault import Fault, Outside

FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        *code.FAULTS,
        *ends.FAULTS,
        *libraries.FAULTS,
        *reading.FAULTS,
        *resources.FAULTS,
        *setup.FAULTS,
    )
}

__all__ = ["FAULTS", "Fault", "Outside"]
