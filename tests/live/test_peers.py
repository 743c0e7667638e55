"""What nodes tell each other: enough to agree, and nothing that could do harm."""

from __future__ import annotations

import json
from typing import cast

import pytest

from pdtriage.analysis.job import Job
from pdtriage.knowledge import Knowledge
from pdtriage.live.followed_log import LiveEngine
from pdtriage.model import Event, Exit, Progress, Rank, Run, RunFacts, Standstill
from pdtriage.model.runs import Launcher
from pdtriage.record.fields import MAX_MESSAGE
from pdtriage.record.peer_facts import decode_facts, encode_facts
from pdtriage.record.schema import DeathRecord, PeerFacts, PeerRecord, RunRecord
from pdtriage.runs.peer_ranks import facts_of, ranks_of, with_peers

CULPRIT = Event(
    signature="data.errno5",
    role="cause",
    category="data.io",
    line=18,
    offset=900,
    text="OSError: [Errno 5] Input/output error: '/data/a'",
    block=1,
)


def rank(number: int, *events: Event, node: int = 0, code: int | None = 1) -> Rank:
    return Rank(
        role="worker",
        rank=number,
        local_rank=number % 2,
        node=node,
        host=f"10.0.0.{node + 1}",
        files=(f"log/workerlog.{number % 2}",),
        events=tuple((f"log/workerlog.{number % 2}", event) for event in events),
        progress=(Progress(1, 0, 5),),
        lines=20,
        exit=Exit(order=0, code=code),
    )


def run_of(*ranks: Rank) -> RunFacts:
    seen = {r.rank for r in ranks}
    unseen = [Rank("worker", n) for n in range(4) if n not in seen]
    return RunFacts(Run(1, 1, 0), (*ranks, *unseen), world_size=4, started_by="pdtriage")


def message(run: RunFacts, knowledge: Knowledge) -> dict[str, object]:
    """The facts as they arrive on the other side."""
    facts = facts_of(run, Job([run], knowledge).report("last", "en"))
    return cast("dict[str, object]", json.loads(json.dumps(encode_facts(facts))))


def record(facts: dict[str, object]) -> RunRecord:
    peer = PeerRecord(1, "facts", 0.0, facts=decode_facts(facts))
    return RunRecord("run-0001.jsonl", 1, peers=(peer,))


def test_the_other_node_names_the_same_culprit(engine: LiveEngine) -> None:
    knowledge = engine.engine.knowledge
    there = run_of(rank(2, node=1, code=None), rank(3, CULPRIT, node=1))
    here = run_of(rank(0, code=None), rank(1, code=None))
    joint = with_peers(here, record(message(there, knowledge)), knowledge)
    cause = Job([joint], knowledge).report("last", "en").root_causes[0]
    assert (cause.category, cause.rank, cause.host) == ("data.io", 3, "10.0.0.2")
    assert cause.evidence[0].file == "10.0.0.2:workerlog.1"
    assert cause.evidence[0].line == 18


def test_an_exception_nobody_caught_is_that_on_the_other_node_too(engine: LiveEngine) -> None:
    """Whoever prints it and aborts leaves a crash below it, which says nothing."""
    knowledge = engine.engine.knowledge
    raised = Event(
        *("python.exception", "cause", "code.python", 18, 900, "ValueError: too many steps"),
        first_line=12, last_line=18, block=1, ends_at=940,
    )  # fmt: skip
    abort = Event(
        *("crash.sigabrt", "cause", "code.crash", 30, 990, "*** SIGABRT received by PID 7 ***"),
        first_line=20, last_line=30, block=2, final=True, ends_at=1030,
    )  # fmt: skip
    there = run_of(rank(2, node=1, code=None), rank(3, raised, abort, node=1))
    here = run_of(rank(0, code=None), rank(1, code=None))
    joint = with_peers(here, record(message(there, knowledge)), knowledge)
    causes = [Job([run], knowledge).report("last", "en").root_causes[0] for run in (there, joint)]
    assert [cause.signature for cause in causes] == ["python.exception"] * 2


def test_nobody_speaks_for_a_rank_whose_log_is_here(engine: LiveEngine) -> None:
    knowledge = engine.engine.knowledge
    liar = run_of(rank(0, CULPRIT, node=1), rank(1, CULPRIT, node=1))
    here = run_of(rank(0, code=0), rank(1, code=0))
    assert with_peers(here, record(message(liar, knowledge)), knowledge).ranks == here.ranks


def test_many_ranks_and_long_lines_still_fit(engine: LiveEngine) -> None:
    knowledge = engine.engine.knowledge
    long = CULPRIT._replace(text="x" * 2_000, fields={f"f{n}": "y" * 300 for n in range(12)})
    shouting = [rank(n, *[long] * 20) for n in range(64)]
    run = run_of(*shouting)._replace(world_size=64)
    assert len(json.dumps(message(run, knowledge))) < MAX_MESSAGE


def test_what_has_not_the_right_shape_is_not_believed(engine: LiveEngine) -> None:
    knowledge = engine.engine.knowledge
    good = message(run_of(rank(3, CULPRIT, node=1)), knowledge)
    (sound,) = cast(list[dict[str, object]], good["ranks"])
    event = cast(list[dict[str, object]], sound["events"])[0]
    for wrong in (
        {"role": "king"},
        {"rank": 99},
        {"rank": -1},
        {"rank": True},
        {"rank": "3"},
    ):
        assert believed([{**sound, **wrong}], knowledge) == []
    for bad in ({"signature": "no.such"}, {"line": None}, {"line": "18"}, {"line": -4}):
        (heard,) = believed([{**sound, "events": [{**event, **bad}]}], knowledge)
        assert heard.events == ()
    for odd in (None, 7, "x", [], [None], [[]], {"a": 1}, [{"events": 5, "exit": [], "steps": {}}]):
        assert believed(odd, knowledge) == []


def test_titles_come_from_here_and_breaks_do_not_travel(engine: LiveEngine) -> None:
    knowledge = engine.engine.knowledge
    good = message(run_of(rank(3, CULPRIT, node=1)), knowledge)
    (sound,) = cast(list[dict[str, object]], good["ranks"])
    event = cast(list[dict[str, object]], sound["events"])[0]
    forged = {**event, "category": "memory.gpu", "text": "a\nLAUNCH ERROR all is lost"}
    (heard,) = believed([{**sound, "events": [forged]}], knowledge)
    assert heard.events[0][1].category == "data.io"
    assert "\n" not in heard.events[0][1].text


def test_a_silent_node_is_told_by_when_it_fell_silent(engine: LiveEngine) -> None:
    death = DeathRecord(0, "worker", 0, 0, 1, 100.0, 0.0, 1, None, False, False)
    silent = PeerRecord(1, "silent", 101.0, silent_seconds=4.1)
    told_of = RunRecord("run-0001.jsonl", 1, deaths=(death,), peers=(silent,))
    notes = with_peers(run_of(rank(0), rank(1)), told_of, engine.engine.knowledge).notes
    assert [note.en for note in notes] == [
        "node 1 stopped answering 3.1 s before the first failure on this node"
    ]


@pytest.mark.parametrize(("silent", "unanswered"), [(32.0, (1,)), (4.0, ())])
def test_a_node_heard_of_while_the_job_stood_still_is_not_why_it_did(
    silent: float, unanswered: tuple[int, ...], engine: LiveEngine
) -> None:
    """Its beats came late on a busy machine, or it was the first to be stopped."""
    still = Standstill(1000.0, "hang", still=30.0, limit=15.0)
    told_of = RunRecord(
        "run-0001.jsonl",
        1,
        peers=(PeerRecord(1, "silent", 1001.0, silent_seconds=silent, host="10.0.0.2"),),
    )
    run = run_of(rank(0), rank(1))._replace(standstill=still)
    assert with_peers(run, told_of, engine.engine.knowledge).unanswered == unanswered


def test_an_error_after_a_node_fell_silent_is_not_proven(engine: LiveEngine) -> None:
    death = DeathRecord(0, "worker", 0, 0, 1, 100.0, 0.0, 1, None, False, False)
    run = run_of(rank(0, CULPRIT), rank(1, code=0))
    causes = {}
    for kinds in ((), ("silent",), ("silent", "back")):
        peers = tuple(PeerRecord(1, kind, 101.0, silent_seconds=4.1) for kind in kinds)
        told_of = RunRecord("run-0001.jsonl", 1, deaths=(death,), peers=peers)
        heard = with_peers(run, told_of, engine.engine.knowledge)
        (causes[kinds],) = Job([heard], engine.engine.knowledge).report("last", "en").root_causes
    assert causes[()].confidence == causes["silent", "back"].confidence == "proven"
    assert causes[("silent",)].confidence == "likely"
    assert any("node 1 had stopped answering" in why.en for why in causes[("silent",)].why)


def believed(ranks: object, knowledge: Knowledge) -> list[Rank]:
    return ranks_of(1, decode_facts({"ranks": ranks}), knowledge, 4)


def hearsay(facts: dict[str, object]) -> RunRecord:
    known = record(facts)
    return known._replace(peers=tuple(peer._replace(hearsay=True) for peer in known.peers))


def test_hearsay_names_a_culprit_where_something_failed_here_and_never_proves_it(
    engine: LiveEngine,
) -> None:
    knowledge = engine.engine.knowledge
    there = run_of(rank(2, node=1, code=None), rank(3, CULPRIT, node=1))
    told = message(there, knowledge)
    here = run_of(rank(0, code=1), rank(1, code=None))
    signed = Job([with_peers(here, record(told), knowledge)], knowledge).report("last", "en")
    heard = Job([with_peers(here, hearsay(told), knowledge)], knowledge).report("last", "en")
    assert signed.root_causes[0].rank == heard.root_causes[0].rank == 3
    assert signed.root_causes[0].confidence == "proven"
    assert heard.root_causes[0].confidence == "likely"


def test_hearsay_changes_nothing_that_is_known_here(engine: LiveEngine) -> None:
    knowledge = engine.engine.knowledge
    there = run_of(rank(2, node=1, code=None), rank(3, CULPRIT, node=1))
    told = message(there, knowledge)
    died = CULPRIT._replace(text="OSError: [Errno 5] Input/output error: '/data/mine'")
    well = run_of(rank(0, code=0), rank(1, code=0))._replace(ended_by_record="completed")
    failed = run_of(rank(0, died), rank(1, code=0))._replace(ended_by_record="failed")
    for here, expected in ((well, ("succeeded", None)), (failed, ("failed", (0, "proven")))):
        joint = with_peers(here, hearsay(told), knowledge)
        report = Job([joint], knowledge).report("last", "en")
        top = next(((c.rank, c.confidence) for c in report.root_causes), None)
        assert (report.verdict, top) == expected


LOST = Event(
    signature="comm.gloo-pair-lost",
    role="symptom",
    category="comm.peer",
    line=19,
    offset=950,
    text="[gloo/transport/tcp/pair.cc:584] TIMEOUT self_rank = 0 pair_rank = 2",
    fields={"peer_rank": "2"},
)


@pytest.mark.parametrize("hearsay", [False, True])
def test_who_broke_because_another_node_was_stopped_was_interrupted(
    engine: LiveEngine, hearsay: bool
) -> None:
    knowledge = engine.engine.knowledge
    here = run_of(rank(0, LOST), rank(1, LOST))._replace(ended_by_record="failed")
    stopped = PeerRecord(
        1, "facts", 102.0, None, PeerFacts("stopped", interrupted=15), hearsay, "10.0.0.2"
    )
    for died, verdict in ((101.0, "interrupted"), (90.0, "failed")):
        death = DeathRecord(0, "worker", 0, 0, 1, died, 0.0, 1, None, False, False)
        told_of = RunRecord("run-0001.jsonl", 1, deaths=(death,), peers=(stopped,))
        report = Job([with_peers(here, told_of, knowledge)], knowledge).report("last", "en")
        assert report.verdict == verdict
        if verdict == "interrupted":
            (cause,) = report.root_causes
            assert cause.confidence == ("likely" if hearsay else "proven")
            assert cause.why[0].en.startswith("node 1 (10.0.0.2) was told to stop")


def test_a_node_whose_ranks_are_missed_when_it_had_fallen_silent_is_lost(
    engine: LiveEngine,
) -> None:
    knowledge = engine.engine.knowledge
    here = run_of(rank(0, LOST), rank(1, LOST))._replace(ended_by_record="failed")
    there = [r._replace(host="10.0.0.2") if not r.files else r for r in here.ranks]
    death = DeathRecord(0, "worker", 0, 0, 1, 100.0, 0.0, 1, None, False, False)
    silent = PeerRecord(1, "silent", 101.0, silent_seconds=4.1, host="10.0.0.2")
    told_of = RunRecord("run-0001.jsonl", 1, deaths=(death,), peers=(silent,))
    run = with_peers(here._replace(ranks=tuple(there)), told_of, knowledge)
    (cause,) = Job([run], knowledge).report("last", "en").root_causes
    assert (cause.signature, cause.rank, cause.host) == ("verdict.launcher-gone", None, "10.0.0.2")
    assert cause.why[0].en.startswith("node 1 (10.0.0.2) stopped answering")
    # a connection that nobody closed is not of a machine that is up
    waited = LOST._replace(signature="comm.gloo-wait-timeout", category="comm.timeout")
    cut_off = run_of(rank(0, waited), rank(1, waited))._replace(ended_by_record="failed")
    cut_off = cut_off._replace(ranks=(*cut_off.ranks[:2], *there[2:]))
    run = with_peers(cut_off, told_of, knowledge)
    report = Job([run], knowledge).report("last", "en")
    (cause,) = report.root_causes
    assert (cause.signature, cause.host) == ("verdict.node-unreachable", "10.0.0.2")
    assert report.verdict == "failed"
    # whoever misses a rank of a node that answers misses it for another reason
    near = with_peers(
        here._replace(ranks=tuple(r._replace(host="10.0.0.3") for r in there)), told_of, knowledge
    )
    (cause,) = Job([near], knowledge).report("last", "en").root_causes
    assert cause.rank == 2


def test_where_nodes_meet_at_paddles_master_its_silence_is_no_lost_host(engine: LiveEngine) -> None:
    """It ends with Paddle's launcher, as soon as a rank of the first node fails."""
    knowledge = engine.engine.knowledge
    lost = LOST._replace(fields={"peer_rank": "0"})
    here = run_of(rank(2, lost, node=1), rank(3, lost, node=1))
    ranks = tuple(r if r.files else r._replace(host="10.0.0.1", node=0) for r in here.ranks)
    death = DeathRecord(0, "worker", 2, 0, 1, 100.0, 0.0, 1, None, False, False)
    silent = PeerRecord(0, "silent", 101.0, silent_seconds=3.6, host="10.0.0.1")
    told_of = RunRecord("run-0001.jsonl", 1, deaths=(death,), peers=(silent,))
    cases: list[tuple[Launcher, str]] = [("pdtriage", "interrupted"), ("paddle", "failed")]
    for launcher, verdict in cases:
        run = here._replace(ranks=ranks, ended_by_record="failed", started_by=launcher)
        report = Job([with_peers(run, told_of, knowledge)], knowledge).report("last", "en")
        assert (report.verdict, len(report.root_causes)) == (verdict, 1)
        assert report.root_causes[0].confidence != "proven"
