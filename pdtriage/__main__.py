"""The entry of the command line: quick answers first, typer only when it is needed."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # the other one imports for a while

_HEEDS_CTRL_C = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _HEEDS_CTRL_C:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an import would answer by a traceback

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence

from pdtriage import __version__
from pdtriage.support import exit_codes, gc_pause, streams
from pdtriage.support.errors import debugging, description_of
from pdtriage.support.language import language_of_words
from pdtriage.support.systems import refuse_elsewhere, verb_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

if _HEEDS_CTRL_C:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `pdtriage` and exit; nothing that goes wrong in here shows a traceback.

    Without `arguments` it is the program itself.
    """
    is_program = arguments is None
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    streams.make_usable()
    if is_program and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
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
    if shell := os.environ.pop("_PDTRIAGE_COMPLETE", ""):
        from pdtriage.commands.completion import answer_shell

        answer_shell(shell, arguments)
        return
    if _is_path(arguments):
        arguments = ["analyze", *arguments]
    refuse_elsewhere(verb_in(arguments))
    verb, words = "".join(arguments[:1]), arguments[1:]
    if verb == "run":
        from pdtriage.launch import end_at_ctrl_c

        end_at_ctrl_c()
        from pdtriage.commands.run import run

        sys.exit(run(words))
    if verb == "doctor":
        with _importing():
            from pdtriage.commands.doctor import doctor

        sys.exit(doctor(words))
    if verb == "analyze":
        gc_pause.pause_gc_until_exit()
        with _importing():
            from pdtriage.commands.analyze import analyze
            from pdtriage.support.command_line import plain_options

        options = plain_options(analyze, words)
        if options is not None:
            sys.exit(analyze(**options))
    with _importing(), gc_pause.gc_paused():  # imports make many objects, and none to collect
        from pdtriage.commands.app import run_command

    sys.exit(run_command(arguments))


@contextlib.contextmanager
def _importing() -> Iterator[None]:
    """Ctrl-C ends us at once: as an exception it would get lost in a callback of an import."""
    before = signal.getsignal(signal.SIGINT)
    if callable(before):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        if callable(before):
            signal.signal(signal.SIGINT, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Answers Ctrl-C: it ends the program within an import; elsewhere it is an exception."""
    if frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    raise KeyboardInterrupt


def _is_path(arguments: Sequence[str]) -> bool:
    """Whether the first word is no verb but something to analyse: `pdtriage log/`."""
    word = "".join(arguments[:1])
    if word in ("", "analyze", "run", "doctor") or word.startswith("-"):
        return False
    if not os.path.exists(word) and "://" not in word:
        return False
    from pdtriage.commands.verbs import VERBS

    return all(verb.words.split()[0] != word for verb in VERBS)


if __name__ == "__main__":
    main()
