"""The entry of the command line: quick answers first, typer only when it is needed."""

from __future__ import annotations

import contextlib
import errno
import sys
from collections.abc import Sequence

from pdtriage import __version__
from pdtriage.support import exit_codes, streams
from pdtriage.support.errors import DEBUG_VARIABLE, UserError, debugging
from pdtriage.support.gc_pause import (
    exit_at_once,
    gc_paused,
    is_paused_until_exit,
    pause_gc_until_exit,
)
from pdtriage.support.language import Text, language_of_words


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
        if is_program and is_paused_until_exit() and not debugging():
            exit_at_once(end.code if isinstance(end.code, int) else 1)
        raise
    except KeyboardInterrupt:
        sys.exit(exit_codes.of_signal(2))
    except BrokenPipeError:
        streams.forget_output()
        sys.exit(exit_codes.of_signal(13))
    except Exception as error:
        if isinstance(error, OSError) and streams.is_full(error):
            streams.forget_output()
        sentence, code = _explained(error, arguments)
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
    verb, words = "".join(arguments[:1]), arguments[1:]
    if verb == "run":
        end_at_ctrl_c()
        from pdtriage.commands.run import run

        sys.exit(run(words))
    if verb == "doctor":
        from pdtriage.commands.doctor import doctor

        sys.exit(doctor(words))
    if verb == "analyze":
        pause_gc_until_exit()
        from pdtriage.commands.analyze import analyze
        from pdtriage.commands.options import plain_options

        options = plain_options(analyze, words)
        if options is not None:
            sys.exit(analyze(**options))
    with gc_paused():  # imports make many objects, and none to collect
        from pdtriage.commands.app import run_command

    sys.exit(run_command(arguments))


def end_at_ctrl_c() -> None:
    """Until the launcher listens to signals, Ctrl-C ends us at once.

    As an exception it could get lost: Python drops what is raised in a callback, and each import
    ends with one. The job would then start although it was told not to.
    """
    import signal  # of all verbs only a launcher needs it

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _explained(error: Exception, arguments: Sequence[str]) -> tuple[Text, int]:
    """What to say when something cannot be done or goes wrong, and what to exit with."""
    if isinstance(error, UserError):
        who = " ".join(["pdtriage", *(word for word in arguments[:1] if word in ("run", "doctor"))])
        return Text(*(f"{who}: {text}" for text in error.text)), error.exit_code
    if isinstance(error, OSError) and streams.is_full(error):
        sentence = Text(
            f"pdtriage: the output cannot be written: {error.strerror}",
            f"pdtriage：无法写出输出：{error.strerror}",
        )
        return sentence, exit_codes.USAGE
    if isinstance(error, OSError) and error.errno == errno.ENFILE:
        sentence = Text(
            "pdtriage: the machine has no open file left (sysctl fs.file-max)",
            "pdtriage：本机可打开的文件数已用尽（sysctl fs.file-max）",
        )
        return sentence, exit_codes.USAGE
    if isinstance(error, OSError) and error.errno == errno.EMFILE:
        import resource  # there is no such error where there is no such module

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        sentence = Text(
            f"pdtriage: {limit} open files are not enough; raise the limit: ulimit -n 65535",
            f"pdtriage：可打开的文件数上限 {limit} 不够；请提高上限：ulimit -n 65535",
        )
        return sentence, exit_codes.USAGE
    what = f"{type(error).__name__}: {error}".replace("\n", " ")
    sentence = Text(
        f"pdtriage: internal error: {what} (set {DEBUG_VARIABLE}=1 to see where)",
        f"pdtriage：内部错误：{what}（设置 {DEBUG_VARIABLE}=1 可查看位置）",
    )
    return sentence, exit_codes.INTERNAL


if __name__ == "__main__":
    main()
