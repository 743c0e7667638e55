"""Facts of peers: what was said arrives, and of what a stranger says only what has a shape."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdtriage.record.peer_facts import (
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_RANKS,
    PeerEvent,
    PeerExit,
    PeerRank,
    decode_facts,
    encode_facts,
)
from pdtriage.record.schema import PeerFacts

EVENT = PeerEvent(
    *("workerlog.1", "data.errno5", 18, 900, 15, 19, 30, 3, 1, True, 5.5, 77, "OSError: 中文"),
    fields={"errno": "5"},
    frame=("train.py", 3, "read"),
    ends_at=960,
)
RANK = PeerRank(
    *("worker", 3, 1, "10.0.0.2", "gpu:1", 20, (77, 78), PeerExit(0, 1, None, 6.5, True), 5.5),
    steps=((1, 0, 5, None), (2, 30, 6, 1)),
    events=(EVENT,),
)


@pytest.mark.parametrize(
    "facts",
    [
        PeerFacts(),
        PeerFacts("stopped"),
        PeerFacts("failed", interrupted=15),
        PeerFacts("failed", "worker", 3, 1, None, ranks=(RANK, PeerRank("server", 0))),
    ],
)
def test_what_one_node_says_is_what_the_other_reads(facts: PeerFacts) -> None:
    assert decode_facts(json.loads(json.dumps(encode_facts(facts)))) == facts


def test_the_keys_are_those_of_every_version() -> None:
    facts = encode_facts(PeerFacts("failed", "worker", 3, 1, None, ranks=(RANK,)))
    assert facts["failed"] is True
    assert sorted(facts) == ["code", "failed", "rank", "ranks", "role", "signal", "state"]
    (rank,) = json.loads(json.dumps(facts))["ranks"]
    assert rank["exit"] == {"order": 0, "code": 1, "signal": None, "time": 6.5, "stopped": True}
    assert rank["steps"] == [[1, 0, 5, None], [2, 30, 6, 1]]
    assert (rank["events"][0]["count"], rank["events"][0]["frame"]) == (3, ["train.py", 3, "read"])


def test_a_failure_without_a_state_is_one() -> None:
    assert decode_facts({"failed": True}).failed
    assert not decode_facts({"failed": 1}).failed


def test_text_is_cut_and_breaks_do_not_travel() -> None:
    event = {"line": 1, "text": "a\nLAUNCH ERROR all is lost " + "x" * 9_999, "file": "f" * 999}
    (rank,) = decode_facts({"ranks": [{"role": "worker", "events": [event]}]}).ranks
    (taken,) = rank.events
    assert taken.text.startswith("a LAUNCH")
    assert (len(taken.text), len(taken.file)) == (LONGEST_TEXT, LONGEST_NAME)


def test_what_is_huge_or_of_the_wrong_type_is_not_there() -> None:
    facts = decode_facts(
        {"rank": 10**30, "code": 256, "signal": True, "state": 5, "ranks": [{}] * 9_999}
    )
    assert facts[:6] == PeerFacts()[:6]
    assert len(facts.ranks) == MOST_RANKS
    for odd in (7, "x", {}, [7], [[]], None):
        assert decode_facts({"ranks": odd}).ranks == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from(PeerRank._fields), JSON),
    st.dictionaries(st.sampled_from(PeerEvent._fields), JSON),
    st.dictionaries(st.sampled_from(PeerFacts._fields), JSON),
)
@settings(max_examples=150, deadline=None)
def test_nonsense_never_raises_and_is_sound_afterwards(
    rank: dict[str, object], event: dict[str, object], facts: dict[str, object]
) -> None:
    told = {"ranks": [{"events": [{"line": 1} | event]} | rank]} | facts
    sound = decode_facts(told)
    assert decode_facts(json.loads(json.dumps(encode_facts(sound)))) == sound
