"""What a bad run has, lacks or was given that the last good one did not. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pdtriage.knowledge import Knowledge
from pdtriage.model import Difference, DifferenceKind, Event, Rank, RunFacts, Text
from pdtriage.model.kinds import process_name

MOST_PRINTED = 12
SHOWN = 200
# They name one run, one node or one rank, and are never the same twice.
_OF_ONE_RUN = frozenset(
    {
        *("PADDLE_CURRENT_ENDPOINT", "PADDLE_MASTER", "PADDLE_PORT", "PADDLE_TRAINER_ENDPOINTS"),
        *("PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_HETER_TRAINER_IP_PORT_LIST", "POD_NAME"),
        *("PADDLE_ELASTIC_JOB_ID", "PADDLE_JOB_ID", "POD_IP"),
    }
)
_OF_ONE_RANK = _OF_ONE_RUN | {
    *("PADDLE_TRAINER_ID", "PADDLE_GLOBAL_RANK", "PADDLE_LOCAL_RANK", "PADDLE_RANK_IN_NODE"),
    *("FLAGS_selected_gpus", "FLAGS_selected_xpus", "FLAGS_selected_npus"),
    *("FLAGS_selected_accelerators", "PADDLE_LOCAL_DEVICE_IDS", "TRAINING_ROLE", "PADDLE_ROLE"),
    *("CUDA_VISIBLE_DEVICES", "STAGE_ID", "HETER_DEVICE_TYPE"),
}
_TELLING = ("cause", "symptom", "context", "start", "end")


def differences_between(
    bad: RunFacts,
    good: RunFacts,
    knowledge: Knowledge,
    told: Collection[str] = (),
    lines: Sequence[Difference] = (),
) -> tuple[Difference, ...]:
    """How the bad run differs from the good one, the most telling first.

    Signatures in `told` are the failure itself, which the report shows above; `lines` are those
    that only one of the runs printed.
    """
    shown = {line.place for line in lines}
    return (
        *_progress_differences(bad, good),
        *lines,
        *_size(bad, good),
        *_setting_differences(
            "launcher", {"launcher": bad.started_by}, {"launcher": good.started_by}
        ),
        *_setting_differences("launcher", {"mode": bad.mode}, {"mode": good.mode}),
        *_setting_differences("version", bad.versions, good.versions),
        *_arguments(bad, good),
        *_environment(bad, good),
        *_event_differences(bad, good, knowledge, {*told}, shown),
    )


def differences_of_ranks(facts: RunFacts) -> tuple[Difference, ...]:
    """Variables that should be the same on every rank of a role, and are not."""
    found = []
    for role in dict.fromkeys(rank.role for rank in facts.ranks):
        ranks = [rank for rank in facts.ranks if rank.role == role and rank.environment]
        environments = [rank.environment for rank in ranks]
        for name in sorted(set().union(*environments) - _OF_ONE_RANK):
            told = [environment.get(name, "") for environment in environments]
            if len(set(told)) > 1:
                values: dict[str, list[Rank]] = {}
                for rank, value in zip(ranks, told, strict=True):
                    values.setdefault(value, []).append(rank)
                found.append(_unlike(name, values))
    return tuple(found)


def _progress_differences(bad: RunFacts, good: RunFacts) -> Iterator[Difference]:
    ours, theirs = _furthest(bad.ranks), _furthest(good.ranks)
    if theirs is None or (ours is not None and ours >= theirs):
        return
    before, after = _step(theirs), _step(ours)
    yield Difference(
        "reached",
        Text(
            f"the good run reached {before.en}, this one {after.en}",
            f"正常的运行到达{before.zh}，这次{after.zh}",
        ),
        before.en,
        after.en,
    )


def _furthest(ranks: Iterable[Rank]) -> tuple[int, int] | None:
    steps = [(step.epoch or 0, step.step) for rank in ranks for step in rank.progress]
    return max(steps, default=None)


def _step(reached: tuple[int, int] | None) -> Text:
    if reached is None:
        return Text("no step", "没有完成任何一步")
    epoch, step = reached
    if not epoch:
        return Text(f"step {step}", f"第 {step} 步")
    return Text(f"epoch {epoch} step {step}", f"第 {epoch} 轮第 {step} 步")


def _size(bad: RunFacts, good: RunFacts) -> Iterator[Difference]:
    if bad.world_size and good.world_size and bad.world_size != good.world_size:
        before, after = str(good.world_size), str(bad.world_size)
        yield Difference(
            "size",
            Text(f"{before} ranks before, {after} now", f"之前 {before} 个 rank，现在 {after} 个"),
            before,
            after,
        )
    ours, theirs = _hosts(bad), _hosts(good)
    if ours and theirs and ours != theirs:
        gone, new = sorted(theirs - ours), sorted(ours - theirs)
        before, after = ", ".join(gone) or "-", ", ".join(new) or "-"
        yield Difference(
            "hosts",
            Text(f"hosts gone: {before}; new: {after}", f"少了主机：{before}；多了：{after}"),
            ", ".join(sorted(theirs)),
            ", ".join(sorted(ours)),
        )


def _hosts(facts: RunFacts) -> set[str]:
    named = {rank.host for rank in facts.ranks} | {node.host for node in facts.nodes}
    return {host for host in named if host}


def _arguments(bad: RunFacts, good: RunFacts) -> Iterator[Difference]:
    if not (bad.arguments and good.arguments) or bad.arguments == good.arguments:
        return
    before, after = " ".join(good.arguments), " ".join(bad.arguments)
    gone = [word for word in good.arguments if word not in bad.arguments]
    new = [word for word in bad.arguments if word not in good.arguments]
    shown = (" ".join(gone) or "-")[:SHOWN], (" ".join(new) or "-")[:SHOWN]
    yield Difference(
        "arguments",
        Text(
            f"arguments before: {shown[0]}; now: {shown[1]}",
            f"参数之前是：{shown[0]}；现在是：{shown[1]}",
        ),
        before,
        after,
    )


def _environment(bad: RunFacts, good: RunFacts) -> Iterator[Difference]:
    """The same change on many ranks is told once."""
    theirs = {(rank.role, rank.rank): rank.environment for rank in good.ranks}
    changes: dict[tuple[str, str, str], list[Rank]] = {}
    for rank in bad.ranks:
        before = theirs.get((rank.role, rank.rank))
        if not before or not rank.environment:
            continue
        for name in sorted({*before, *rank.environment} - _OF_ONE_RUN):
            values = (before.get(name, ""), rank.environment.get(name, ""))
            if values[0] != values[1]:
                changes.setdefault((name, *values), []).append(rank)
    for (name, old, new), ranks in changes.items():
        yield from _setting_differences("environment", {name: new}, {name: old}, _few(ranks))


def _setting_differences(
    kind: DifferenceKind, ours: Mapping[str, str], theirs: Mapping[str, str], where: str = ""
) -> Iterator[Difference]:
    if not ours or not theirs:
        return
    place = f" ({where})" if where else ""
    for name in sorted({*ours, *theirs}):
        before, after = theirs.get(name, ""), ours.get(name, "")
        if before == after or "unknown" in (before, after):
            continue
        old, new = before[:SHOWN] or "-", after[:SHOWN] or "-"
        yield Difference(
            kind,
            Text(
                f"{name}: {old} before, {new} now{place}", f"{name}：之前 {old}，现在 {new}{place}"
            ),
            before or None,
            after or None,
        )


def _event_differences(
    bad: RunFacts, good: RunFacts, knowledge: Knowledge, told: set[str], shown: set[str | None]
) -> Iterator[Difference]:
    ours, theirs = _first_events(bad), _first_events(good)
    for kind, only in (("printed", ours.keys() - theirs), ("missing", theirs.keys() - ours)):
        places = ours if kind == "printed" else theirs
        known = {
            knowledge.signatures[name].title.en: name
            for name in reversed(places)
            if name in only - told and name in knowledge.signatures
        }
        for name in list(reversed(known.values()))[:MOST_PRINTED]:
            file, event = places[name]
            place = f"{file}:{event.line}"
            title = knowledge.signatures[name].title
            if place in shown or (kind == "missing" and event.role != "start"):
                continue  # what a good run survived, and that it ended, tells nothing
            if kind == "printed":
                said = Text(f"only this run: {title.en}", f"只有这次出现：{title.zh}")
                yield Difference("printed", said, None, event.text, place)
            else:
                said = Text(f"only the good run: {title.en}", f"只有正常的运行出现：{title.zh}")
                yield Difference("missing", said, event.text, None, place)


def _first_events(facts: RunFacts) -> dict[str, tuple[str, Event]]:
    """The first place of every kind of event, causes first."""
    spoken = [pair for rank in facts.ranks for pair in rank.events]
    spoken += facts.launcher
    telling = [(file, event) for file, event in spoken if event.role in _TELLING]
    telling.sort(key=lambda pair: _TELLING.index(pair[1].role))
    found: dict[str, tuple[str, Event]] = {}
    for file, event in telling:
        found.setdefault(event.signature, (file, event))
    return found


def _unlike(name: str, values: Mapping[str, list[Rank]]) -> Difference:
    parts = [f"{value[:SHOWN] or '-'} ({_few(ranks)})" for value, ranks in values.items()]
    shown = "; ".join(parts[:4])
    return Difference(
        "ranks", Text(f"{name} differs: {shown}", f"{name} 不一致：{shown}"), None, shown
    )


def _name(rank: Rank) -> str:
    number = rank.rank if rank.rank is not None else rank.local_rank
    return f"{process_name(rank.role, number)}{' ?' * (number is None)}"


def _few(ranks: list[Rank]) -> str:
    if len(ranks) <= 4:
        return ", ".join(map(_name, ranks))
    return f"{', '.join(map(_name, ranks[:3]))} ... {len(ranks)}"
