"""What a bad run has, lacks or was given that the good one did not."""

from __future__ import annotations

import pytest

from pdtriage.knowledge import Knowledge, load_knowledge
from pdtriage.model import Event, Progress, Rank, Run, RunFacts
from pdtriage.verdict.differences import differences_between, differences_of_ranks


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return load_knowledge(())


def rank(number: int, steps: int, **environment: str) -> Rank:
    return Rank(
        role="worker",
        rank=number,
        host=f"10.0.0.{number}",
        progress=tuple(Progress(n, n, n) for n in range(steps)),
        environment=environment,
    )


def run(*ranks: Rank) -> RunFacts:
    return RunFacts(
        run=Run(1, 1, 1),
        ranks=ranks,
        world_size=len(ranks),
        mode="collective",
        started_by="paddle",
        arguments=("train.py", "--lr", "0.1"),
        versions={"paddlepaddle": "3.3.1"},
    )


GOOD = run(rank(0, 100, PADDLE_NNODES="1"), rank(1, 100, PADDLE_NNODES="1"))


def kinds(bad: RunFacts, knowledge: Knowledge) -> dict[str, str]:
    return {found.kind: found.text.en for found in differences_between(bad, GOOD, knowledge)}


def test_equal_runs_do_not_differ(knowledge: Knowledge) -> None:
    assert differences_between(GOOD, GOOD, knowledge) == ()


def test_how_far_it_came(knowledge: Knowledge) -> None:
    bad = GOOD._replace(ranks=(rank(0, 7, PADDLE_NNODES="1"), rank(1, 5, PADDLE_NNODES="1")))
    assert kinds(bad, knowledge) == {"reached": "the good run reached step 99, this one step 6"}
    further = GOOD._replace(ranks=(rank(0, 200, PADDLE_NNODES="1"), rank(1, 200)))
    assert "reached" not in kinds(further, knowledge)


def test_size_and_hosts(knowledge: Knowledge) -> None:
    bad = GOOD._replace(ranks=(*GOOD.ranks, rank(2, 100)), world_size=3)
    said = kinds(bad, knowledge)
    assert said["size"] == "2 ranks before, 3 now"
    assert said["hosts"] == "hosts gone: -; new: 10.0.0.2"


def test_arguments_and_versions(knowledge: Knowledge) -> None:
    bad = GOOD._replace(arguments=("train.py", "--lr", "9.9"), versions={"paddlepaddle": "3.2.0"})
    said = kinds(bad, knowledge)
    assert said["arguments"] == "arguments before: 0.1; now: 9.9"
    assert said["version"] == "paddlepaddle: 3.3.1 before, 3.2.0 now"


def test_the_same_change_on_many_ranks_is_told_once(knowledge: Knowledge) -> None:
    bad = GOOD._replace(ranks=tuple(rank(n, 100, PADDLE_NNODES="4") for n in range(2)))
    found = differences_between(bad, GOOD, knowledge)
    assert [f.text.en for f in found] == ["PADDLE_NNODES: 1 before, 4 now (rank 0, rank 1)"]


def test_what_differs_by_nature_is_not_told(knowledge: Knowledge) -> None:
    bad = GOOD._replace(
        ranks=tuple(
            rank(n, 100, PADDLE_NNODES="1", PADDLE_CURRENT_ENDPOINT=f"h:{n}") for n in range(2)
        ),
    )
    assert differences_between(bad, GOOD, knowledge) == ()


def test_what_only_one_of_them_printed(knowledge: Knowledge) -> None:
    error = Event("data.errno5", "cause", "data.io", 9, 90, "OSError: [Errno 5]")
    first = GOOD.ranks[0]._replace(events=(("log/workerlog.0", error),))
    bad = GOOD._replace(ranks=(first, GOOD.ranks[1]))
    (found,) = differences_between(bad, GOOD, knowledge)
    assert (found.kind, found.after) == ("printed", "OSError: [Errno 5]")
    assert found.place == "log/workerlog.0:9"
    assert differences_between(bad, GOOD, knowledge, told={"data.errno5"}) == ()
    assert differences_between(GOOD, bad, knowledge) == (), "what a good run survived tells nothing"


def test_what_only_the_good_run_began_with(knowledge: Knowledge) -> None:
    start = next(s.id for s in knowledge.signatures.values() if s.role == "start")
    begun = Event(start, "start", None, 3, 30, "it begins")
    good = GOOD._replace(ranks=(GOOD.ranks[0]._replace(events=(("log/workerlog.0", begun),)),))
    bad = GOOD._replace(ranks=GOOD.ranks[:1])
    (missed,) = differences_between(bad, good, knowledge)
    assert (missed.kind, missed.before) == ("missing", "it begins")


def test_ranks_started_unlike_each_other() -> None:
    odd = run(rank(0, 1, PADDLE_NNODES="1"), rank(1, 1, PADDLE_NNODES="2"))
    (found,) = differences_of_ranks(odd)
    assert found.text.en == "PADDLE_NNODES differs: 1 (rank 0); 2 (rank 1)"
    assert differences_of_ranks(GOOD) == ()
