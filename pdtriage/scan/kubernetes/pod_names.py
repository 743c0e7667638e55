"""Names that operators give to pods: `<job>-worker-0`, `<job>-ps-1`, `<job>-heter-0`."""

from __future__ import annotations

from pdtriage.model import Role
from pdtriage.support.lazy_regex import late

ROLES: dict[str, Role] = {
    "worker": "worker",
    "trainer": "worker",
    "ps": "server",
    "pserver": "server",
    "server": "server",
    "master": "server",  # of the training operator: it holds the servers
    "heter": "heter",
}
_NAME = late(rf"(?P<job>.+?)-(?P<role>{'|'.join(ROLES)})-(?P<index>\d{{1,6}})")


def named_like_a_pod(name: str) -> tuple[str, Role, int] | None:
    """Job, role and index of `train-worker-0`."""
    found = _NAME.fullmatch(name)
    return (found["job"], ROLES[found["role"]], int(found["index"])) if found else None
