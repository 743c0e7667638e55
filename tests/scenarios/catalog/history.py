"""One folder used twenty times over weeks, as people keep it: each launcher writes such a one.

Successes, failures of many kinds, Ctrl-C, a scheduler's SIGTERM, a script that is not there, fewer
and more ranks, a log that was rotated, a clock that was set back.
"""

import signal

from ..scenario import Launch, LauncherKind, RunTruth, Scenario, Stop, Truth

DAY = 24.0
LATER = "step 3 "
Lived = tuple[Launch, RunTruth]
WELL, INTERRUPTED = RunTruth("succeeded"), RunTruth("interrupted")
FOUR_WELL = RunTruth("succeeded", ranks=4)
CTRL_C = Stop(LATER, signal.SIGINT, "group")
SCHEDULER = Stop(LATER, signal.SIGTERM)
MODULES = {"new": "paddle.distributed.launch", "legacy": "paddle.distributed.fleet.launch"}


def weeks(launcher: LauncherKind) -> list[Lived]:
    """Nineteen launches, and what became of each."""

    def failed(*culprits: int, of: int = 2) -> RunTruth:
        return RunTruth("failed", culprits, of)

    def lived(
        hours: float, script: str, truth: RunTruth, stop: Stop | None = None, rotate: str = ""
    ) -> Lived:
        launch = Launch(truth.ranks, launcher, script, hours=hours, stop=stop, rotate=rotate)
        return launch, truth

    stopped = CTRL_C if launcher == "legacy" else SCHEDULER  # SIGTERM leaves orphans there
    return [
        _misspelt(launcher),
        lived(0, "healthy_run.py", WELL),
        lived(0, "name_error.py", failed(1)),
        lived(1, "healthy_logging.py", FOUR_WELL),
        lived(1, "import_all.py", failed(0, 1, 2, 3, of=4)),
        lived(1, "key_error.py", failed(3, of=4)),
        lived(DAY, "long_run.py", INTERRUPTED, CTRL_C),
        _misspelt(launcher, DAY),
        lived(2 * DAY, "healthy_run.py", WELL),
        lived(2 * DAY + 3, "data_worker_raises.py", failed(1)),
        lived(3 * DAY, "crash_segfault.py", failed(1)),
        lived(3 * DAY, "silent_exit3.py", failed(2, of=3)),
        lived(4 * DAY, "healthy_logging.py", FOUR_WELL),
        lived(8 * DAY, "op_shape.py", failed(1)),
        lived(8 * DAY, "long_run.py", INTERRUPTED, stopped),
        lived(9 * DAY, "healthy_run.py", WELL),
        lived(9 * DAY - 2, "healthy_run.py", WELL),
        lived(14 * DAY, "assertion.py", failed(1)),
        lived(15 * DAY, "healthy_logging.py", WELL, rotate=".1.gz" if launcher == "new" else ".1"),
    ]


def _misspelt(launcher: LauncherKind, hours: float = 0.0) -> Lived:
    """A mistake in the script's name; as `pdtriage run` starts nothing then, there it is one in
    the script."""
    truth = RunTruth("failed", (0, 1))
    if launcher == "pdtriage":
        return Launch(2, launcher, "syntax_error.py.txt", hours=hours), truth
    entry = ("-m", MODULES[launcher], "--nproc_per_node", "2", "trian.py")
    return Launch(2, launcher, "healthy_run.py", hours=hours, entry=entry), truth


def _folder(launcher: LauncherKind, script: str, story: str, end: RunTruth) -> Scenario:
    stop = CTRL_C if end.verdict == "interrupted" else None
    last = Launch(end.ranks, launcher, script, hours=16 * DAY, stop=stop)
    launches = [*weeks(launcher), (last, end)]
    others = tuple(rank for rank in range(end.ranks) if rank not in end.culprits)
    truth = Truth(
        end.verdict,
        {"failed": "data.io", "interrupted": "external.kill"}.get(end.verdict),
        culprit_ranks=end.culprits,
        victim_ranks=others if end.culprits else (),
        runs=len(launches),
        history=tuple(truth for _, truth in launches),
    )
    told = f"twenty launches over two weeks; in the last one {story}"
    files = tuple(launch for launch, _ in launches)
    return Scenario(f"history-{launcher}", told, truth, files, limit=240)


SCENARIOS = (
    _folder(
        "legacy", "data_errno5_worker.py", "rank 1 cannot read a sample", RunTruth("failed", (1,))
    ),
    _folder("new", "healthy_run.py", "all goes well", WELL),
    _folder("pdtriage", "long_run.py", "somebody presses Ctrl-C", INTERRUPTED),
)
