"""A launcher that was gone before it had ended its run: killed from outside, or its host lost."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.model import RunFacts, Text, Vanished
from pdtriage.verdict.rank_reading import RankReading
from pdtriage.verdict.suspects import Suspect, suspect_of

LAUNCHER_GONE = "verdict.launcher-gone"
MOST_NAMED = 4


def launcher_gone(facts: RunFacts, readings: Sequence[RankReading]) -> list[Suspect]:
    """The launchers that vanished as one suspect; the furthest log shows where the job was."""
    nodes = {gone.node for gone in facts.vanished}
    here = [r for r in readings if r.rank.lines and (None in nodes or r.rank.node in nodes)]
    suspect = suspect_of(LAUNCHER_GONE, "external.kill", None, [])
    suspect.role, suspect.host = "launcher", facts.vanished[0].host
    suspect.why.extend(_said(gone) for gone in facts.vanished[:MOST_NAMED])
    suspect.last_words = tuple(r.rank for r in sorted(here, key=lambda r: r.position)[-1:])
    suspect.first_to_fail = True
    return [suspect]


def is_whole_job(facts: RunFacts) -> bool:
    """No launcher was left that could have told of the others."""
    return len(facts.vanished) == len(facts.nodes)


def _said(gone: Vanished) -> Text:
    where = "" if gone.node is None else f" of node {gone.node}"
    zh = "" if gone.node is None else f"节点 {gone.node} 的"
    return Text(
        f"the launcher{where} (pid {gone.pid}) vanished without ending the run",
        f"{zh}启动器（pid {gone.pid}）未结束运行就消失了",
    )
