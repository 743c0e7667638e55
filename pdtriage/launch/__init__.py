"""Starts and supervises the processes of a job, and records what it saw.

`run` is the whole of `pdtriage run`. The analysis needs only `pdtriage.record.schema`, so nothing
heavier is imported before `run` is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pdtriage.launch.options.flags import LaunchFlags
    from pdtriage.launch.plan.devices import Probe
    from pdtriage.launch.supervise.events import Observer
    from pdtriage.launch.supervise.outcome import Analyst, LaunchChecks, Outcome
    from pdtriage.support.errors import UserError
    from pdtriage.support.language import Language


def run(
    argv: Sequence[str] | LaunchFlags,
    *,
    environ: Mapping[str, str] | None = None,
    observer: Observer | None = None,
    analyst: Analyst | None = None,
    language: Language = "en",
    probe: Probe | None = None,
    checks: LaunchChecks | None = None,
) -> Outcome:
    """Launch what `argv` (the words after `pdtriage run`) asks for and stay until it has ended.

    Who has parsed the words already hands over the flags.

    `observer` shows it (default: plain lines as Paddle's launcher prints them), `analyst` judges
    it (default: by exit order alone), `checks` warns of what may go wrong (default: nothing).
    Must be called in the main thread, for the signals.
    """
    from pdtriage.support.errors import UserError
    from pdtriage.support.systems import refuse_elsewhere

    try:
        refuse_elsewhere("run")
    except UserError as refusal:
        return _refused(refusal, language)
    from pdtriage.launch.session import run as run_session

    return run_session(
        argv,
        environ=environ,
        observer=observer,
        analyst=analyst,
        language=language,
        probe=probe,
        checks=checks,
    )


def _refused(refusal: UserError, language: Language) -> Outcome:
    import sys

    from pdtriage.launch.supervise.outcome import Outcome
    from pdtriage.support import exit_codes

    print(f"pdtriage run: {refusal.text.in_(language)}", file=sys.stderr)
    return Outcome(exit_codes.USAGE, refusal=refusal)


def end_at_ctrl_c() -> None:
    """Until the launcher listens to signals, Ctrl-C ends us at once.

    As an exception it could get lost: Python drops what is raised in a callback, and each import
    ends with one. The job would then start although it was told not to.
    """
    import signal  # of all verbs only a launcher needs it

    if callable(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
