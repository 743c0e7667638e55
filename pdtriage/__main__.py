"""The entry of the command line: quick answers first, typer only when it is needed."""

from __future__ import annotations

import signal

_AT_CTRL_C = signal.signal(signal.SIGINT, signal.SIG_DFL)  # an import would answer by a traceback

import contextlib
import sys
from collections.abc import Sequence

from pdtriage import __version__
from pdtriage.support import exit_codes, gc_pause, streams
from pdtriage.support.errors import debugging, description_of
from pdtriage.support.language import language_of_words
from pdtriage.support.systems import refuse_elsewhere, verb_in

signal.signal(signal.SIGINT, _AT_CTRL_C)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `pdtriage` and exit; nothing that goes wrong in here shows a traceback.

    Without `arguments` it is the program itself.
    """
    is_program = arguments is None
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    streams.make_usable()
    try:
        try:
            _run(arguments)
        finally:
            sys.stdout.flush()  # at exit it would be too late to say what went wrong
    except SystemExit as end:
        # who wants to debug or to profile gets to see the end
        if is_program and gc_pause.is_paused_until_exit() and not debugging():
            gc_pause.exit_at_once(end.code if isinstance(end.code, int) else 1)
        raise
    except KeyboardInterrupt:
        sys.exit(exit_codes.of_signal(2))
    except BrokenPipeError:
        streams.forget_output()
        sys.exit(exit_codes.of_signal(13))
    except Exception as error:
        if isinstance(error, OSError) and streams.is_full(error):
            streams.forget_output()
        verb = verb_in(arguments)
        who = f"pdtriage {verb}" if verb in ("run", "doctor") else "pdtriage"
        sentence, code = description_of(error, who)
        if code == exit_codes.INTERNAL and debugging():
            raise
        with contextlib.suppress(OSError):  # stderr may be as full as stdout
            print(sentence.in_(language_of_words(arguments)), file=sys.stderr)
        sys.exit(code)


def _run(arguments: Sequence[str]) -> None:
    """What must start faster than typer is imported does not wait for it."""
    if arguments in (["--version"], ["-V"]):
        print(f"pdtriage {__version__}")
        return
    refuse_elsewhere(verb_in(arguments))
    verb, words = "".join(arguments[:1]), arguments[1:]
    if verb == "run":
        from pdtriage.launch import end_at_ctrl_c

        end_at_ctrl_c()
        from pdtriage.commands.run import run

        sys.exit(run(words))
    if verb == "doctor":
        from pdtriage.commands.doctor import doctor

        sys.exit(doctor(words))
    if verb == "analyze":
        gc_pause.pause_gc_until_exit()
        from pdtriage.commands.analyze import analyze
        from pdtriage.support.command_line import plain_options

        options = plain_options(analyze, words)
        if options is not None:
            sys.exit(analyze(**options))
    with gc_pause.gc_paused():  # imports make many objects, and none to collect
        from pdtriage.commands.app import run_command

    sys.exit(run_command(arguments))


if __name__ == "__main__":
    main()
