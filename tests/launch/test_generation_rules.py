"""When a world is formed and when it ends, without any etcd: what is seen decides alone."""

from __future__ import annotations

import json

import pytest

from pdtriage.launch.elastic.etcd import Entry
from pdtriage.launch.elastic.generation import (
    Announcement,
    ElasticMember,
    EtcdView,
    Generation,
    Keys,
    MemberState,
)
from pdtriage.launch.elastic.generation_rules import (
    ElasticTerms,
    Steady,
    is_counted,
    mixed_generation,
    next_generation,
    waiting,
)
from pdtriage.launch.options.elastic import as_elastic
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.options.parse import parse_flags

KEYS = Keys("j")
TERMS = ElasticTerms(2, 3, first=30, again=2, join=1, lost=1.5, late=15)


def speech(pod: str, replicas: int = 1, rank: int = -1) -> Announcement:
    ends = {"candidate": f"10.0.0.{ord(pod[0])}:1", "endpoints": f"10.0.0.{ord(pod[0])}:2"}
    return {"name": pod, "rank": rank, "replicas": replicas, "dtype": "cpu", **ends}


def member(
    pod: str, state: MemberState = "ready", number: int = 0, replicas: int = 1
) -> ElasticMember:
    return ElasticMember(pod, state, number, speech(pod, replicas), joined=ord(pod[0]), modified=1)


def world(*pods: str, number: int = 4, foreign: tuple[str, ...] = ()) -> Generation:
    said = tuple(speech(pod) for pod in pods)
    return Generation(number, 2, 0, "running", pods, said, foreign, modified=100)


def view(
    *members: ElasticMember,
    generation: Generation | None = None,
    beats: dict[str, int] | None = None,
    peers: dict[str, Entry] | None = None,
) -> EtcdView:
    revision = generation.modified if generation is not None else 0
    by_pod = {m.pod: m for m in members}
    own = dict.fromkeys(by_pod, 50)
    return EtcdView(200, by_pod, generation, revision, {**own, **(beats or {})}, peers or {})


def after(
    seconds: float, seen: EtcdView, pod: str, terms: ElasticTerms = TERMS
) -> Generation | None:
    """What `pod` writes when nothing has changed for so long."""
    steady, now = Steady(), 1000.0
    while now < 1000.0 + seconds:
        if early := next_generation(seen, pod, terms, steady, now):
            return early
        now += 0.5
    return next_generation(seen, pod, terms, steady, now)


def test_the_first_world_waits_for_more_nodes_a_later_one_hardly() -> None:
    fresh = view(member("a"), member("b"))
    assert after(29, fresh, "a") is None
    formed = after(30, fresh, "a")
    assert formed is not None
    assert (formed.number, formed.attempt, formed.pods) == (1, 0, ("a", "b"))
    again = view(member("a"), member("b"), generation=world("c", "b")._replace(state="stopping"))
    formed = after(2, again, "b")
    assert formed is not None
    assert (formed.number, formed.attempt, formed.pods) == (5, 3, ("b", "a"))


def test_only_the_first_node_forms_a_world() -> None:
    full = view(member("a"), member("b"), member("c"))
    assert after(99, full, "b") is None
    assert after(0, full, "a") is not None


def test_nodes_that_still_stop_are_waited_for() -> None:
    stopping = world("a", "b", "c")._replace(state="stopping")
    seen = view(member("a"), member("b"), member("c", "busy", 4), generation=stopping)
    assert after(60, seen, "a") is None
    assert after(125, seen, "a") is not None, "but not for ever"


def test_a_node_that_never_starts_does_not_hold_up_the_others() -> None:
    seen = view(member("a", "busy", 4), member("b"), generation=world("a", "b"))
    assert after(14, seen, "a") is None
    stopped = after(15, seen, "a")
    assert stopped is not None
    assert (stopped.state, stopped.why) == ("stopping", "late")


@pytest.mark.parametrize(("change", "state"), [(False, "stopping"), (True, "ended")])
def test_a_newcomer_restarts_or_ends_the_job(change: bool, state: str) -> None:
    members = (member("a", "busy", 4), member("b", "busy", 4), member("c"))
    seen = view(*members, generation=world("a", "b"))
    told = after(1, seen, "a", TERMS._replace(ends_on_change=change))
    assert told is not None
    assert (told.number, told.state, told.why) == (4, state, "joined")
    assert after(1, seen, "b") is None


def test_a_spare_and_a_node_of_another_size_disturb_nobody() -> None:
    busy = [member(pod, "busy", 4) for pod in "abc"]
    assert after(9, view(*busy, member("d"), generation=world("a", "b", "c")), "a") is None
    wide = view(*busy[:2], member("d", replicas=8), generation=world("a", "b"))
    assert after(9, wide, "a") is None


def test_after_a_failure_coming_and_going_waits_for_the_decision() -> None:
    seen = view(member("a", "busy", 4), member("b", "failed", 4), generation=world("a", "b", "c"))
    assert after(60, seen, "a") is None


def test_a_node_left_out_is_not_taken_again() -> None:
    restart = world("a", "b")._replace(state="restart", without=("b",))
    formed = after(2, view(member("a"), member("b"), generation=restart), "a", ElasticTerms(1, 3))
    assert formed is not None
    assert formed.pods == ("a",)


def test_who_is_counted_by_paddles_nodes() -> None:
    ready = view(*(member(pod) for pod in "abcd"))
    assert [is_counted(ready, pod, 3) for pod in "abcd"] == [True, True, True, False]
    running = view(member("a", "busy", 4), member("d"), generation=world("a", "b", "c"))
    assert (is_counted(running, "a", 3), is_counted(running, "d", 3)) == (True, False)
    assert [m.pod for m in waiting(running)] == ["d"]


def peer(pod: str, modified: int) -> tuple[str, Entry]:
    return f"/j/info/{pod}/-1", Entry(json.dumps(speech(pod)), 1, modified, 0)


def test_a_world_with_paddles_nodes_is_complete_when_all_with_a_heartbeat_have_spoken() -> None:
    ours = [member("m"), member("n")]
    stopping = world("m", "n")._replace(state="stopping")
    beats = {"a": 60}

    def formed(*peers: tuple[str, Entry]) -> Generation | None:
        seen = view(*ours, generation=stopping, beats=beats, peers=dict(peers))
        assert next_generation(seen, "m", TERMS, Steady(), 0.0) is None
        return mixed_generation(seen, ours, TERMS, KEYS, LaunchFlags())

    assert formed(peer("m", 110), peer("n", 110)) is None, "theirs has not spoken"
    assert formed(peer("m", 110), peer("n", 110), peer("a", 90)) is None, "that was for before"
    assert formed(peer("m", 110), peer("a", 110)) is None, "one of ours has not spoken"
    complete = formed(peer("m", 110), peer("n", 110), peer("a", 110))
    assert complete is not None
    assert (complete.pods, complete.foreign) == (("a", "m", "n"), ("a",)), "ordered as Paddle does"


def test_a_world_with_paddles_nodes_ends_when_heartbeats_change() -> None:
    busy = [member(pod, "busy", 4) for pod in "mn"]
    mixed = world("a", "m", "n", foreign=("a",))
    assert after(0, view(*busy, generation=mixed, beats={"a": 60}), "m") is None
    restarted = after(0, view(*busy, generation=mixed, beats={"a": 60, "n": 130}), "m")
    assert restarted is not None
    assert restarted.why == "foreign"
    lost = after(0, view(*busy, generation=mixed), "m")
    assert lost is not None
    assert (lost.why, lost.who) == ("lost", ("10.0.0.97",))


def test_paddles_nodes_are_given_time_to_register_again() -> None:
    failed = world("a", "m", "n", foreign=("a",))._replace(state="restart", why="failed")
    seen = view(member("m"), member("n"), generation=failed)
    assert after(10, seen, "m") is None
    formed = after(14, seen, "m")
    assert formed is not None
    assert formed.pods == ("m", "n")


def test_an_elastic_job_without_an_id_is_warned_of() -> None:
    words = ["--master=etcd://h:2379", "--nnodes=1:2"]
    (note,) = as_elastic(parse_flags([*words, "t.py"], {})).notes
    assert "--job_id" in note.en
    assert "--job_id" in note.zh
    assert not as_elastic(parse_flags([*words, "--job_id=mine", "t.py"], {})).notes
