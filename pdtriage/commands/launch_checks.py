"""The checks that every launch makes: the doctor's, imported when the trainers run already."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.support.language import Text


def launch_checks(
    flags: LaunchFlags,
    environ: Mapping[str, str],
    processes: int,
    *,
    cards: Sequence[str],
    besides: Collection[int] = (),
    peers: Sequence[str] = (),
) -> list[Text]:
    """What the doctor sees at a glance."""
    from pdtriage.doctor import cheap_findings

    found = cheap_findings(flags, environ, processes, cards=cards, besides=besides, peers=peers)
    return [finding.line() for finding in found]
