"""What reads logs works on every system; what watches processes needs Linux, and says so."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pdtriage.support.errors import UserError
from pdtriage.support.language import LANGUAGES, Text

NEED_LINUX = ("run", "watch", "doctor", "demo")
_NAMES = {"win32": "Windows", "cygwin": "Windows", "darwin": "macOS"}


def verb_in(arguments: Sequence[str]) -> str:
    """The first word of a command line that is neither an option nor its value."""
    words = (word for word in arguments if not word.startswith("-") and word not in LANGUAGES)
    return next(words, "")


def refuse_elsewhere(verb: str) -> None:
    """Refuse a verb that cannot do its work on this system, before its modules are imported."""
    if verb in NEED_LINUX and sys.platform != "linux":
        raise _needs_linux(verb, _NAMES.get(sys.platform, sys.platform))


def _needs_linux(verb: str, here: str) -> UserError:
    return UserError(
        Text(
            f"`pdtriage {verb}` needs Linux, whose kernel tells it of processes; this is {here}.",
            f"`pdtriage {verb}` 需要 Linux：它从内核了解各进程的情况；本机是 {here}。",
        ),
        Text(
            "`pdtriage analyze` works here, and so does everything else that reads logs of a job "
            "that ran elsewhere.",
            "本机可以使用 `pdtriage analyze`，以及其他读取日志的子命令。",
        ),
    )
