"""Secrets on their way from the command line to those who need them: shown to nobody else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SECRET_VARIABLE = "PDTRIAGE_JOB_SECRET"
PASSWORD_VARIABLE = "PDTRIAGE_ETCD_PASSWORD"
NOTIFY_VARIABLE = "PDTRIAGE_NOTIFY"
SECRET_VARIABLES = (SECRET_VARIABLE, PASSWORD_VARIABLE, NOTIFY_VARIABLE)
"""Nothing that is started may see them."""
SECRET_FLAGS = {"job_secret": "secret", "etcd_password": "password", "notify": "addresses"}
"""Each flag, and under which name what it was is kept out of sight."""
MASKED = "***"
_SHORTEST = {"job_secret": "job_s", "etcd_password": "etcd_p", "notify": "no"}
"""Beginnings that are long enough to mean one; `--job` has always been --job_id."""


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
    """What was read, with the secrets out of sight; that there is one stays to be seen."""
    shown = dict(values)
    for flag, kept_as in SECRET_FLAGS.items():
        if values.get(flag):
            shown |= {flag: MASKED, kept_as: Secret(values[flag])}
    return shown


def may_mean(begin: str, flag: str) -> bool:
    """Whether a name as it was typed may be short for `flag`."""
    return bool(begin) and flag.startswith(begin) and begin.startswith(_SHORTEST.get(flag, ""))


def without_secrets(words: Sequence[str], of_script: int) -> tuple[str, ...]:
    """The words as typed, but for the secrets; the last `of_script` are the script's own."""
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
    return spelled.startswith("--") and any(may_mean(name, flag) for flag in SECRET_FLAGS)
