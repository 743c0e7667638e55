"""What a launch comes to, and who judges it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.model.kinds import process_name
from pdtriage.record.attempts import attempts_in
from pdtriage.record.schema import DeathRecord, PeerFacts, RunRecord
from pdtriage.support import exit_codes
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

if TYPE_CHECKING:
    from pdtriage.launch.supervise.restart import Decision
    from pdtriage.model import VerdictWord


AnswerWait = Callable[[Callable[[], bool]], bool]
"""Passes the time until something is true; False if we were told to stop before that."""
Retry = Literal["yes", "no", "once"]
"""Whether another attempt may go better."""


class Reached(NamedTuple):
    """How far an attempt came, by the step counter of whichever rank came furthest."""

    step: int
    epoch: int | None = None


class Failure(NamedTuple):
    """The first root cause of an attempt, as far as it decides about another one."""

    title: Text
    """Who and what: `rank 2: [Errno 5] …`."""
    fingerprint: str = ""
    """Equal for the same failure."""
    retry: Retry = "once"
    why: Text | None = None
    """Why another attempt is worth it, or not."""
    reached: Reached | None = None
    """None where no step was ever printed."""


class Conclusion(NamedTuple):
    """The judgement on a run that has ended."""

    verdict: VerdictWord
    culprits: tuple[int, ...] = ()
    """Ranks of the first root cause."""
    code: int | None = None
    signal: int | None = None
    stopped: bool = False
    """`code`, `signal` and `stopped` are the end of the first culprit, on whatever node."""
    role: str = "worker"
    """Of the culprits."""
    failure: Failure | None = None
    """None where nothing failed, or nobody knows what."""


class Outcome(NamedTuple):
    """What `run` returns."""

    exit_code: int
    flags: LaunchFlags | None = None
    record: RunRecord | None = None
    """None when nothing was started."""
    conclusion: Conclusion | None = None
    refusal: UserError | None = None
    decision: Decision | None = None
    """Whether another attempt follows; None where nobody asked for restarts."""
    decisions: Mapping[int, Decision] = {}
    """The same for every attempt of the launch, by its number."""


class LaunchChecks(Protocol):
    """What a launch of so many processes on this node should be warned about."""

    def __call__(
        self,
        flags: LaunchFlags,
        environ: Mapping[str, str],
        processes: int,
        *,
        cards: Sequence[str],
        besides: Collection[int] = (),
        peers: Sequence[str] = (),
    ) -> Sequence[Text]:
        """`cards` (`gpu:3`) are those the launch uses, `besides` its own processes, `peers` one
        endpoint of every other node."""
        ...


class Analyst(Protocol):
    """Judges a run from its record and the logs beside it."""

    def facts(self, record: RunRecord, tell: Callable[[PeerFacts], None]) -> None:
        """What the other nodes should know, asked for right after a failure on this one.

        Nobody waits for it: it is told once, a little later, perhaps by another thread.
        """
        ...

    def conclude(self, record: RunRecord, wait: AnswerWait) -> Conclusion:
        """Says who is to blame, when all processes have ended; raises `NotJudged`."""
        ...


class NotJudged(UserError):  # noqa: N818 (there is another way to judge)
    """The logs could not be read, or not in time."""


class ExitOrderAnalyst:
    """Judges by exit order alone: whoever failed first is to blame."""

    def facts(self, record: RunRecord, tell: Callable[[PeerFacts], None]) -> None:
        first = first_failure(attempts_in(record)[-1])
        if first is None:
            tell(PeerFacts())
        else:
            tell(PeerFacts("", first.role, first.rank, first.code, first.signal))

    def conclude(self, record: RunRecord, wait: AnswerWait) -> Conclusion:  # noqa: ARG002
        record = attempts_in(record)[-1]
        if record.reason == "interrupted":
            return Conclusion("interrupted")
        first = first_failure(record)
        if first is not None and not first.stopped:
            culprits = () if first.rank is None else (first.rank,)
            return Conclusion(
                "failed", culprits, first.code, first.signal, False, first.role, _how(first)
            )
        for peer in record.peers:
            if peer.facts.failed and not peer.hearsay:
                return _conclusion_of(peer.facts)
        if record.reason == "completed":
            return Conclusion("succeeded")
        if first is not None or record.reason is not None:
            return Conclusion("failed", stopped=first is not None)
        return Conclusion("succeeded" if record.deaths else "unknown")


def first_failure(record: RunRecord) -> DeathRecord | None:
    """Whoever failed first; a server that left its trainers with 0 where nobody else did."""
    failed = [death for death in record.deaths if has_failed(death)]
    if record.reason == "failed" and all(death.stopped for death in failed):
        left = [d for d in record.deaths if d.role == "server" and d.code == 0 and not d.stopped]
        failed = left or failed
    return failed[0] if failed else None


def has_failed(death: DeathRecord) -> bool:
    """Whether a process ended by a signal or a code other than 0; False where nobody saw it."""
    return death.signal is not None or death.code not in (0, None)


def exit_code(conclusion: Conclusion, record: RunRecord) -> int:
    interrupted = conclusion.verdict in ("interrupted", "hung")
    elsewhere = (peer.facts.interrupted for peer in record.peers)
    number = record.interrupted_by or next(filter(None, elsewhere), None)
    return exit_codes.of_run(
        succeeded=conclusion.verdict == "succeeded",
        code=conclusion.code,
        signal=conclusion.signal,
        stopped=conclusion.stopped,
        interrupted_by=number if interrupted else None,
    )


def _how(death: DeathRecord) -> Failure:
    """All that can be said without a look into the logs."""
    who = process_name(death.role, death.rank)
    if death.signal is not None:
        title = Text(
            f"{who} was ended by signal {death.signal}", f"{who} 被信号 {death.signal} 终止"
        )
    else:
        title = Text(f"{who} exited with code {death.code}", f"{who} 以 {death.code} 退出")
    return Failure(title, f"exit/{death.role}/{death.code}/{death.signal}")


def _conclusion_of(facts: PeerFacts) -> Conclusion:
    return Conclusion(
        "failed",
        () if facts.rank is None else (facts.rank,),
        facts.code,
        facts.signal,
        role=facts.role if facts.role in ("server", "heter", "coordinator") else "worker",
    )
