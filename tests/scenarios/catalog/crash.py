"""Ranks that die without a Python traceback, or without a word."""

import signal

from ..scenario import Launch, Scenario, Stop, blame

SILENT = ("code.python", "comm.peer")

SCENARIOS = (
    Scenario(
        "crash-segfault",
        "rank 1 reads address 0 in native code",
        blame("code.crash", 1),
    ),
    Scenario(
        "crash-segfault-legacy",
        "rank 1 reads address 0 in native code",
        blame("code.crash", 1),
        (Launch(launcher="legacy", script="crash_segfault.py"),),
    ),
    Scenario(
        "crash-abort",
        "rank 2 of 3 aborts",
        blame("code.crash", 2, of=3),
        (Launch(ranks=3),),
    ),
    Scenario(
        "crash-sigfpe",
        "rank 1 divides by zero in native code",
        blame("code.crash", 1),
    ),
    Scenario(
        "crash-sigill",
        "rank 1 executes an instruction the processor does not know",
        blame("code.crash", 1),
    ),
    Scenario(
        "silent-sigkill",
        "rank 1 is killed by SIGKILL, as the kernel or an operator would",
        blame("external.kill", 1, also=("memory.host", "unknown")),
    ),
    Scenario(
        "silent-sigkill-legacy",
        "rank 1 of 2 is killed by SIGKILL from outside",
        blame("external.kill", 1, also=("memory.host", "unknown")),
        (
            Launch(
                launcher="legacy",
                script="long_run.py",
                stop=Stop("step 4 ", signal.SIGKILL, "log/workerlog.1"),
            ),
        ),
    ),
    Scenario(
        "outside-sigterm",
        "somebody else than the launcher sends SIGTERM to rank 2 of 3",
        blame("external.kill", 2, of=3, also=("unknown",)),
        (
            Launch(
                ranks=3,
                script="long_run.py",
                stop=Stop("step 4 ", signal.SIGTERM, "log/workerlog.2"),
            ),
        ),
    ),
    Scenario(
        "silent-exit3",
        "rank 2 of 3 leaves with sys.exit(3) and says nothing",
        blame("unknown", 2, of=3, also=SILENT),
        (Launch(ranks=3),),
    ),
    Scenario(
        "silent-exit7",
        "rank 1 leaves with os._exit(7) and says nothing",
        blame("unknown", 1, also=SILENT),
        (Launch(launcher="legacy"),),
    ),
    Scenario(
        "exit-zero-early",
        "rank 1 ends with status 0 before the others are done",
        blame("comm.peer", 1, also=("unknown", "config.rank", "code.python")),
    ),
)
