"""Ranks that die without a Python traceback, or without a word."""

from ..scenario import Launch, Scenario, Truth

SCENARIOS = (
    Scenario(
        "silent-sigkill",
        "rank 1 is killed by SIGKILL, as the kernel or an operator would",
        Truth(
            "failed",
            "external.kill",
            also_ok=("memory.host", "unknown"),
            culprit_ranks=(1,),
            victim_ranks=(0,),
        ),
    ),
    Scenario(
        "silent-exit3",
        "rank 2 of 3 leaves with sys.exit(3) and says nothing",
        Truth(
            "failed",
            "unknown",
            also_ok=("code.python", "comm.peer"),
            culprit_ranks=(2,),
            victim_ranks=(0, 1),
        ),
        (Launch(ranks=3),),
    ),
    Scenario(
        "exit-zero-early",
        "rank 1 ends with status 0 before the others are done",
        Truth(
            "failed",
            "comm.peer",
            also_ok=("unknown", "config.rank", "code.python"),
            culprit_ranks=(1,),
            victim_ranks=(0,),
        ),
    ),
    Scenario(
        "crash-segfault",
        "rank 1 reads address 0 in native code",
        Truth("failed", "code.crash", culprit_ranks=(1,), victim_ranks=(0,)),
    ),
)
