"""Every scenario, by what goes wrong in it."""

from ..scenario import Scenario
from . import code, comm, crash, reading, runs

SCENARIOS: tuple[Scenario, ...] = (
    *reading.SCENARIOS,
    *code.SCENARIOS,
    *crash.SCENARIOS,
    *comm.SCENARIOS,
    *runs.SCENARIOS,
)
HEALTHY: tuple[Scenario, ...] = ()
