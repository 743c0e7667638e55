"""Every scenario, by what goes wrong in it."""

from ..scenario import Scenario
from . import code, comm, config, crash, healthy, history, reading, runs, servers, storage

SCENARIOS: tuple[Scenario, ...] = (
    *reading.SCENARIOS,
    *code.SCENARIOS,
    *crash.SCENARIOS,
    *comm.SCENARIOS,
    *config.SCENARIOS,
    *storage.SCENARIOS,
    *runs.SCENARIOS,
    *history.SCENARIOS,
    *servers.SCENARIOS,
)
HEALTHY: tuple[Scenario, ...] = healthy.HEALTHY
