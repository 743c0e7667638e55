"""The command line's front door: quick answers first, typer only when it is needed."""

from __future__ import annotations

import contextlib
import errno
import sys
from collections.abc import Sequence

from pdtriage import __version__
from pdtriage.support import exit_codes, streams
from pdtriage.support.errors import DEBUG_VARIABLE, debugging
from pdtriage.support.gc_pause import collector_at_rest, leave, rest_until_exit, rests_until_exit


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `pdtriage` and exit; nothing that goes wrong in here shows a traceback.

    Without `arguments` it is the program itself.
    """
    is_program = arguments is None
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    streams.make_usable()
    try:
        try:
            _obey(arguments)
        finally:
            sys.stdout.flush()  # at exit it would be too late to say what went wrong
    except SystemExit as end:
        # who wants to debug or to profile gets to see the end
        if is_program and rests_until_exit() and not debugging():
            leave(end.code if isinstance(end.code, int) else 1)
        raise
    except KeyboardInterrupt:
        sys.exit(exit_codes.of_signal(2))
    except BrokenPipeError:
        streams.forget_output()
        sys.exit(exit_codes.of_signal(13))
    except Exception as error:
        if isinstance(error, OSError) and streams.is_full(error):
            streams.forget_output()
            sys.exit(_complaint(error))
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            sys.exit(_too_few_files(error))
        if debugging():
            raise
        sys.exit(_apology(error))


def _obey(arguments: Sequence[str]) -> None:
    if arguments in (["--version"], ["-V"]):
        print(f"pdtriage {__version__}")
        return
    if arguments[:1] == ["run"]:
        end_at_ctrl_c()
        from pdtriage.commands.run import run  # a launcher starts without waiting for typer

        sys.exit(run(arguments[1:]))
    if arguments[:1] == ["doctor"]:
        from pdtriage.commands.doctor import doctor  # its flags are those of run

        sys.exit(doctor(arguments[1:]))
    if arguments[:1] == ["analyze"]:
        rest_until_exit()
        from pdtriage.commands.analyze import analyze
        from pdtriage.commands.quick import understood
        from pdtriage.commands.speech import refusals_said

        options = understood(analyze, arguments[1:])
        if options is not None:
            with refusals_said():
                sys.exit(analyze(**options))
    with collector_at_rest():  # imports make many objects, and none to collect
        from pdtriage.commands.app import obey  # typer is slow to import

    obey(arguments)


def end_at_ctrl_c() -> None:
    """Until the launcher listens to signals, Ctrl-C ends us at once.

    As an exception it could get lost: Python drops what is raised in a callback, and each import
    ends with one. The job would then start although it was told not to.
    """
    import signal  # of all verbs only a launcher needs it

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _complaint(error: OSError) -> int:
    _say(
        f"pdtriage: the output cannot be written: {error.strerror}",
        f"pdtriage：无法写出输出：{error.strerror}",
    )
    return exit_codes.USAGE


def _too_few_files(error: OSError) -> int:
    if error.errno == errno.ENFILE:
        _say(
            "pdtriage: the machine has no open file left (sysctl fs.file-max)",
            "pdtriage：本机可打开的文件数已用尽（sysctl fs.file-max）",
        )
        return exit_codes.USAGE
    import resource  # there is no such error where there is no such module

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    _say(
        f"pdtriage: {limit} open files are not enough; raise the limit: ulimit -n 65535",
        f"pdtriage：可打开的文件数上限 {limit} 不够；请提高上限：ulimit -n 65535",
    )
    return exit_codes.USAGE


def _apology(error: Exception) -> int:
    what = f"{type(error).__name__}: {error}".replace("\n", " ")
    _say(
        f"pdtriage: internal error: {what} (set {DEBUG_VARIABLE}=1 to see where)",
        f"pdtriage：内部错误：{what}（设置 {DEBUG_VARIABLE}=1 可查看位置）",
    )
    return exit_codes.INTERNAL


def _say(en: str, zh: str) -> None:
    from pdtriage.support.language import Text, language_of

    with contextlib.suppress(OSError):  # stderr may be as full as stdout
        print(Text(en, zh).in_(language_of()), file=sys.stderr)


if __name__ == "__main__":
    main()
