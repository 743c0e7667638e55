"""Who did not come to a collective, by what NCCL's RAS answered to somebody who asked it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pdtriage.model import BY_RAS
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.rules.collectives import HANG
from pdtriage.verdict.suspects import Suspect, silent_suspect


class _Named(NamedTuple):
    """Ranks of a communicator that RAS says one thing of."""

    line: Observation
    members: list[Observation]
    """Empty where it does not list them: they are many."""

    @property
    def launched(self) -> int:
        """Operations; one who has launched none has not come to the first."""
        return int(self.line.event.fields.get("sequence", "0"))

    @property
    def number(self) -> int:
        """How many they are."""
        return int(self.line.event.fields.get("replicas", "1"))


class _Subject(NamedTuple):
    """One communicator, and of it one kind of operation: what RAS says of its ranks."""

    group: str
    name: tuple[str, str]
    """The communicator's own, and the operation."""
    unreached: list[_Named]
    launched: list[_Named]

    @property
    def size(self) -> int:
        return sum(named.number for named in self.launched)

    @property
    def furthest(self) -> int:
        return max(named.launched for named in self.launched)

    @property
    def behind(self) -> _Named | None:
        """Those with the fewest operations, where they are so few that RAS lists them."""
        last = min(self.launched, key=lambda named: named.launched)
        return last if last.members and last.launched < self.furthest else None


class _Answer(NamedTuple):
    """What RAS said when it was asked once."""

    sizes: dict[str, int]
    """Ranks in each communicator of a group."""
    subjects: list[_Subject]


def missed_by_ras(evidence: RunEvidence) -> list[Suspect]:
    """The processes that RAS did not reach; else those with fewer operations than the others in
    every communicator that is out of step. A job whose numbers rise does not stand still."""
    answers = _answers(evidence.kernel)
    if not answers or _moved(answers):
        return []
    newest = answers[-1]
    unreached = _unreached(newest, evidence)
    return unreached or _behind(newest, evidence)


def _unreached(answer: _Answer, evidence: RunEvidence) -> list[Suspect]:
    found: dict[int, Suspect] = {}
    for subject in answer.subjects:
        size = answer.sizes.get(subject.group, 0)
        for named in subject.unreached:
            for member in named.members:
                for reading in _ranks_of(member, size, evidence):
                    suspect = _suspect(reading, [member, named.line], wording.UNREACHED_BY_RAS)
                    found.setdefault(id(reading), suspect)
    return list(found.values())


def _behind(answer: _Answer, evidence: RunEvidence) -> list[Suspect]:
    """Who waits in one communicator keeps others waiting in the next: only those are meant that
    are behind in each."""
    everywhere: list[dict[int, Suspect]] = []
    for subject in answer.subjects:
        last = subject.behind if subject.launched else None
        if last is None:
            continue
        others = max(subject.launched, key=lambda named: named.launched)
        why = wording.fewer_operations(last.launched, others.launched, subject.name[1])
        blamed: dict[int, Suspect] = {}
        for member in last.members:
            own = [member, last.line] if member is not last.line else [member]
            support = [*own, others.line]
            for reading in _ranks_of(member, subject.size, evidence):
                blamed[id(reading)] = _suspect(reading, support, why)
        everywhere.append(blamed)
    common = set.intersection(*map(set, everywhere)) if everywhere else set()
    return [suspect for key, suspect in everywhere[0].items() if key in common] if common else []


def _suspect(reading: RankReading, support: Sequence[Observation], why: Text) -> Suspect:
    position = reading.position
    return silent_suspect(HANG, "hang", reading.rank, support, why, position=position)


def _ranks_of(member: Observation, size: int, evidence: RunEvidence) -> list[RankReading]:
    """Whom a line names: by pid, by host and card, or by its number in a communicator of all."""
    fields = member.event.fields
    workers = [r for r in evidence.readings if r.rank.role == "worker"]
    if "ranks" in fields:
        named = [_by_number(n, size, workers, evidence) for n in _numbers(fields["ranks"])]
        return [reading for found in named for reading in found]
    host, pid, card = fields.get("host"), fields.get("pid", ""), fields.get("device", "")
    there = [r for r in workers if host and host in (r.rank.host, *r.rank.addresses)]
    for among in (there, workers):
        by_pid = [r for r in among if pid.isdecimal() and int(pid) in r.rank.pids]
        if len(by_pid) == 1:
            return by_pid
    by_card = [r for r in there if card and _numbers(r.rank.device or "") == _numbers(card)[-1:]]
    if len(by_card) == 1:
        return by_card
    number = fields.get("rank")
    return [] if number is None else _by_number(int(number), size, workers, evidence)


def _by_number(
    number: int, size: int, workers: Sequence[RankReading], evidence: RunEvidence
) -> list[RankReading]:
    world = evidence.facts.world_size or len(workers)
    found = [r for r in workers if r.rank.rank == number]
    return found if size == world and len(found) == 1 else []


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def _moved(answers: Sequence[_Answer]) -> bool:
    """Whether some communicator got further between the last two answers."""
    known = {s.name: s.furthest for answer in answers[-2:-1] for s in answer.subjects if s.launched}
    newest = ((s.name, s.furthest) for s in answers[-1].subjects if s.launched)
    return any(known.get(name, furthest) != furthest for name, furthest in newest)


def _answers(lines: Iterable[Observation]) -> list[_Answer]:
    """The lines of RAS sorted by answer and subject: each begins with the table of groups."""
    answers: list[_Answer] = []
    group, communicator, in_table = "", "", False
    named: _Named | None = None
    for line in lines:
        fields = line.event.fields
        if line.says("ras-group"):
            if not in_table:
                answers.append(_Answer({}, []))
            in_table, named = True, None
            answers[-1].sizes[fields.get("sequence", "")] = int(fields.get("replicas", "0"))
            continue
        if not answers or not line.says(*BY_RAS):
            continue
        in_table = False
        subjects = answers[-1].subjects
        if line.says("ras-subject"):
            group, named = fields.get("sequence", group), None
            communicator = fields.get("symbol", communicator)
            name = communicator, fields.get("operator", "")
            subjects.append(_Subject(group, name, [], []))
        elif line.says("ras-member"):
            if named is not None:
                named.members.append(line)
        else:
            named = _Named(line, [line] if "rank" in fields else [])
            if not subjects:
                subjects.append(_Subject("", ("", ""), [], []))
            kept = subjects[-1].launched if line.says("ras-launched") else subjects[-1].unreached
            kept.append(named)
    return answers
