"""The command line's front door: quick answers first, typer only when it is needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from pdtriage import __version__, exit_codes

DEBUG_VARIABLE = "PDTRIAGE_DEBUG"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `pdtriage` and exit; nothing that goes wrong in here shows a traceback."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments in (["--version"], ["-V"]):
        print(f"pdtriage {__version__}")
        return
    try:
        if arguments[:1] == ["run"]:
            from pdtriage.commands.run import run  # a launcher starts without waiting for typer

            sys.exit(run(arguments[1:]))
        if arguments[:1] == ["doctor"]:
            from pdtriage.commands.doctor import doctor  # its flags are those of run

            sys.exit(doctor(arguments[1:]))
        from pdtriage.cli import obey  # typer is slow to import

        obey(arguments)
    except KeyboardInterrupt:
        sys.exit(exit_codes.of_signal(2))
    except BrokenPipeError:
        _leave_pipe()
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        sys.exit(_apology(error))


def _leave_pipe() -> None:
    """The reader of our output has gone; the interpreter must not complain about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(exit_codes.of_signal(13))


def _apology(error: Exception) -> int:
    from pdtriage.bilingual import Text
    from pdtriage.language import language_of

    what = f"{type(error).__name__}: {error}".replace("\n", " ")
    said = Text(
        f"pdtriage: internal error: {what} (set {DEBUG_VARIABLE}=1 to see where)",
        f"pdtriage：内部错误：{what}（设置 {DEBUG_VARIABLE}=1 可查看位置）",
    )
    print(said.in_(language_of()), file=sys.stderr)
    return exit_codes.INTERNAL


if __name__ == "__main__":
    main()
