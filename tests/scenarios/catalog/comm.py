"""Ranks that wait for each other, and jobs stopped from outside."""

import signal

from ..scenario import Launch, Scenario, Stop, Truth

SCENARIOS = (
    Scenario(
        "interrupt-sigint",
        "Ctrl-C in the terminal of the launcher",
        Truth("interrupted", "external.kill"),
        (Launch(stop=Stop("step 4 ", signal.SIGINT)),),
    ),
    Scenario(
        "hang-one-rank",
        "rank 2 of 4 stops before a step, the others wait for it until the job is terminated",
        Truth(
            "hung",
            "hang",
            also_ok=("comm.timeout",),
            verdict_also_ok=("interrupted",),
            culprit_ranks=(2,),
            victim_ranks=(0, 1, 3),
        ),
        (Launch(ranks=4, stop=Stop("step 4 batch", signal.SIGTERM, after=15)),),
    ),
)
