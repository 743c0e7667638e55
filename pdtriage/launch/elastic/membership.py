"""This node's place in an elastic job, held in etcd by a thread of its own.

The thread keeps the lease, looks at the job (one short request), writes what this node is doing,
and takes its turn in forming generations. A watch makes it look at once when something changes;
by the clock it looks as well, a few times a second while the job is forming or has just changed,
since a watch does not survive a restart of etcd. The main loop says what it wants and reads what
was last seen.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable

from pdtriage.launch.elastic.etcd import Etcd, EtcdAwayError, EtcdRefusedError, LeaseLostError
from pdtriage.launch.elastic.etcd_watch import KeyWatch
from pdtriage.launch.elastic.generation import (
    Announcement,
    ElasticMember,
    EtcdView,
    Generation,
    Keys,
    MemberState,
    view_of,
)
from pdtriage.launch.elastic.generation_rules import (
    ElasticTerms,
    Steady,
    is_counted,
    is_running,
    mixed_generation,
    next_generation,
    who_forms,
)
from pdtriage.launch.elastic.membership_events import (
    EtcdBack,
    EtcdSilent,
    Expelled,
    MembershipEvent,
    WorldChanges,
    why_it_changes,
)
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.start_refusals import not_started, out_of_threads

_LOOK = 0.2
_LOOK_WHEN_BUSY = 0.5
_LOOK_WHEN_QUIET = 2.0
_QUIET = 10.0
"""Seconds without a change after which the watch is relied on."""
_UNREPORTED = 8.0
"""Seconds after which a failure elsewhere ends this node's processes, whoever told it or not."""
_STAYS_AFTER_END = 600
"""Seconds for which the last generation of a job stays in etcd."""


class Membership:
    """Use as long as the node is in the job; `close` leaves it."""

    def __init__(
        self,
        etcd: Etcd,
        keys: Keys,
        pod: str,
        flags: LaunchFlags,
        terms: ElasticTerms,
        ttl: int,
        deliver: Callable[[MembershipEvent], None],
    ) -> None:
        self.keys = keys
        self.pod = pod
        self.terms = terms
        self.lease = 0
        self.view: EtcdView | None = None
        """What was last seen; None before the first time."""
        self.away_since: float | None = None
        self.error = ""
        """Why etcd could not be asked the last time."""
        self.refused = False
        """It answered then, but not to us."""
        self.crashed: BaseException | None = None
        self._etcd = etcd
        self._flags = flags
        self._ttl = ttl
        self._deliver = deliver
        self._wanted = ElasticMember(pod, "ready", 0, {})
        self._world: Generation | None = None
        self._proposal: Generation | None = None
        self._steady = Steady()
        self._renewed = 0.0
        self._lenient_until = 0.0
        self._touches = False
        self._reported = 0
        self._complained = False
        self._wishes = 0
        self._fulfilled = 0
        self._changed = 0.0
        self._wake = threading.Event()
        self._watch = KeyWatch(etcd.another(), *keys.of_the_world(), self._wake.set)
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="membership", daemon=True)

    def start(self) -> None:
        self._etcd.prepare()
        try:
            self._thread.start()
        except RuntimeError:
            raise not_started("pdtriage", out_of_threads()) from None
        self._watch.start()

    def offer(self, speech: Announcement) -> None:
        """Be ready for the next generation, with these endpoints."""
        self._want("ready", 0, speech)

    def offered_world(self) -> Generation | None:
        """A running generation this node belongs to as it last offered itself."""
        view = self.view
        generation = view.generation if view is not None else None
        if generation is None or generation.state != "running" or self.pod not in generation.pods:
            return None
        agreed = generation.speeches[generation.pods.index(self.pod)]
        own = self._wanted.speech
        same = all(agreed.get(name) == own.get(name) for name in ("candidate", "endpoints"))
        return generation if same and self._wanted.state == "ready" else None

    def take(self, generation: Generation) -> None:
        """Its processes are about to be started here."""
        self._world = generation
        self._want("busy", generation.number, self._wanted.speech)

    def report_end(self, state: MemberState) -> None:
        """How the generation ended on this node."""
        self._want(state, self._wanted.number, self._wanted.speech)

    def propose(self, generation: Generation) -> None:
        """What shall become of the generation that has ended; the first such word counts."""
        self._proposal = generation
        self._wake.set()

    def look(self) -> None:
        """Now, and not only when it is time again."""
        self._wake.set()

    def is_fresh(self) -> bool:
        """What was last seen includes what this node last said."""
        return self._fulfilled == self._wishes

    def close(self) -> None:
        """Leave the job; others need not wait for the lease to run out."""
        self._closing = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=3 * self._etcd.timeout + 1)

    def _want(self, state: MemberState, number: int, speech: Announcement) -> None:
        self._wanted = ElasticMember(self.pod, state, number, speech)
        self._wishes += 1
        self._wake.set()

    def _run(self) -> None:
        try:
            while not self._closing:
                try:
                    self._turn()
                except (EtcdAwayError, LeaseLostError) as error:
                    self._note_failure(error)
                self._wake.wait(min(self._interval(), self._ttl / 4))
                self._wake.clear()
            with contextlib.suppress(EtcdAwayError, LeaseLostError):
                self._part()
        except Exception as error:
            # Without this thread the node is as good as gone; whoever waits raises it.
            self.crashed = error
            self._deliver(Expelled(error))
        finally:
            self._watch.close()
            self._etcd.close()

    def _interval(self) -> float:
        """Until the next look by the clock. Nodes under Paddle's launcher change other keys."""
        if self._wanted.state != "busy":
            return _LOOK
        mixed = self.view is None or bool(self.view.foreign)
        calm = time.monotonic() - self._changed > _QUIET
        return _LOOK_WHEN_QUIET if calm and self._watch.works and not mixed else _LOOK_WHEN_BUSY

    def _part(self) -> None:
        turns = 3 if self._wanted.state == "leaving" and self.lease else 0
        while turns and self._turn():
            turns -= 1
        if self.lease:
            self._etcd.revoke(self.lease)

    def _turn(self) -> bool:
        """Look and act once; whether something was written."""
        wishes = self._wishes
        self._hold()
        view = view_of(self._etcd.read(*self.keys.all()), self.keys)
        now = time.monotonic()
        self._note_success(now)
        if self.view is None or view._replace(revision=0) != self.view._replace(revision=0):
            self._changed = now
        changed = self._be_present(view)
        changed = self._take_turn(view, now) or changed
        if not changed:
            self.view, self._fulfilled = view, wishes
            self._report_change(view)
        else:
            # What was seen is history by now.
            self._wake.set()
        return changed

    def _hold(self) -> None:
        now = time.monotonic()
        if self.lease and now - self._renewed > self._ttl / 3:
            try:
                self._etcd.keep(self.lease)
                self._renewed = now
            except LeaseLostError:
                self.lease = 0
        if not self.lease:
            self.lease = self._etcd.grant(self._ttl)
            self._renewed = now

    def _be_present(self, view: EtcdView) -> bool:
        """Have etcd say of this node what it is doing; whether something was written."""
        own, wanted = view.members.get(self.pod), self._wanted
        puts: dict[str, str] = {}
        deletes = []
        if own is None or own.text() != wanted.text():
            puts[self.keys.members + self.pod] = wanted.text()
        beat = self.keys.heartbeats + self.pod
        counted = wanted.state != "leaving" and is_counted(view, self.pod, self.terms.most)
        if counted and (self.pod not in view.heartbeats or self._touches):
            puts[beat] = self.pod
        elif not counted and self.pod in view.heartbeats:
            deletes.append(beat)
        peer_key, text = self.keys.peer(wanted.speech), json.dumps(wanted.speech)
        announces = counted and wanted.state == "ready" and bool(view.foreign)
        if announces and (peer_key not in view.peers or view.peers[peer_key].value != text):
            puts[peer_key] = text
        elif not announces and peer_key in view.peers and wanted.state != "busy":
            deletes.append(peer_key)
        if not puts and not deletes:
            return False
        try:
            self._etcd.write(puts, lease=self.lease, deletes=deletes)
        except LeaseLostError:
            self.lease = 0
            raise
        self._touches = False
        return True

    def _take_turn(self, view: EtcdView, now: float) -> bool:
        following = self._proposed(view) or self._restoration(view) or self._next(view, now)
        if following is None:
            return False
        unchanged = {self.keys.generation: view.generation_revision}
        puts, lease = {self.keys.generation: following.text()}, 0
        if following.state == "running":
            unchanged |= {
                self.keys.members + pod: view.members[pod].modified
                for pod in following.own
                if pod in view.members
            }
        elif following.state == "ended":
            lease = self._etcd.grant(_STAYS_AFTER_END)
            if following.foreign and following.why == "completed":
                puts[self.keys.status] = "completed"
        ended = following.state != "running"
        # Announcements for the world that ends must not be taken for those for the next.
        deletes = [self.keys.peers] if ended and view.peers else []
        older = {} if ended else {self.keys.members: view.revision}
        written = self._etcd.write(
            puts, lease=lease, deletes=deletes, unchanged=unchanged, older=older
        )
        # Nodes under Paddle's launcher restart whenever a heartbeat changes.
        self._touches = written and ended and bool(following.foreign)
        return True

    def _proposed(self, view: EtcdView) -> Generation | None:
        proposal, current = self._proposal, view.generation
        self._proposal = None
        if proposal is None or current is None or current.state != "running":
            return None
        return proposal if proposal.number == current.number else None

    def _restoration(self, view: EtcdView) -> Generation | None:
        """An etcd that came back empty learns from whoever still runs the generation."""
        lost = view.generation is None and self._wanted.state == "busy"
        return self._world if lost else None

    def _next(self, view: EtcdView, now: float) -> Generation | None:
        terms = self.terms
        if now < self._lenient_until:
            # The others may be about to register again, as this node was.
            terms = terms._replace(lost=max(terms.lost, self._lenient()))
        following = next_generation(view, self.pod, terms, self._steady, now)
        if following is not None or is_running(view) or not view.foreign:
            return following
        chosen = who_forms(view, self.pod, terms, self._steady, now)
        if not chosen:
            return None
        return mixed_generation(view, chosen, terms, self.keys, self._flags)

    def _report_change(self, view: EtcdView) -> None:
        world, generation = self._world, view.generation
        if self._wanted.state != "busy" or world is None or generation is None:
            return
        if self._reported == world.number or generation.number < world.number:
            return
        over = generation.number > world.number or generation.state != "running"
        failed = any(
            view.members[pod].state == "failed" and view.members[pod].number == world.number
            for pod in world.own
            if pod in view.members
        )
        # A failure is told by the exchange of facts, with its cause; this is for want of it.
        unheard = self._steady.seconds("failed", failed, time.monotonic()) > _UNREPORTED
        if over or (failed and unheard):
            self._reported = world.number
            self._deliver(WorldChanges(world.number, why_it_changes(generation, world.number)))

    def _note_failure(self, error: Exception) -> None:
        self.error = str(error)
        self.refused = isinstance(error, EtcdRefusedError)
        if self.away_since is None:
            self.away_since = time.monotonic()
        elif not self._complained:
            # Once is no trouble yet: a connection may have been closed meanwhile.
            self._complained = True
            self._deliver(EtcdSilent(self._address, self.error))

    def _note_success(self, now: float) -> None:
        if self.away_since is None:
            return
        self._lenient_until = now + 2 * self._lenient()
        if self._complained:
            self._deliver(EtcdBack(self._address, now - self.away_since))
        self.away_since, self._complained = None, False
        # Nobody could do anything meanwhile: all waiting begins anew.
        self._steady = Steady()

    def _lenient(self) -> float:
        return self._ttl + 2 * self._etcd.timeout

    @property
    def _address(self) -> str:
        return f"{self._etcd.host}:{self._etcd.port}"
