"""When a new generation is formed and when one is ended: a pure function of what etcd shows.

Every node asks it after every look at etcd. The answer is a generation to be written by
compare-and-swap, and only the node whose turn it is gets one; should two think so, one write wins
and the other node reads the result.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from pdtriage.launch.elastic.generation import (
    Announcement,
    ElasticMember,
    EtcdView,
    Generation,
    GenerationState,
    Keys,
    address_of,
)
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.rendezvous.announcements import address_number, rank_peers
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple


class ElasticTerms(NamedTuple):
    """What the flags ask for, and how long to wait for what (seconds)."""

    least: int
    most: int
    first: float = 30.0
    """For more nodes at the first start, as `--elastic_timeout` says."""
    again: float = 2.0
    """For more nodes at a later start: whoever comes afterwards joins then."""
    join: float = 1.0
    """For further newcomers, while training still goes on."""
    lost: float = 1.5
    """Until a node is missed: one that only lost its lease is back at once."""
    late: float = 15.0
    """For a node that takes no part in a generation it belongs to."""
    pending: float = 120.0
    """For a node that does not get to the end of a generation that is being stopped."""
    paddle: float = 11.0
    """For nodes under Paddle's launcher to register again; their leases last 10 s."""
    ends_on_change: bool = False
    """`--elastic_level -1`: nodes that come or go end the job."""
    sort_ip: bool = False


class Steady:
    """Since when something has been as it is."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[Hashable, float]] = {}

    def seconds(self, name: str, value: Hashable, now: float) -> float:
        held = self._held.get(name)
        if held is None or held[0] != value:
            self._held[name] = held = (value, now)
        return now - held[1]


def next_generation(
    view: EtcdView, pod: str, terms: ElasticTerms, steady: Steady, now: float
) -> Generation | None:
    """What this node has to write now; None mostly."""
    generation = view.generation
    if generation is not None and is_running(view):
        return _changed(view, generation, pod, terms, steady, now)
    if view.foreign or _awaits_paddle(view, steady, terms, now):
        return None  # Paddle's protocol decides: see `mixed_generation`.
    chosen = who_forms(view, pod, terms, steady, now)
    if len(chosen) < terms.least or not _is_time(view, chosen, terms, steady, now):
        return None
    ordered = _in_rank_order(chosen, generation, terms.sort_ip)
    pods = tuple(member.pod for member in ordered)
    return generation_after(view, pods, tuple(member.speech for member in ordered), ())


def mixed_generation(
    view: EtcdView,
    chosen: Sequence[ElasticMember],
    terms: ElasticTerms,
    keys: Keys,
    flags: LaunchFlags,
) -> Generation | None:
    """The world our nodes and those under Paddle's launcher agree on; None while they do not.

    The latter count heartbeats, each for itself, until the number is the largest allowed or has
    not changed for the timeout; then each announces itself under the job's `info` prefix and waits
    until as many have. So a world is complete when exactly those who have a heartbeat are there.
    """
    announced = {key.removeprefix(keys.peers).partition("/")[0]: key for key in view.peers}
    expected = {member.pod for member in chosen} | view.foreign
    if announced.keys() != expected or not terms.least <= len(expected) <= terms.most:
        return None
    before = view.generation.modified if view.generation is not None else 0
    if any(view.peers[announced[pod]].modified <= before for pod in view.foreign):
        return None  # It was there for an earlier world.
    found = {key: view.peers[key].value for key in announced.values()}
    first = found[announced[chosen[0].pod]]
    try:
        peers, _ = rank_peers(found, first, flags, len(expected))
    except UserError:
        return None  # A stranger wrote nonsense; it may correct itself.
    pods = tuple(str(peer["name"]) for peer in peers)
    if set(pods) != expected:
        return None
    return generation_after(view, pods, tuple(peers), tuple(sorted(view.foreign)))


def is_running(view: EtcdView) -> bool:
    """Whether there is a generation, and somebody of ours is left of it."""
    generation = view.generation
    return (
        generation is not None
        and generation.state == "running"
        and any(pod in view.members for pod in generation.own)
    )


def generation_after(
    view: EtcdView,
    pods: tuple[str, ...],
    speeches: tuple[Announcement, ...],
    foreign: tuple[str, ...],
) -> Generation:
    """The world that comes after the one in `view`."""
    before = view.generation
    number = before.number if before is not None else 0
    if before is None or not set(before.pods) & set(pods):
        # Nobody is left of whatever used this name before: another job.
        return Generation(number + 1, 0, 0, "running", pods, speeches, foreign)
    attempt, failures = before.attempt + 1, before.failures
    return Generation(number + 1, attempt, failures, "running", pods, speeches, foreign)


def who_forms(
    view: EtcdView, pod: str, terms: ElasticTerms, steady: Steady, now: float
) -> list[ElasticMember]:
    """Our members of the next generation, if it is this node's turn to form it; else none."""
    generation = view.generation
    pending = frozenset(_pending(view))
    if steady.seconds("pending", pending, now) < terms.pending and pending:
        return []
    ready = waiting(view)
    if not ready or ready[0].pod != pod:
        return []
    without = generation.without if generation is not None else ()
    fitting = [m for m in ready if m.processes == ready[0].processes and m.pod not in without]
    return fitting[: max(0, terms.most - len(view.foreign))]


def waiting(view: EtcdView) -> list[ElasticMember]:
    """Members that are ready, those of the last generation first, then in order of arrival."""
    before = view.generation.pods if view.generation is not None else ()
    places = {pod: place for place, pod in enumerate(before)}
    ready = [member for member in view.members.values() if member.state == "ready"]
    return sorted(ready, key=lambda m: (places.get(m.pod, len(places)), m.joined, m.pod))


def is_counted(view: EtcdView, pod: str, most: int) -> bool:
    """Whether nodes under Paddle's launcher shall count this node: a spare must not be."""
    generation = view.generation
    if generation is not None and is_running(view):
        if pod in generation.pods:
            return True
        room = most - len(generation.pods)
        places = [m.pod for m in waiting(view) if m.pod not in generation.pods]
    else:
        room = most - len(view.foreign)
        places = [m.pod for m in waiting(view)]
    return pod in places[: max(0, room)] or (
        pod in view.members and view.members[pod].state not in ("ready", "leaving")
    )


def _changed(
    view: EtcdView,
    generation: Generation,
    pod: str,
    terms: ElasticTerms,
    steady: Steady,
    now: float,
) -> Generation | None:
    """A running generation that has to end, seen by the first of its nodes that is alive.

    A node that leaves or has finished says so itself: it may be gone before anybody looks.
    """
    alive = [view.members[name] for name in generation.own if name in view.members]
    states = {m.pod: m.state for m in alive if m.number == generation.number}
    if states.get(pod) == "over" and pod not in generation.finished:
        return generation._replace(finished=(*generation.finished, pod))
    leaves = pod in generation.pods and pod in view.members and _state(view, pod) == "leaving"
    if alive[0].pod != pod and not leaves:
        return None
    if generation.finished:
        # As under Paddle's launcher: once a node has finished, nobody's coming or going counts.
        done = all(m.pod in generation.finished or m.state == "leaving" for m in alive)
        return generation._replace(state="ended", why="completed") if done else None
    if {"failed", "stopped"} & set(states.values()) or view.completed:
        return None  # How that goes on is decided when all nodes have ended.
    why, who = _change(view, generation, terms, steady, now)
    if not why:
        return None
    state: GenerationState = "ended" if terms.ends_on_change else "stopping"
    return generation._replace(state=state, why=why, who=tuple(who))


def _change(
    view: EtcdView, generation: Generation, terms: ElasticTerms, steady: Steady, now: float
) -> tuple[str, Sequence[str]]:
    addresses = dict(zip(generation.pods, map(address_of, generation.speeches), strict=True))
    leaving = [p for p in generation.own if p in view.members and _state(view, p) == "leaving"]
    if leaving:
        return "left", [addresses[pod] for pod in leaving]
    missing = tuple(pod for pod in generation.own if pod not in view.members)
    if steady.seconds("missing", missing, now) >= terms.lost and missing:
        return "lost", [addresses[pod] for pod in missing]
    late = tuple(p for p in generation.own if p in view.members and _state(view, p) == "ready")
    if steady.seconds("late", (generation.number, late), now) >= terms.late and late:
        return "late", [addresses[pod] for pod in late]
    if generation.foreign:
        beaten = [view.heartbeats.get(pod, generation.modified + 1) for pod in generation.own]
        if max(beaten) > generation.modified:
            return "foreign", ()
        gone = set(generation.foreign) - view.foreign
        if gone:
            return "lost", [addresses[pod] for pod in sorted(gone)]
    if len(generation.pods) >= terms.most:
        return "", ()
    processes = generation.speeches[0].get("replicas")
    newcomers = tuple(
        m for m in waiting(view) if m.pod not in generation.pods and m.processes == processes
    )
    foreign = tuple(sorted(view.foreign - set(generation.foreign)))
    arrived = (*(m.pod for m in newcomers), *foreign)
    if steady.seconds("newcomers", arrived, now) >= terms.join and arrived:
        return "joined", [*(address_of(m.speech) for m in newcomers), *foreign]
    return "", ()


def _pending(view: EtcdView) -> list[str]:
    """Members that are on their way out of a generation, and will be ready."""
    generation = view.generation
    if generation is None:
        # Etcd lost it; whoever is in it will write it again.
        return [member.pod for member in view.members.values() if member.state == "busy"]
    if generation.state == "ended":
        return []
    staying = [pod for pod in generation.own if pod not in generation.without]
    present = [view.members[pod] for pod in staying if pod in view.members]
    return [member.pod for member in present if member.state not in ("ready", "leaving")]


def _is_time(
    view: EtcdView, chosen: Sequence[ElasticMember], terms: ElasticTerms, steady: Steady, now: float
) -> bool:
    pods = frozenset(member.pod for member in chosen)
    settled = steady.seconds("chosen", pods, now)
    before = frozenset(view.generation.pods) if view.generation is not None else frozenset()
    if len(pods) >= terms.most or pods == before:
        return True
    return settled >= (terms.again if pods & before else terms.first)


def _awaits_paddle(view: EtcdView, steady: Steady, terms: ElasticTerms, now: float) -> bool:
    """Nodes under Paddle's launcher took part and will register again, unless they are lost."""
    generation = view.generation
    if generation is None or not generation.foreign or generation.why == "lost":
        return False
    if not any(pod in view.members for pod in generation.pods):
        return False
    return steady.seconds("ended", generation.number, now) < terms.paddle


def _in_rank_order(
    chosen: Sequence[ElasticMember], before: Generation | None, sort_ip: bool
) -> list[ElasticMember]:
    if sort_ip:
        return sorted(chosen, key=lambda m: (address_number(dict(m.speech)), m.joined))
    ranks = [m.speech.get("rank") for m in chosen]
    if all(isinstance(rank, int) and rank >= 0 for rank in ranks):
        return sorted(chosen, key=lambda m: (int(str(m.speech["rank"])), m.joined))
    places = {pod: place for place, pod in enumerate(before.pods if before else ())}
    return sorted(chosen, key=lambda m: (places.get(m.pod, len(places)), m.joined, m.pod))


def _state(view: EtcdView, pod: str) -> str:
    return view.members[pod].state
