"""Several launches into one folder, and jobs that go well."""

from ..scenario import Launch, Scenario, Truth

SCENARIOS = (
    Scenario(
        "run-success",
        "two ranks train to the end",
        Truth("succeeded"),
        (Launch(script="healthy_run.py"),),
    ),
    Scenario(
        "runs-success-then-failure",
        "the first launch succeeds, rank 1 of the second segfaults",
        Truth("failed", "code.crash", culprit_ranks=(1,), victim_ranks=(0,), runs=2),
        (Launch(script="healthy_run.py"), Launch(script="crash_segfault.py")),
    ),
)
