"""The words of `says`: which lines may carry each of them, and what such a line has to name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast, get_args

from pdtriage.model import SIGNATURE_ROLES, Says, Text
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple

MEANINGFUL_ROLES = tuple(role for role in SIGNATURE_ROLES if role != "noise")
_BAD_NEWS = ("cause", "symptom", "context")
_GROUP = re.compile(r"\(\?P<(\w+)>")


class Terms(NamedTuple):
    """The terms on which a signature may use a word of `says`."""

    roles: Sequence[str] = MEANINGFUL_ROLES
    groups: Sequence[str] = ()
    """Named groups that its pattern needs; of `a|b` either."""


TERMS: dict[Says, Terms] = {
    "by-shell": Terms(["cause"]),
    "opens-launch": Terms(["start"]),
    "describes-job": Terms(["context"], ["job_id", "mode", "replicas", "status"]),
    "lists-hosts": Terms(["context"], ["endpoint"]),
    "waiting-for-peers": Terms(["context"]),
    "never-met": Terms(["cause"]),
    "never-started": Terms(["cause"]),
    "started": Terms(["start"], ["replicas"]),
    "running": Terms(["context"]),
    "process-id": Terms(["context"], ["pid", "local_rank"]),
    "process-rank": Terms(["context"], ["rank", "local_rank", "world_size"]),
    "own-rank": Terms(["context"], ["self_rank"]),
    "model-saved": Terms(["progress"]),
    "evaluated": Terms(["progress"]),
    "wraps-up": Terms(["progress"]),
    "shuts-down": Terms(["progress"]),
    "training-done": Terms(["end"]),
    "process-starts": Terms(["start"]),
    "program-starts": Terms(["start"]),
    "imports": Terms(["start"]),
    "process-ends": Terms(["cause", "victim", "end"]),
    "completed": Terms(["end"]),
    "failed": Terms(_BAD_NEWS),
    "process-failed": Terms(_BAD_NEWS, ["rank|local_rank|path"]),
    "exit-status": Terms(_BAD_NEWS, ["rank|local_rank|path"]),
    "lists-failed": Terms(_BAD_NEWS, ["ranks"]),
    "names-culprit": Terms(_BAD_NEWS, ["rank"]),
    "rank-is-local": Terms(["cause"], ["rank"]),
    "repeats-output": Terms(["context"], ["rank"]),
    "interrupted": Terms(["cause"]),
    "launcher-stopped": Terms(["cause"]),
    "launcher-failed": Terms(["cause"]),
    "between-ranks": Terms(["cause", "symptom"]),
    "peer-is-worker": Terms(["symptom"], ["peer_rank"]),
    "peer-is-server": Terms(["symptom"], ["peer_rank"]),
    "states-cause": Terms(["cause"]),
    "inspected": Terms(["context"]),
    "ras-group": Terms(["context"], ["sequence", "replicas"]),
    "ras-subject": Terms(["context"]),
    "ras-launched": Terms(["context"], ["sequence", "rank", "replicas"]),
    "ras-unreached": Terms(["context"]),
    "ras-member": Terms(["context"], ["rank|pid|ranks"]),
    "lacks-shm": Terms(["context"]),
    "own-headline": Terms(["context"]),
    "own-victims": Terms(["context"], ["ranks"]),
    "own-verdict": Terms(["context"], ["symbol"]),
}
"""Words that are not listed go with every line that means anything."""
_ANYWHERE = Terms()


def words_of(
    given: Sequence[str], role: str, trigger: object, pattern: str | None, where: str
) -> tuple[Says, ...]:
    """The words a signature gives, refused where they do not fit the rest of it."""
    named = set(_GROUP.findall(pattern or ""))
    for word in given:
        if word not in get_args(Says):
            listed = ", ".join(get_args(Says))
            raise UserError(
                Text(
                    f"{where}: says {word!r}, which is none of {listed}",
                    f"{where}：says 中的 {word!r} 不在以下列表中：{listed}",
                ),
            )
        terms = TERMS.get(cast(Says, word), _ANYWHERE)
        if role not in terms.roles:
            fitting = ", ".join(terms.roles)
            raise UserError(
                Text(
                    f"{where}: says {word!r}, which a {role} cannot say (only {fitting})",
                    f"{where}：role 为 {role} 时 says 不能写 {word!r}（只能是 {fitting}）",
                ),
            )
        missing = [group for group in terms.groups if named.isdisjoint(group.split("|"))]
        if missing and trigger != "verdict":  # that one is concluded, not read
            group = missing[0].replace("|", " / ")
            raise UserError(
                Text(
                    f"{where}: says {word!r}, so its pattern needs the group {group}",
                    f"{where}：says 中有 {word!r}，因此 pattern 需要命名分组 {group}",
                ),
            )
    return cast("tuple[Says, ...]", tuple(given))
