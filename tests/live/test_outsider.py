"""A signal of somebody else: by whom, as long as that one is there to be looked at."""

from __future__ import annotations

import os
import signal

from ..running import wait_until
from .conftest import Desk

MINUTES = 120.0


def test_who_ended_a_rank_is_named_with_its_program(desk: Desk) -> None:
    """The lines are those of Paddle's signal handler."""
    desk.script(
        """
        import signal
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        print("epoch: 0, step: 1, loss: 0.5", flush=True)
        open(f"ready{rank}", "w").write(str(os.getpid()))
        came = signal.sigwaitinfo([signal.SIGTERM])
        print("FatalError: `Termination signal` is detected by the operating system.")
        print(f"  [SignalInfo: *** SIGTERM (@0x1) received by PID {os.getpid()} (TID 0x7f) "
              f"from PID {came.si_pid} ***]", flush=True)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        os.kill(os.getpid(), signal.SIGTERM)
        """
    )
    run = desk.launch("--quiet", ranks=3)
    ready = [desk.folder / f"ready{rank}" for rank in range(3)]
    assert wait_until(lambda: all(path.exists() and path.read_text() for path in ready), MINUTES)
    os.kill(int(ready[1].read_text()), signal.SIGTERM)
    run.finish(MINUTES)
    said = " ".join(run.said.split())
    program = open("/proc/self/comm").read().strip()  # noqa: SIM115
    assert "FAILED: rank 1 of 3" in said
    assert f"(pid {os.getpid()}, {program})" in said
