"""Nodes that never came together: launchers that were told different things, or wait in vain."""

from __future__ import annotations

from pdtriage.model import Event, Rank, Text
from pdtriage.support.lazy_regex import lazy_compile
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.rules.rule import Rule, console, no_success
from pdtriage.verdict.suspects import Suspect, launcher_suspect

PEERS_MISSING = "verdict.peers-missing"
_HOSTS = lazy_compile(r"[\w.:-]+")


def hosts_in_different_order(evidence: RunEvidence) -> list[Suspect]:
    """Two command lines of one job that list the same hosts in different order."""
    lists: dict[tuple[str, ...], Observation] = {}
    for found in evidence.launcher:
        if found.says("lists-hosts"):
            hosts = _HOSTS.findall(found.event.fields.get("endpoint", ""))
            lists.setdefault(tuple(hosts), found)
    for first, one in lists.items():
        for second, other in lists.items():
            if first < second and sorted(first) == sorted(second) and len(first) > 1:
                why = wording.ips_differ(",".join(first), ",".join(second))
                return [launcher_suspect("verdict.ips-order", "config.rank", [one, other], why)]
    return []


def never_met(evidence: RunEvidence) -> list[Suspect]:
    """Launchers that wait for different numbers of nodes or in vain, or that number two alike."""
    return _nodes_differ(evidence) or _peers_missing(evidence) or _same_rank_twice(evidence)


def _nodes_differ(evidence: RunEvidence) -> list[Suspect]:
    """Launchers of one job that wait for different numbers of nodes."""
    jobs: dict[str, Observation] = {}
    for found in evidence.launcher:
        if found.says("describes-job") and found.event.fields["status"] == "False":
            jobs[found.file] = found
    names = {found.event.fields["job_id"] for found in jobs.values()}
    sizes: dict[str, Observation] = {}
    for found in jobs.values():
        sizes.setdefault(found.event.fields["replicas"], found)
    if len(names) != 1 or len(sizes) < 2:
        return []
    why = wording.nodes_differ([*sizes])
    return [launcher_suspect("verdict.nodes-differ", "config.launch", sizes.values(), why)]


def _peers_missing(evidence: RunEvidence) -> list[Suspect]:
    """The launcher waited for other nodes and never started anything."""
    ranks = [reading.rank for reading in evidence.readings]
    if any(rank.lines and rank.local_rank is not None and not rank.mixed for rank in ranks):
        return []  # all nodes have met when the first process starts
    waiting = [f for f in evidence.launcher if f.says("waiting-for-peers")]
    if not waiting or any(f.says("started") for f in evidence.launcher):
        return []
    trouble = [f for f in evidence.launcher if f.event.role == "symptom"]
    support, why = [*trouble[:2], waiting[0]], wording.NOTHING_STARTED
    return [launcher_suspect(PEERS_MISSING, "comm.init", support, why)]


def _same_rank_twice(evidence: RunEvidence) -> list[Suspect]:
    """Two processes of one run that both say they are rank N."""
    if evidence.facts.run.attempt:
        return []
    return _same_rank_by_endpoint(evidence) or _same_rank_by_their_word(evidence)


def _same_rank_by_endpoint(evidence: RunEvidence) -> list[Suspect]:
    seen: dict[tuple[str, int], RankReading] = {}
    for reading in evidence.readings:
        rank = reading.rank
        if rank.rank is None or not rank.endpoint or not rank.files:
            continue
        other = seen.setdefault((rank.role, rank.rank), reading)
        if other.rank.endpoint != rank.endpoint:
            why = wording.same_rank(rank.rank, other.rank.endpoint or "", rank.endpoint)
            return [_clash(why, [r.stopped for r in (other, reading) if r.stopped])]
    return []


def _same_rank_by_their_word(evidence: RunEvidence) -> list[Suspect]:
    """Logs of two nodes whose processes give themselves one rank, and none made a step."""
    if any(r.rank.progress or r.ended for r in evidence.readings):
        return []
    seen: dict[str, RankReading] = {}
    for reading in evidence.readings:
        numbers = [e.fields["self_rank"] for _, e in reading.rank.events if _tells_rank(e)]
        if not numbers or not reading.rank.files:
            continue
        other = seen.setdefault(numbers[0], reading)
        mine, theirs = reading.rank.files[0], other.rank.files[0]
        if other is not reading and mine.rpartition("/")[0] != theirs.rpartition("/")[0]:
            why = wording.same_rank(int(numbers[0]), theirs, mine)
            return [_clash(why, [], last_words=(other.rank, reading.rank))]
    return []


def _tells_rank(event: Event) -> bool:
    return "own-rank" in event.says and event.fields.get("self_rank", "").isdecimal()


def _clash(why: Text, support: list[Observation], last_words: tuple[Rank, ...] = ()) -> Suspect:
    signature, category = "verdict.rank-clash", "config.launch"
    return launcher_suspect(signature, category, support, why, last_words=last_words)


RULES = (
    Rule(
        "hosts-order",
        Text(
            "two command lines list the same hosts in different order",
            "两条命令行以不同的顺序列出相同的主机",
        ),
        console,
        hosts_in_different_order,
    ),
    Rule(
        "never-met",
        Text("the nodes never came together", "各节点始终没有会合"),
        no_success,
        never_met,
        {
            "outsider": Text(
                "who worked until a stranger stopped it had met the others",
                "一直工作到被外人停止的进程，已经与其他进程会合过",
            )
        },
    ),
)
