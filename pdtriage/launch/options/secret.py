"""The secret of a job on its way from the command line to those who sign: shown to nobody else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SECRET_FLAG = "job_secret"
SECRET_VARIABLE = "PDTRIAGE_JOB_SECRET"
MASKED = "***"


class Secret:
    """A text that shows itself nowhere: not in logs, not in records, not in messages."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def __repr__(self) -> str:
        return MASKED if self._text else "None"

    def reveal(self) -> str:
        return self._text


def set_apart(values: Mapping[str, Any]) -> dict[str, Any]:
    """What was read, with the secret out of sight; that there is one stays to be seen."""
    given = values.get(SECRET_FLAG)
    return {**values, SECRET_FLAG: MASKED, "secret": Secret(given)} if given else dict(values)


def may_mean(begin: str, flag: str) -> bool:
    """Whether a flag's name begins so; `--job` has always been --job_id."""
    return (
        bool(begin)
        and flag.startswith(begin)
        and (flag != SECRET_FLAG or begin.startswith("job_s"))
    )


def without_secret(words: Sequence[str], of_script: int) -> tuple[str, ...]:
    """The words as typed, but for the secret; the last `of_script` are the script's own."""
    shown = list(words)
    for place, word in enumerate(words[: len(words) - of_script]):
        spelled, equals, value = word.partition("=")
        if not _is_secret_flag(spelled):
            continue
        if equals and not value.startswith("@"):
            shown[place] = f"{spelled}={MASKED}"
        elif not equals and place + 1 < len(words) and not words[place + 1].startswith("@"):
            shown[place + 1] = MASKED
    return tuple(shown)


def _is_secret_flag(spelled: str) -> bool:
    name = spelled.removeprefix("--").replace("-", "_")
    return spelled.startswith("--job") and name.startswith("job_s") and SECRET_FLAG.startswith(name)
