"""What is done when, by the policy alone: no process, no clock, no waiting."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence

import pytest

from pdtriage.launch.elastic.membership_events import EtcdBack, WorldChanges
from pdtriage.launch.options.parse import parse_flags
from pdtriage.launch.supervise.event_loop import SignalReceived
from pdtriage.launch.supervise.events import (
    Died,
    Interrupted,
    Noted,
    PeerDiffers,
    PeerSilent,
    PeerSpoke,
    StacksTaken,
    StacksWanted,
    StopHung,
    Trained,
)
from pdtriage.launch.supervise.guardian import end_members
from pdtriage.launch.supervise.policy import (
    DOUBLE,
    STACKS_PATIENCE,
    Action,
    AllEnded,
    Coordinate,
    Forward,
    Input,
    Kill,
    Note,
    Notify,
    Patience,
    Policy,
    StartedAgain,
    Stop,
    TimePassed,
    patience_of,
)
from pdtriage.launch.supervise.ps_lifetime import LEAVE_TIME, LOST_AFTER, Lifetime
from pdtriage.record.schema import DeathRecord, PeerFacts
from pdtriage.support.language import Text

SETTLE, GRACE, INTERRUPT_GRACE = 2.0, 10.0, 30.0
PATIENCE = Patience(SETTLE, GRACE, INTERRUPT_GRACE)
SIGINT, SIGTERM = SignalReceived(signal.SIGINT), SignalReceived(signal.SIGTERM)
FAILED_ELSEWHERE = PeerSpoke(1, PeerFacts("failed"))


def death(
    code: int | None = 1,
    *,
    at: float = 0.0,
    pid: int = 7,
    number: int | None = None,
    stopped: bool = False,
    role: str = "worker",
) -> DeathRecord:
    """Of rank 0 (or server 0)."""
    return DeathRecord(0, role, 0, 0, pid, at, at, code, number, False, stopped)


class Story:
    """A policy that is launch one thing after the other; keeps what it answered, with the time."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.now = 0.0
        self.done: list[tuple[float, Action]] = []

    def tell(self, *happened: Input, at: float) -> None:
        """As in one turn of the loop: all that came at once, then the time."""
        self.until(at)
        for one in (*happened, TimePassed()):
            self._step(one)

    def until(self, end: float) -> None:
        """Let time pass: come back at each deadline, as the loop does."""
        while (moment := self.policy.deadline(self.now)) is not None and moment <= end:
            self.now = max(moment, self.now)
            self._step(TimePassed())
        self.now = end

    def signals(self) -> list[tuple[float, Action]]:
        return [(at, one) for at, one in self.done if isinstance(one, (Stop, Kill, Forward))]

    def coordinated(self) -> list[tuple[float, str]]:
        return [(at, one.what) for at, one in self.done if isinstance(one, Coordinate)]

    def shown(self) -> list[object]:
        return [one.event for _, one in self.done if isinstance(one, Notify)]

    def _step(self, happened: Input) -> None:
        self.done += [(self.now, action) for action in self.policy.step(self.now, happened)]


def story(**options: object) -> Story:
    return Story(Policy(PATIENCE, **options))  # type: ignore[arg-type]


def test_patience_is_what_the_flags_ask_for() -> None:
    """The same for our own children and around Paddle's launcher, which has a grace of its own."""
    flags = parse_flags(["--settle=3", "--grace=7", "train.py"], {})
    assert patience_of(flags) == Patience(3.0, 7.0, 7.0)
    assert patience_of(flags, beyond=5.0) == Patience(3.0, 7.0, 12.0)


def test_all_end_well_and_nothing_is_done() -> None:
    launch = story()
    launch.tell(death(0), death(0, pid=8), AllEnded(), at=5)
    assert launch.shown() == [Died(death(0)), Died(death(0, pid=8))]
    assert launch.signals() == []
    assert launch.coordinated() == []
    assert launch.policy.deadline(5) is None
    assert launch.policy.ending() == "completed"


def test_a_failure_settles_then_the_rest_is_stopped_then_killed_each_second() -> None:
    launch = story()
    launch.tell(death(at=5.0), at=5)
    assert launch.policy.deadline(5) == 5 + SETTLE
    launch.until(5 + SETTLE + GRACE + 2.5)
    killed = 5 + SETTLE + GRACE
    assert launch.signals() == [
        (5 + SETTLE, Stop("failure")),
        (killed, Kill("failure")),
        (killed + 1, Kill("failure")),
        (killed + 2, Kill("failure")),
    ]
    assert launch.coordinated() == [(5 + SETTLE, "failed")]
    assert launch.policy.ending() == "failed"


def test_only_the_first_failure_is_the_first_and_only_it_counts_the_time() -> None:
    launch = story()
    launch.tell(death(at=5.0), death(None, at=5.0, pid=8, number=9), at=5)
    launch.tell(death(at=6.0, pid=9), at=6)
    assert [event.first for event in launch.shown() if isinstance(event, Died)] == [
        True,
        False,
        False,
    ]
    launch.until(8)
    assert launch.signals() == [(5 + SETTLE, Stop("failure"))]


def test_who_dies_of_our_signal_has_not_failed() -> None:
    launch = story()
    launch.tell(SIGTERM, at=1)
    assert launch.policy.stopping
    launch.tell(death(None, number=15, stopped=True), at=2)
    assert launch.policy.ending() == "interrupted"
    assert launch.coordinated() == [(1, "interrupted")], "the others are told at once"


def test_nobody_is_stopped_before_all_that_came_at_once_is_taken_in() -> None:
    """The deaths behind a signal in the queue were not our doing."""
    policy = Policy(PATIENCE)
    policy.step(1.0, SIGTERM)
    assert not policy.stopping
    policy.step(1.0, TimePassed())
    assert policy.stopping


def test_a_failure_is_told_at_the_end_where_all_died_before_it_settled() -> None:
    launch = story()
    launch.tell(death(at=5.0), at=5)
    assert launch.coordinated() == []
    assert not launch.policy.is_settling(5.0), "nobody waits for news without etcd"
    launch.tell(AllEnded(), at=5.1)
    assert launch.coordinated() == [(5.1, "failed")]
    launch.tell(AllEnded(), at=5.2)
    assert len(launch.coordinated()) == 1


@pytest.mark.parametrize(
    ("number", "sender"),
    [
        (signal.SIGINT, "a person does with Ctrl-C"),
        (signal.SIGTERM, "a scheduler or `kill` does"),
        (signal.SIGHUP, "a terminal does that is closed"),
    ],
)
def test_a_signal_stops_at_once_and_kills_after_the_longer_grace(number: int, sender: str) -> None:
    launch = story()
    launch.tell(SignalReceived(number), at=3)
    launch.until(3 + INTERRUPT_GRACE)
    assert launch.signals() == [
        (3.0, Stop("interrupt")),
        (3 + INTERRUPT_GRACE, Kill("interrupt")),
    ]
    assert launch.shown() == [Interrupted(number)]
    assert [one.text.en for _, one in launch.done if isinstance(one, Note)] == [
        f"told to stop by {signal.Signals(number).name}, as {sender}"
    ]
    assert (launch.policy.ending(), launch.policy.interrupted_by) == ("interrupted", number)


def test_who_stops_a_job_under_paddles_launcher_is_noted_as_well() -> None:
    launch = story(delegates=True)
    launch.tell(SIGINT, at=3)
    (noted,) = [one.text.en for _, one in launch.done if isinstance(one, Note)]
    assert noted == "told to stop by SIGINT, as a person does with Ctrl-C"


def test_a_second_ctrl_c_kills_at_once() -> None:
    launch = story()
    launch.tell(SIGINT, at=3)
    launch.tell(SIGINT, at=3.5)
    assert launch.signals() == [(3.0, Stop("interrupt")), (3.5, Kill("interrupt"))]
    assert launch.shown() == [Interrupted(2), Interrupted(2, again=True)]
    assert launch.policy.hurry


@pytest.mark.parametrize("delegates", [False, True])
def test_a_doubled_sigint_is_one(delegates: bool) -> None:
    """Wrappers pass on what the terminal sent to the whole group as well."""
    launch = story(delegates=delegates)
    launch.tell(SIGINT, SIGINT, at=0)
    launch.tell(SIGINT, at=DOUBLE)
    assert not launch.policy.hurry
    assert launch.shown() == [Interrupted(2)]
    assert not [one for _, one in launch.done if isinstance(one, Kill)]
    launch.tell(SIGINT, at=DOUBLE + 0.01)
    assert launch.policy.hurry
    assert [one for _, one in launch.done if isinstance(one, Kill)]


def test_other_signals_never_hurry() -> None:
    launch = story()
    launch.tell(SIGINT, at=3)
    launch.tell(SIGTERM, SignalReceived(signal.SIGHUP), at=5)
    assert launch.signals() == [(3.0, Stop("interrupt"))]
    assert not launch.policy.hurry


def test_a_signal_while_a_failure_settles_tells_of_it_at_once_and_it_stays_a_failure() -> None:
    launch = story()
    launch.tell(death(at=5.0), at=5)
    launch.tell(SIGINT, at=5.5)
    launch.until(5.5 + GRACE)
    assert launch.signals() == [(5.5, Stop("failure")), (5.5 + GRACE, Kill("failure"))]
    assert launch.coordinated() == [(5.5, "failed")]
    assert (launch.policy.ending(), launch.policy.interrupted_by) == ("failed", 2)


def test_a_failure_elsewhere_settles_as_well() -> None:
    launch = story()
    launch.tell(FAILED_ELSEWHERE, at=4)
    launch.tell(death(at=5.0), at=5)
    launch.until(7)
    assert launch.signals() == [(4 + SETTLE, Stop("peer"))]
    assert launch.coordinated() == [], "it failed here because of them"
    assert launch.policy.ending() == "peer"


def test_a_node_that_differs_ends_the_job_now() -> None:
    launch = story()
    launch.tell(PeerSilent(2, 5.0, 0.0), PeerSpoke(2, PeerFacts("running")), at=3)
    assert launch.policy.deadline(3) is None
    launch.tell(PeerDiffers(1, 4, 8), at=4)
    assert launch.signals() == [(4.0, Stop("refused"))]
    assert launch.policy.ending() == "refused"
    (note,) = (one.text.en for _, one in launch.done if isinstance(one, Note))
    assert "started differently: node 1 starts 4 processes, this node 8" in note


STOPPED_ELSEWHERE = PeerSpoke(1, PeerFacts("interrupted", interrupted=15), host="10.0.0.2")


@pytest.mark.parametrize("before", [(), (FAILED_ELSEWHERE,)], ids=["", "after a failure"])
def test_a_node_that_was_told_to_stop_takes_the_others_along(before: Sequence[PeerSpoke]) -> None:
    launch = story()
    launch.tell(*before, STOPPED_ELSEWHERE, at=3)
    launch.until(3 + INTERRUPT_GRACE)
    assert launch.signals() == [
        (3.0, Stop("interrupt")),
        (3 + INTERRUPT_GRACE, Kill("interrupt")),
    ]
    assert (launch.policy.ending(), launch.policy.stopped_elsewhere) == ("interrupted", 15)
    assert launch.coordinated() == [], "nobody told this node"


def test_who_tells_both_nodes_to_stop_has_not_lost_patience() -> None:
    launch = story()
    launch.tell(STOPPED_ELSEWHERE, at=3)
    launch.tell(SIGINT, at=4)
    assert not launch.policy.hurry
    launch.tell(SIGINT, at=5)
    assert launch.policy.hurry


def test_what_failed_before_another_node_was_stopped_has_failed() -> None:
    launch = story()
    launch.tell(death(at=5.0), at=5)
    launch.tell(STOPPED_ELSEWHERE, at=6)
    assert launch.policy.ending() == "failed"


def test_hearsay_and_leaving_nodes_of_elastic_jobs_stop_nobody() -> None:
    for launch, message in (
        (story(), STOPPED_ELSEWHERE._replace(hearsay=True)),
        (story(elastic=True), STOPPED_ELSEWHERE),
    ):
        launch.tell(message, at=3)
        launch.until(100)
        assert launch.signals() == []
        assert launch.policy.ending() == "completed"


def test_news_of_another_world_ends_an_elastic_attempt_now() -> None:
    launch = story(elastic=True)
    launch.tell(EtcdBack("etcd:2379", 1.0), at=3)
    assert launch.signals() == []
    launch.tell(WorldChanges(2, Text("left", "离开")), at=4)
    assert launch.signals() == [(4.0, Stop("peer"))]
    assert launch.policy.ending() == "reform"


def test_who_fails_while_the_others_stop_fails_because_they_do() -> None:
    launch = story(elastic=True)
    launch.tell(death(at=5.0), at=5)
    assert launch.coordinated() == [(5.0, "look")], "perhaps they stopped before"
    assert launch.policy.is_settling(5.5)
    launch.tell(WorldChanges(2, Text("left", "离开")), at=5.5)
    launch.tell(AllEnded(), at=5.6)
    assert not launch.policy.is_settling(5.6)
    assert launch.coordinated() == [(5.0, "look")], "and nobody hears of a failure"
    assert launch.policy.ending() == "reform"


def test_a_failure_that_others_know_of_stays_one() -> None:
    launch = story(elastic=True)
    launch.tell(death(at=5.0), at=5)
    launch.until(5 + SETTLE)
    assert not launch.policy.is_settling(5 + SETTLE)
    launch.tell(WorldChanges(2, Text("failed", "失败")), at=8)
    assert launch.policy.ending() == "failed"
    launch.tell(SIGINT, at=9)
    assert launch.coordinated() == [(5.0, "look"), (7.0, "failed"), (9.0, "leaving")]


def test_paddles_launcher_stops_the_rest_itself() -> None:
    launch = story(delegates=True)
    launch.tell(FAILED_ELSEWHERE, PeerDiffers(1, 4, 8), at=4)
    launch.tell(death(at=5.0), at=5)
    launch.until(100)
    assert launch.signals() == []
    assert launch.coordinated() == [(5 + SETTLE, "failed")]
    assert launch.policy.ending() == "failed"


def test_signals_go_to_paddles_launcher_and_what_it_leaves_is_killed() -> None:
    launch = story(delegates=True)
    launch.tell(SIGTERM, at=3)
    launch.tell(SIGTERM, at=4)
    launch.until(3 + INTERRUPT_GRACE)
    assert launch.signals() == [
        (3.0, Forward(15)),
        (4.0, Forward(15)),
        (3 + INTERRUPT_GRACE, Kill("finished")),
    ]
    assert launch.shown() == [Interrupted(15)], "the second one ends nothing"
    assert launch.policy.ending() == "interrupted"


def test_an_attempt_that_paddles_launcher_makes_begins_anew() -> None:
    launch = story(delegates=True)
    launch.tell(death(at=5.0), at=5)
    launch.tell(StartedAgain(), at=6)
    launch.tell(death(0), AllEnded(), at=9)
    assert launch.coordinated() == [(7.0, "failed")]
    assert launch.policy.ending() == "completed"


def served(
    answering: set[int], trainers: Sequence[int] = (7,), nodes: Sequence[int] = (1,)
) -> Lifetime:
    return Lifetime(trainers, nodes, servers=[9], is_answering=lambda node: node in answering)


def test_servers_are_stopped_when_all_have_trained() -> None:
    launch = story(lifetime=served({1}))
    launch.tell(death(0), at=5)
    assert launch.coordinated() == [(5.0, "trained")]
    launch.tell(PeerSpoke(1, PeerFacts("trained")), at=8)
    launch.until(8 + GRACE)
    assert launch.signals() == [(8.0, Stop("finished")), (8 + GRACE, Kill("finished"))]
    assert launch.shown() == [Died(death(0)), Trained()]
    stopped = death(None, pid=9, number=9, stopped=True, role="server")
    launch.tell(stopped, AllEnded(), at=30)
    assert launch.shown()[-1] == Died(stopped), "and no failure"
    assert launch.policy.ending() == "completed"


def test_a_node_that_is_lost_is_not_waited_for() -> None:
    launch = story(lifetime=served(set()))
    launch.tell(death(0), at=5)
    launch.until(60)
    assert launch.signals()[0] == (5 + LOST_AFTER, Stop("finished"))
    assert Trained((1,)) in launch.shown()
    assert [one.text.en for _, one in launch.done if isinstance(one, Note)] == [
        "servers stopped; not heard of node 1"
    ]


def test_a_server_that_leaves_its_trainers_fails_the_job() -> None:
    launch = story(lifetime=served(set()))
    launch.tell(death(0, pid=9, role="server"), at=5)
    launch.until(5 + LEAVE_TIME)
    assert launch.signals() == [(5 + LEAVE_TIME, Stop("failure"))]
    assert launch.coordinated() == [(5 + LEAVE_TIME, "failed")]
    assert [event.level for event in launch.shown() if isinstance(event, Noted)] == [
        "WARNING",
        "ERROR",
    ]


def test_how_long_servers_are_needed() -> None:
    life = served({1}, [7, 8], [1, 2])
    assert life.end(7, 100) is None
    assert life.end(8, 100) == "all-trained"
    assert not life.is_over(100)
    assert life.next_look(100) == 100 + LOST_AFTER
    assert not life.is_over(100 + LOST_AFTER), "node 1 still trains"
    life.learn(PeerSpoke(1, PeerFacts("running")))
    assert not life.is_over(100 + LOST_AFTER)
    life.learn(PeerSpoke(1, PeerFacts("trained")))
    assert life.is_over(100 + LOST_AFTER), "node 2 was never heard of"


def test_servers_without_trainers_and_without_word_stay() -> None:
    assert not Lifetime([], [1]).is_over(100)
    assert not Lifetime([], [1], is_answering=lambda _: False).is_over(100)
    life = Lifetime([5], [1])
    life.end(5, 100)
    assert life.is_over(100), "as Paddle: own trainers decide"


def test_a_server_that_leaves_has_to_be_followed() -> None:
    answering = {1}
    life = served(answering)
    assert life.end(9, 100) == "server-missed"
    assert life.next_look(100) == 100 + LEAVE_TIME
    assert not life.is_deserted(99 + LEAVE_TIME)
    assert life.end(7, 101) == "all-trained"
    assert life.is_deserted(100 + LEAVE_TIME), "node 1 still trains"
    answering.clear()
    assert not life.is_deserted(100 + LEAVE_TIME), "nobody is known to train"


def test_servers_alone_may_leave() -> None:
    assert Lifetime([], [1], servers=[9]).end(9, 1) is None, "nobody knows who trains elsewhere"
    life = Lifetime([7], servers=[9])
    assert life.end(7, 1) == "all-trained"
    assert life.end(9, 2) is None
    assert not life.is_deserted(100)


def test_whatever_is_left_over_has_its_grace_too() -> None:
    now = 100.0
    sent: list[tuple[float, int]] = []

    def wait(seconds: float) -> None:
        nonlocal now
        now += seconds
        if sent[-1][1] == signal.SIGKILL:
            stubborn.wait(10)

    with subprocess.Popen(
        ["sleep", "60"], preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ) as stubborn:
        end_members(
            lambda: [stubborn.pid] if stubborn.poll() is None else [],
            GRACE,
            sent=lambda _, number: sent.append((round(now), number)),
            wait=wait,
            clock=lambda: now,
        )
    assert sent == [(100, signal.SIGTERM), (100 + GRACE, signal.SIGKILL)]


def test_a_run_that_takes_too_long_ends_when_its_stacks_are_known() -> None:
    policy = Policy(PATIENCE, until=100.0)
    assert policy.step(99.0, TimePassed()) == []
    assert policy.deadline(99.0) == 100.0
    actions = policy.step(100.0, TimePassed())
    assert Notify(StacksWanted("timeout")) in actions
    assert not any(isinstance(action, Stop) for action in actions)
    assert policy.step(101.0, StacksTaken()) == []
    assert policy.step(101.0, TimePassed()) == [Stop("interrupt")]
    assert policy.deadline(101.0) == 101.0 + INTERRUPT_GRACE
    assert policy.ending() == "timeout"


def test_nobody_waits_for_stacks_without_end() -> None:
    policy = Policy(PATIENCE, until=100.0)
    policy.step(100.0, TimePassed())
    assert policy.step(100.0 + STACKS_PATIENCE, TimePassed()) == [Stop("interrupt")]


def test_a_job_that_stands_still_is_ended_only_where_nothing_else_ended_it() -> None:
    policy = Policy(PATIENCE)
    policy.step(1.0, StopHung())
    assert policy.step(1.0, TimePassed()) == [Stop("interrupt")]
    assert policy.deadline(1.0) == 1.0 + INTERRUPT_GRACE
    assert policy.ending() == "hung"
    failing = Policy(PATIENCE)
    failing.step(0.0, death())
    assert failing.step(0.1, StopHung()) == []
    assert failing.ending() == "failed"


def test_stacks_that_nobody_waits_for_change_nothing() -> None:
    policy = Policy(PATIENCE)
    assert policy.step(1.0, StacksTaken()) == []
    assert policy.deadline(1.0) is None
