"""Starts and supervises the processes of a job, and records what it saw.

`run` is the whole of `pdtriage run`. Where it cannot work (it needs Linux) it says so, and imports
nothing before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pdtriage.launch.session import run as run
    from pdtriage.launch.supervise.outcome import Outcome
    from pdtriage.support.errors import UserError
    from pdtriage.support.language import Language
else:

    def run(argv, *, language="en", **given):
        """See `pdtriage.launch.session.run`, which needs Linux to be imported."""
        from pdtriage.support.errors import UserError
        from pdtriage.support.systems import refuse_elsewhere

        try:
            refuse_elsewhere("run")
        except UserError as refusal:
            return _refused(refusal, language)
        from pdtriage.launch.session import run as run_session

        return run_session(argv, language=language, **given)


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
