"""Suspects to root causes: equal ones folded, each with confidence, reasons and evidence."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pdtriage.knowledge import Knowledge, Signature
from pdtriage.model import Cause, Confidence, Event, Evidence, Role, Text
from pdtriage.verdict import wording
from pdtriage.verdict.evidence import OWN_VERDICT
from pdtriage.verdict.fingerprint import fingerprint, shape
from pdtriage.verdict.rank_reading import Observation, RankReading
from pdtriage.verdict.suspects import Suspect, fold_equal

MOST_CAUSES = 5
MOST_EVIDENCE = 6
TITLE_QUOTE = 90
"""Characters of a message that a general title carries."""
GUESSED_WHY = frozenset({"memory.killed-line", "memory.loader-killed"})
"""They prove a SIGKILL; that memory was short is only the usual reason for one."""
LAUNCHER_CATEGORIES = ("config.launch", "elastic")
LAUNCHER_WORDS = ("comm.no-free-port",)
"""Signatures of other categories that only a launcher prints."""


def confidence_notes(
    suspects: list[Suspect],
    readings: Sequence[RankReading],
    unanswered: Collection[int] = (),
    *,
    alone: bool = False,
) -> None:
    """Adds to every suspect why it is believed to be the culprit.

    Where a node had fallen silent before (`unanswered`), who died first elsewhere proves little.
    Whose log is the only one here is `alone` only where the job is known to have had no other.
    """
    spoken = [r for r in readings if r.rank.lines]
    shapes = set(_shapes(suspects).values())
    all_alike = len(shapes) == 1 and len(suspects) == len(readings) > 1 and _are_several(suspects)
    for suspect in suspects:
        if suspect.order == 0 and suspect.found:
            suspect.why.append(wording.died_first())
            if unanswered and not (suspect.rank and suspect.rank.node in unanswered):
                suspect.why.append(wording.after_a_silence(unanswered))
            else:
                suspect.certain = True
        if suspect.accusers and suspect.found and suspect.rank:
            suspect.why.append(wording.accused_by(suspect.accusers))
            raised = suspect.found.event.block > 0 and suspect.category != "code.crash"
            told = raised or not suspect.found.signature.generic
            suspect.certain = suspect.certain or (told and suspect.found.event.role == "cause")
        if suspect.found is None or suspect.rank is None:
            if suspect.found and not suspect.why and suspect.role == "worker":
                suspect.why.append(wording.named_by_launcher())
            continue
        if _is_launchers(suspect) and suspect.found.event.role == "cause":
            suspect.why.append(wording.launcher_itself())
            suspect.certain = True
            continue
        if suspect.named:
            continue  # many wrote into one console
        if len(spoken) == len(readings) == 1:
            suspect.why.append(wording.only_process() if alone else wording.only_log())
            # a symptom is no reason, however certain it is who shows it
            enough = suspect.found.event.role == "cause" and not _was_seen_once(suspect)
            suspect.certain = alone and enough
        elif all_alike:
            suspect.why.append(wording.same_on_all(len(readings)))
            suspect.certain = True
        elif len(suspects) == 1:
            suspect.why.append(wording.only_with_error())
        elif not suspect.why:
            suspect.why.append(
                wording.several_suspects() if len(shapes) > 1 else wording.own_error()
            )


def _was_seen_once(suspect: Suspect) -> bool:
    """What has to come again and again came too seldom: the log ended first."""
    found, rank = suspect.found, suspect.rank
    if found is None or rank is None or found.signature.repeats <= 1:
        return False
    seen = sum(event.count for _, event in rank.events if event.signature == found.signature.id)
    return seen < found.signature.repeats


def _are_several(suspects: Sequence[Suspect]) -> bool:
    """A console may show one rank twice: its output, and the end of its log."""
    known = [(s.role, s.rank.rank) for s in suspects if s.rank and s.rank.rank is not None]
    return len(set(known)) == len(known)


def causes_from(suspects: list[Suspect], knowledge: Knowledge) -> tuple[Cause, ...]:
    """The most likely first; at most a handful."""
    groups = fold_equal(suspects, _shapes(suspects))
    causes = [_cause(group, knowledge) for group in groups[:MOST_CAUSES]]
    return tuple(causes)


def _cause(group: list[Suspect], knowledge: Knowledge) -> Cause:
    top = group[0]
    signature = knowledge.signatures[top.signature]
    rank = top.rank
    event = top.found.event if top.found else None
    role: Role = rank.role if rank else "launcher" if top.role == "launcher" else "worker"
    number = rank.rank if rank else _told_rank(top)
    if _is_launchers(top):
        role, number, rank = "launcher", None, None
    named = {s.rank.rank for s in group if s.rank and s.rank.rank is not None and rank}
    if top.named and (rank is not None or role == "worker"):
        number, named = top.named[0], set(top.named)
    text = _said(event) if event else ""
    frame = next((s.found.event.frame for s in group if s.found and s.found.event.frame), None)
    return Cause(
        category=top.category,
        signature=top.signature,
        title=_title(signature, top),
        role=role,
        rank=number,
        ranks=tuple(sorted(named)) or ((number,) if number is not None else ()),
        host=top.host,
        local_rank=rank.local_rank if rank and not top.named else None,
        device=rank.device if rank else None,
        confidence=_confidence(top),
        why=_unique([text for suspect in group[:1] for text in suspect.why]),
        evidence=_evidence(group),
        frame=frame,
        fields=top.fields,
        advice=signature.advice,
        fingerprint=fingerprint(top.signature, top.category, text, frame),
    )


def _title(signature: Signature, top: Suspect) -> Text:
    """A general title says nothing at three in the morning: the message itself goes with it."""
    found = top.found
    if signature.id == "verdict.exit-code":
        return _title_with_code(signature.title, top)
    if found is None or not signature.generic:
        return signature.title
    said = found.event.text.strip().removeprefix("| ")  # the frame drawn around a group's members
    said = said if len(said) <= TITLE_QUOTE else said[: TITLE_QUOTE - 1].rstrip() + "…"
    return Text(f"{signature.title.en}: {said}", f"{signature.title.zh}：{said}")


def _title_with_code(title: Text, top: Suspect) -> Text:
    code = top.fields.get("exit_code")
    en, zh = (f"{title.en} ({code})", f"{title.zh}（{code}）") if code else (title.en, title.zh)
    if any(rank.tail for rank in top.last_words):
        return Text(en, zh)
    return Text(f"{en} and no message", f"{zh}，没有任何信息")


def _told_rank(suspect: Suspect) -> int | None:
    told = suspect.fields.get("rank", "")
    return int(told) if told.isdecimal() and suspect.role == "worker" else None


def _is_launchers(suspect: Suspect) -> bool:
    """What a console shows of it is the launcher's own failure, no process's."""
    launching = suspect.category in LAUNCHER_CATEGORIES or suspect.signature in LAUNCHER_WORDS
    return bool(launching and suspect.found and _from_console(suspect.found, suspect.rank))


def _from_console(found: Observation, rank: object) -> bool:
    return found.event.signature.startswith("launch.") or "console" in found.file or rank is None


def _confidence(top: Suspect) -> Confidence:
    if top.certain and top.signature not in GUESSED_WHY:
        return "proven"
    if top.found is not None and top.found.event.role == "cause":
        return "likely"
    seen = any(found.event.signature == OWN_VERDICT for found in top.support)
    died_first = top.order == 0 or top.first_to_fail
    if seen or top.accusers or died_first or top.signature == "verdict.oom-kill":
        return "likely"
    return "guess"


def _evidence(group: list[Suspect]) -> tuple[Evidence, ...]:
    found: list[Observation] = []
    for suspect in group:
        if suspect.found:
            found.append(suspect.found)
    found.extend(group[0].support)
    seen: dict[tuple[str, int], Evidence] = {}
    for item in found:
        event = item.event
        seen.setdefault(
            (item.file, event.line),
            Evidence(item.file, event.line, event.offset, event.text, event.before, event.after),
        )
    for rank in group[0].last_words:
        if rank.tail and rank.files:
            line = Evidence(rank.files[-1], rank.last_line, rank.last_offset, rank.tail[-1])
            seen.setdefault((line.file, line.line), line)
    return tuple(seen.values())[:MOST_EVIDENCE]


def _said(event: Event) -> str:
    """Its words; Kubernetes' word for it is the same in JSON, in a description and in a table."""
    return event.fields.get("reason", "") if event.signature.startswith("k8s.") else event.text


def _shapes(suspects: Sequence[Suspect]) -> dict[int, str]:
    """What makes two causes one: the words, and the place in the code where it is known.

    A launcher that shows the end of a rank's log again leaves out the place.
    """
    said = {id(s): _shape(s) for s in suspects}
    placed: dict[str, str] = {}
    for suspect in suspects:
        frame = suspect.found.event.frame if suspect.found else None
        if frame:
            placed.setdefault(said[id(suspect)], f"{said[id(suspect)]} {frame.function}")
    shapes = {}
    for suspect in suspects:
        frame = suspect.found.event.frame if suspect.found else None
        own = said[id(suspect)]
        shapes[id(suspect)] = f"{own} {frame.function}" if frame else placed.get(own, own)
    return shapes


def _shape(suspect: Suspect) -> str:
    event = suspect.found.event if suspect.found else None
    if event is None:
        return f"{suspect.signature} {suspect.category}"
    return f"{suspect.signature} {shape(_said(event))}"


def _unique(texts: list[Text]) -> tuple[Text, ...]:
    return tuple(dict.fromkeys(texts))
