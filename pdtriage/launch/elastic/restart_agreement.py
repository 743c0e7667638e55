"""What follows an attempt of an elastic job: one node decides, in etcd, and all obey."""

from __future__ import annotations

import time
from typing import Literal

from pdtriage.launch.elastic.generation import EtcdView, Generation, GenerationState, address_of
from pdtriage.launch.elastic.generation_rules import Steady
from pdtriage.launch.elastic.membership_events import Expelled, why_it_changes
from pdtriage.launch.elastic.participation import Elastic
from pdtriage.launch.options.elastic import patience_with_etcd
from pdtriage.launch.rendezvous.job_nodes import StopRequested
from pdtriage.launch.supervise.outcome import Conclusion, Failure
from pdtriage.launch.supervise.restart import TOLD_TO_STOP, Decision, Restarts, decide
from pdtriage.support.language import Text

_BAD_ENDS = ("failed", "stopped")
_ENDS = (*_BAD_ENDS, "over")


class ElasticRestarts(Restarts):
    """Remembers the failed attempts this node saw; decides only when it is its turn."""

    def __init__(self, elastic: Elastic, asked: Restarts) -> None:
        super().__init__(asked.policy, asked.max_restart, elastic=True)
        self._elastic = elastic
        self._member = elastic.membership
        self._steady = Steady()

    def after(
        self, conclusion: Conclusion, *, interrupted: bool, reason: str = ""
    ) -> Decision | None:
        """Tell how it ended here, and wait for what follows; None after a success of all."""
        generation = self._elastic.generation
        assert generation is not None, "an attempt was made, so there is a generation"
        if interrupted:
            self._elastic.leave()
            return TOLD_TO_STOP
        if self._member.crashed is not None:
            succeeded = conclusion.verdict == "succeeded"
            return None if succeeded else Decision(False, Expelled(self._member.crashed).text)
        if conclusion.verdict == "succeeded":
            self._member.report_end("over")
            return self._when_all_are_done(generation)
        self._member.report_end("failed" if reason == "failed" else "stopped")
        decision = self._common(generation, conclusion)
        if not decision.again:
            self._elastic.leave()
        return decision

    def _when_all_are_done(self, generation: Generation) -> Decision | None:
        """Stays a while: should another node fail now, all start again together."""
        deadline = time.monotonic() + self._elastic.flags.elastic_timeout
        while time.monotonic() < deadline:
            now = self._view_with_our_end()
            if now is not None:
                current = now.generation
                if current is None or current.number > generation.number:
                    return None
                if current.state in ("restart", "stopping"):
                    return Decision(True, _reason_of(current))
                if current.state != "running":
                    return None
            if self._is_interrupted():
                break
        return None

    def _common(self, generation: Generation, conclusion: Conclusion) -> Decision:
        proposal: Generation | None = None
        patience = patience_with_etcd(self._elastic.flags)
        while True:
            view = self._view_with_our_end()
            decided = (
                self._written_decision(view, generation, conclusion) if view is not None else None
            )
            if decided is not None:
                return decided
            if view is not None and self._is_our_turn(view, generation):
                proposal = proposal or self._proposal(view, generation, conclusion)
                self._member.propose(proposal)
            away = self._member.away_since
            if away is not None and time.monotonic() - away > patience:
                return Decision(False, _CANNOT_AGREE)
            if self._is_interrupted():
                return TOLD_TO_STOP

    def _written_decision(
        self, view: EtcdView, generation: Generation, conclusion: Conclusion
    ) -> Decision | None:
        """What was written about this generation, by whomever."""
        current = view.generation
        if current is None:
            return None
        if current.number > generation.number:
            return Decision(True, why_it_changes(current, generation.number))
        if current.state == "running":
            return None
        if current.why == "failed":
            self.failed.append(conclusion)
        if current.state == "restart" and self._member.pod in current.without:
            return Decision(False, _LEFT_OUT)
        return Decision(current.state != "ended", _reason_of(current))

    def _is_our_turn(self, view: EtcdView, generation: Generation) -> bool:
        """All nodes have ended or are gone, and we are the first of those without success."""
        alive = [view.members[pod] for pod in generation.own if pod in view.members]
        ended = [m for m in alive if m.state in _BAD_ENDS and m.number == generation.number]
        if not ended or ended[0].pod != self._member.pod:
            return False
        missing = tuple(pod for pod in generation.own if pod not in view.members)
        settled = self._steady.seconds("missing", missing, time.monotonic())
        if missing and settled < self._member.terms.lost:
            return False
        busy = tuple(
            m.pod
            for m in alive
            if m.state != "leaving" and (m.state not in _ENDS or m.number != generation.number)
        )
        waited = self._steady.seconds("busy", busy, time.monotonic())
        return not busy or waited > self._member.terms.pending

    def _proposal(
        self, view: EtcdView, generation: Generation, conclusion: Conclusion
    ) -> Generation:
        generation = view.generation or generation
        addresses = dict(zip(generation.pods, map(address_of, generation.speeches), strict=True))
        staying = [pod for pod in generation.own if pod not in generation.finished]
        gone = [pod for pod in staying if pod not in view.members]
        left = [p for p in generation.own if p in view.members and _is_leaving(view, p)]
        if (gone or left) and self._elastic.level >= 0:
            # Whatever failed then, failed because a node went away.
            why: Literal["lost", "left"] = "lost" if gone else "left"
            who = tuple(addresses[pod] for pod in gone or left)
            return generation._replace(state="stopping", why=why, who=who)
        decision = self._own_decision(generation, conclusion)
        state: GenerationState = "restart" if decision.again else "ended"
        return generation._replace(
            state=state,
            why="failed",
            failures=generation.failures + 1,
            said=(decision.why.en, decision.why.zh),
            without=self._left_out(view, generation, conclusion) if decision.again else (),
        )

    def _own_decision(self, generation: Generation, conclusion: Conclusion) -> Decision:
        if self._elastic.level < 0:
            return Decision(False, Text("--elastic_level -1", "--elastic_level -1"))
        assert self.policy is not None
        # A node that joined later knows how many failures there were, not which.
        unseen = max(0, generation.failures - len(self.failed))
        before = [_unknown(number) for number in range(unseen)] + self.failed
        return decide(self.policy, [*before, conclusion], self.max_restart, elastic=True)

    def _left_out(
        self, view: EtcdView, generation: Generation, conclusion: Conclusion
    ) -> tuple[str, ...]:
        """`--elastic_level 0`: the node that failed ends, the others go on."""
        if self._elastic.level != 0:
            return ()
        each = generation.speeches[0].get("replicas")
        if isinstance(each, int) and each > 0 and conclusion.culprits:
            places = {rank // each for rank in conclusion.culprits}
            return tuple(pod for place, pod in enumerate(generation.pods) if place in places)
        failed = [p for p in generation.own if p in view.members]
        return tuple(pod for pod in failed if view.members[pod].state == "failed")

    def _view_with_our_end(self) -> EtcdView | None:
        """What etcd shows, once it shows how it ended here."""
        return self._member.view if self._member.is_fresh() else None

    def _is_interrupted(self) -> bool:
        try:
            self._elastic.wait()
        except StopRequested as told:
            self.stopped_by = told.number
            return True
        return False


_CANNOT_AGREE = Text(
    "etcd cannot be reached, so the nodes cannot agree on a restart",
    "无法访问 etcd，各节点不能就重启达成一致",
)
_LEFT_OUT = Text(
    "--elastic_level 0: the node that failed ends, the others go on",
    "--elastic_level 0：失败的节点结束，其余节点继续",
)


def _reason_of(generation: Generation) -> Text:
    if generation.why == "failed" and len(generation.said) == 2:
        return Text(*(" ".join(part.split())[:500] for part in generation.said))
    return why_it_changes(generation, generation.number)


def _unknown(number: int) -> Conclusion:
    title = Text("failed before this node joined", "在本节点加入之前失败")
    return Conclusion("failed", failure=Failure(title, fingerprint=f"unseen-{number}"))


def _is_leaving(view: EtcdView, pod: str) -> bool:
    return view.members[pod].state == "leaving"
