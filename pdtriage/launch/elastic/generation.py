"""The nouns of an elastic job as they stand in etcd: members, and generations of them.

A generation is one agreed world: which nodes, in which order, with which endpoints. It lies under
one key that changes only by compare-and-swap, so all nodes of ours read the same world or none.
Whatever is read here was written by strangers: what has the wrong shape is not there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal, cast, get_args

from pdtriage.launch.elastic.etcd import Entry, Snapshot
from pdtriage.support.fast_namedtuple import NamedTuple

MemberState = Literal["ready", "busy", "failed", "stopped", "over", "leaving"]
"""`ready` for the next generation; `busy` in one; then how that one ended on this node: `failed`
by itself, `stopped` because of others, `over` when all is done; `leaving` the job."""
GenerationState = Literal["running", "stopping", "restart", "ended"]
Announcement = Mapping[str, object]
"""What a node says of itself: name, rank, number of processes, endpoints."""


class Keys(NamedTuple):
    """The keys of one elastic job in etcd."""

    job: str

    @property
    def members(self) -> str:
        return f"/pdtriage/{self.job}/members/"

    @property
    def generation(self) -> str:
        return f"/pdtriage/{self.job}/generation"

    @property
    def facts(self) -> str:
        """What the nodes tell each other, generation by generation."""
        return f"/pdtriage/{self.job}/facts/"

    @property
    def heartbeats(self) -> str:
        """Paddle's: a key for every pod that is to be counted."""
        return f"/paddle/{self.job}/heartbeat/"

    @property
    def status(self) -> str:
        """Paddle's: `completed` tells that nodes may go without a restart."""
        return f"/paddle/{self.job}"

    @property
    def peers(self) -> str:
        """Paddle's: what every node says of itself, counted by all."""
        return f"/{self.job}/info/"

    def peer(self, announcement: Announcement) -> str:
        return f"{self.peers}{announcement.get('name')}/{announcement.get('rank')}"

    def of_the_world(self) -> tuple[str, str]:
        """First and last of the keys whose change concerns every node of ours: not the facts."""
        return self.generation, self.members[:-1] + "0"

    def all(self) -> tuple[str, ...]:
        return (self.members, self.generation, self.heartbeats, self.status, self.peers)


class ElasticMember(NamedTuple):
    """A node of ours that is alive."""

    pod: str
    state: MemberState
    number: int
    """The generation its state is about."""
    speech: Announcement
    joined: int = 0
    modified: int = 0

    @property
    def processes(self) -> object:
        return self.speech.get("replicas")

    def text(self) -> str:
        fields = {"state": self.state, "number": self.number, "speech": self.speech}
        return json.dumps(fields, ensure_ascii=False)


class Generation(NamedTuple):
    """One world, and what became of it."""

    number: int
    attempt: int
    """Counted from the first start of the job on."""
    failures: int
    """Failed attempts so far; changes of membership are none."""
    state: GenerationState
    pods: tuple[str, ...]
    """All nodes in rank order."""
    speeches: tuple[Announcement, ...]
    """What they said of themselves, in the same order."""
    foreign: tuple[str, ...] = ()
    """Pods under Paddle's own launcher."""
    why: str = ""
    """`joined`, `left`, `lost`, `foreign`, `late`, `failed`, `completed`."""
    who: tuple[str, ...] = ()
    """Addresses that `why` is about."""
    without: tuple[str, ...] = ()
    """Pods that do not take part in the restart."""
    finished: tuple[str, ...] = ()
    """Pods whose processes have all ended well; they may be gone."""
    said: tuple[str, ...] = ()
    """Why it is, or is not, tried again: in English, in Chinese."""
    modified: int = 0

    @property
    def own(self) -> tuple[str, ...]:
        return tuple(pod for pod in self.pods if pod not in self.foreign)

    def text(self) -> str:
        fields = self._asdict()
        del fields["modified"]
        return json.dumps(fields, ensure_ascii=False)


class EtcdView(NamedTuple):
    """What etcd shows of an elastic job at one moment."""

    revision: int = 0
    members: Mapping[str, ElasticMember] = {}
    generation: Generation | None = None
    generation_revision: int = 0
    """For the next compare-and-swap; 0 where nothing was ever written."""
    heartbeats: Mapping[str, int] = {}
    """Pod and revision, of whatever launcher."""
    peers: Mapping[str, Entry] = {}
    completed: bool = False

    @property
    def foreign(self) -> frozenset[str]:
        """Pods that are alive and none of ours."""
        return frozenset(self.heartbeats) - frozenset(self.members)


def view_of(snapshot: Snapshot, keys: Keys) -> EtcdView:
    members: dict[str, ElasticMember] = {}
    heartbeats: dict[str, int] = {}
    peers: dict[str, Entry] = {}
    for key, entry in snapshot.entries.items():
        if key.startswith(keys.members):
            member = _member(key.removeprefix(keys.members), entry)
            if member is not None:
                members[member.pod] = member
        elif key.startswith(keys.heartbeats):
            heartbeats[key.removeprefix(keys.heartbeats)] = entry.modified
        elif key.startswith(keys.peers):
            peers[key] = entry
    written = snapshot.entries.get(keys.generation)
    status = snapshot.entries.get(keys.status)
    return EtcdView(
        snapshot.revision,
        members,
        _generation(written) if written else None,
        written.modified if written else 0,
        heartbeats,
        peers,
        status is not None and status.value == "completed",
    )


def address_of(announcement: Announcement) -> str:
    return str(announcement.get("candidate", "?")).rpartition(":")[0]


def _member(pod: str, entry: Entry) -> ElasticMember | None:
    fields = _object(entry.value)
    state, number, speech = fields.get("state"), fields.get("number"), fields.get("speech")
    sound = state in get_args(MemberState) and isinstance(number, int) and isinstance(speech, dict)
    if not sound or "/" in pod:
        return None
    return ElasticMember(
        pod,
        cast(MemberState, state),
        cast(int, number),
        cast(Announcement, speech),
        entry.created,
        entry.modified,
    )


def _generation(entry: Entry) -> Generation | None:
    fields = _object(entry.value)
    number, attempt, failures = (fields.get(name) for name in ("number", "attempt", "failures"))
    state, speeches, pods = fields.get("state"), fields.get("speeches"), _texts(fields.get("pods"))
    counts = isinstance(number, int) and isinstance(attempt, int) and isinstance(failures, int)
    if not counts or state not in get_args(GenerationState) or not isinstance(speeches, list):
        return None
    if len(speeches) != len(pods) or not all(isinstance(speech, dict) for speech in speeches):
        return None
    return Generation(
        cast(int, number),
        cast(int, attempt),
        cast(int, failures),
        cast(GenerationState, state),
        pods,
        tuple(speeches),
        foreign=_texts(fields.get("foreign")),
        why=str(fields.get("why", "")),
        who=_texts(fields.get("who")),
        without=_texts(fields.get("without")),
        finished=_texts(fields.get("finished")),
        said=_texts(fields.get("said")),
        modified=entry.modified,
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _object(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
