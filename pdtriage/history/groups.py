"""What the runs of a history tell together: equal failures, and whose machines they met.

Pure: the same runs give the same answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import sqrt

from pdtriage.history.entry import CauseEntry, RunEntry
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

_Z = 1.96
_NameOf = Callable[[str | None, str | None], str | None]
_BlamedOf = Callable[[CauseEntry], str | None]


class FailureGroup(NamedTuple):
    """Runs that failed the same way, oldest first, and what was to blame in the newest."""

    fingerprint: str
    cause: CauseEntry
    runs: tuple[RunEntry, ...]
    hosts: tuple[tuple[str, int], ...]
    cards: tuple[tuple[str, int], ...]
    steps: tuple[int, ...]
    """After how many steps, where that is known; in order of size."""
    before: RunEntry | None
    """The last run of the same job, or from the same place, that went well before the first."""

    @property
    def first_seen(self) -> float | None:
        return min(_times(self.runs), default=None)

    @property
    def last_seen(self) -> float | None:
        return max(_times(self.runs), default=None)


class Wear(NamedTuple):
    """How often a host or a card was to blame, of the runs it took part in."""

    name: str
    blamed: int
    used: int
    categories: tuple[tuple[str, int], ...]
    last_seen: float | None

    @property
    def least_share(self) -> float:
        """The lower bound of the share of bad runs (Wilson, 95 %): one of one proves little."""
        n, p = self.used, self.blamed / self.used
        root = sqrt(p * (1 - p) / n + _Z**2 / (4 * n * n))
        return max(0.0, (p + _Z**2 / (2 * n) - _Z * root) / (1 + _Z**2 / n))


class Ranking(NamedTuple):
    """The worst first."""

    hosts: tuple[Wear, ...]
    cards: tuple[Wear, ...]


def groups_of(runs: Sequence[RunEntry]) -> list[FailureGroup]:
    """One for each fingerprint, the most frequent first, then the newest."""
    members: dict[str, list[tuple[RunEntry, CauseEntry]]] = {}
    for run in runs:
        for cause in run.causes[:1]:
            members.setdefault(cause.fingerprint, []).append((run, cause))
    groups = [_group(print_, some, runs) for print_, some in members.items()]
    return sorted(groups, key=lambda g: (-len(g.runs), -(g.last_seen or 0), g.fingerprint))


def _group(
    fingerprint: str, members: Sequence[tuple[RunEntry, CauseEntry]], runs: Sequence[RunEntry]
) -> FailureGroup:
    hosts = Counter(cause.host for _, cause in members if cause.host)
    cards = Counter(card for _, cause in members if (card := card_name(cause.host, cause.device)))
    steps = sorted(run.last_step for run, _ in members if run.last_step is not None)
    return FailureGroup(
        fingerprint,
        members[-1][1],
        tuple(run for run, _ in members),
        tuple(hosts.most_common()),
        tuple(cards.most_common()),
        tuple(steps),
        _good_before(members[0][0], runs),
    )


def _good_before(first: RunEntry, runs: Sequence[RunEntry]) -> RunEntry | None:
    return next(
        (
            run
            for run in reversed(runs[: runs.index(first)])
            if run.verdict == "succeeded" and is_same_job(run, first)
        ),
        None,
    )


def is_same_job(one: RunEntry, other: RunEntry) -> bool:
    """`default` is what a job is called that nobody named."""
    return one.place == other.place or (one.job == other.job and one.job not in (None, "default"))


def changes_since(good: RunEntry | None, first: RunEntry) -> list[Text]:
    """What was new when a failure first came: against the good run before it, as far as known."""
    changes = [Text(words, words) for words in first.changes]
    if good is None:
        return changes
    pairs = (
        (Text("world size", "进程数"), good.world_size, first.world_size),
        (Text("launcher", "启动器"), good.launcher, first.launcher),
        (Text("hosts", "主机"), _hosts(good), _hosts(first)),
    )
    changes += [
        Text(f"{what.en}: {was} → {now}", f"{what.zh}：{was} → {now}")
        for what, was, now in pairs
        if was and now and was != now
    ]
    return changes


def _hosts(run: RunEntry) -> str:
    return ", ".join(sorted({host for host, _ in run.used if host}))


def ranking_of(runs: Sequence[RunEntry]) -> Ranking:
    """Hosts and cards by how often they were to blame against how often they were used.

    What several ranks met alike speaks against none of their cards.
    """
    return Ranking(
        _wear(runs, lambda host, _: host, lambda cause: cause.host),
        _wear(
            runs,
            card_name,
            lambda cause: card_name(cause.host, cause.device) if cause.ranks <= 1 else None,
        ),
    )


def _wear(runs: Sequence[RunEntry], name_of: _NameOf, blamed_of: _BlamedOf) -> tuple[Wear, ...]:
    used: Counter[str] = Counter()
    blamed: dict[str, list[tuple[RunEntry, CauseEntry]]] = {}
    for run in runs:
        accused = {name: cause for cause in run.causes if (name := blamed_of(cause))}
        names = {name for host, device in run.used if (name := name_of(host, device))}
        used.update(names | set(accused))
        for name, cause in accused.items():
            blamed.setdefault(name, []).append((run, cause))
    wear = [
        Wear(
            name,
            len(cases),
            used[name],
            tuple(Counter(cause.category for _, cause in cases).most_common()),
            max(_times(run for run, _ in cases), default=None),
        )
        for name, cases in blamed.items()
    ]
    return tuple(sorted(wear, key=lambda one: (-one.least_share, -one.blamed, one.name)))


def card_name(host: str | None, device: str | None) -> str | None:
    return f"{host or '?'} {device}" if device and device != "cpu" else None


def _times(runs: Iterable[RunEntry]) -> list[float]:
    return [time for run in runs if (time := run.ended or run.started) is not None]
