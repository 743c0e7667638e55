"""Suspects to root causes: equal ones folded, each with confidence, reasons and evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pdtriage.knowledge import Signature
from pdtriage.knowledge.slots import SCRIPT, steps_with, title_with, title_with_message
from pdtriage.model import Cause, Evidence, Frame, Role, Text
from pdtriage.support.lazy_regex import lazy_compile
from pdtriage.verdict.confidence import confidence_in, lineup_of, with_reasons
from pdtriage.verdict.evidence import RunEvidence
from pdtriage.verdict.fingerprint import fingerprint, shape
from pdtriage.verdict.rank_reading import Observation
from pdtriage.verdict.rules.deaths import EXIT_CODE
from pdtriage.verdict.suspects import Suspect

MOST_CAUSES = 5
ABOVE, BELOW = 40, 10
"""Lines around a message that tell how it came to it."""
_PACKED = lazy_compile(r"://|\.(?:tar|tgz|zip|7z|gz|bz2|xz|lzma|zst|lz4|br|Z)(?:/|$)|^<|^-$")
"""Not a file that other programs can read as it is: in an archive, compressed, elsewhere."""
MOST_EVIDENCE = 6


def causes_from(suspects: Sequence[Suspect], evidence: RunEvidence) -> tuple[Cause, ...]:
    """Root causes made of suspects, equal ones folded: the most likely first, at most a handful."""
    shapes = _shapes(suspects)
    lineup = lineup_of(suspects, shapes, evidence)
    groups: dict[tuple[str, str], list[Suspect]] = {}
    for suspect, shape_of_it in zip(suspects, shapes, strict=True):
        # server 1 is not rank 1, though both fail alike
        role = suspect.rank.role if suspect.rank else None
        serves = role in ("server", "heter", "coordinator")
        groups.setdefault((f"{role}" if serves else "", shape_of_it), []).append(suspect)
    return tuple(
        _cause(with_reasons(group[0], lineup, evidence), group, evidence)
        for group in list(groups.values())[:MOST_CAUSES]
    )


def _cause(top: Suspect, group: Sequence[Suspect], evidence: RunEvidence) -> Cause:
    """One root cause of a group of equal suspects; `top` is the first of them with its reasons."""
    signature = evidence.signatures[top.signature]
    rank = None if top.is_launchers else top.rank
    role, ranks = _role_and_ranks(top, group)
    words = _words(top.found) if top.found else ""
    frame = next((s.found.event.frame for s in group if s.found and s.found.event.frame), None)
    frame = frame or top.frame
    values = _values(top, frame, evidence.facts.arguments)
    title = _title(signature, top, values)
    return Cause(
        category=top.category,
        signature=top.signature,
        title=title,
        role=role,
        rank=rank.rank if rank and not top.named else ranks[0] if ranks else None,
        ranks=ranks,
        host=top.host,
        local_rank=rank.local_rank if rank and not top.named else None,
        device=rank.device if rank else None,
        confidence=confidence_in(top, evidence),
        why=tuple(dict.fromkeys(top.why)),
        evidence=_evidence(top, group),
        frame=frame,
        fields=top.fields,
        advice=steps_with(signature, values, values.get("message", title.en)),
        fingerprint=fingerprint(top.signature, top.category, words, frame),
    )


def _values(top: Suspect, frame: Frame | None, arguments: Sequence[str]) -> dict[str, str]:
    """What the texts of a signature can tell besides what its pattern captured."""
    known = {"host": top.host, "rank": top.rank and top.rank.rank}
    known["code"] = f"{frame.file}:{frame.line}" if frame else None
    known["message"] = top.found.event.text if top.found else None
    known["script"] = next((word for word in arguments if word.endswith(".py")), SCRIPT)
    log, line = _log_and_line(top)
    if log and not _PACKED.search(log):
        known |= {"log": log, "lines": f"{max(1, line - ABOVE)},{line + BELOW}" if line else None}
    return {name: str(value) for name, value in known.items() if value is not None} | dict(
        top.fields
    )


def _log_and_line(top: Suspect) -> tuple[str | None, int]:
    """The log to look at, and the line; that of whoever said nothing is looked at from its end.

    A rank of which only another node told, and no line, has the name of its host for a log."""
    if top.found:
        return top.found.file, top.found.event.line
    silent = next((rank for rank in (*top.last_words, top.rank) if rank and rank.files), None)
    if silent is None or silent.files[-1] == silent.host:
        return None, 0
    return silent.files[-1], 0


def _role_and_ranks(top: Suspect, group: Sequence[Suspect]) -> tuple[Role, tuple[int, ...]]:
    """Whose fault it is: the role, and all ranks that show the same."""
    if top.is_launchers:
        return "launcher", ()
    role: Role = top.rank.role if top.rank else "launcher" if top.role == "launcher" else "worker"
    if top.named and (top.rank or role == "worker"):
        return role, tuple(sorted(set(top.named)))
    if top.rank:
        numbers = {s.rank.rank for s in group if s.rank and s.rank.rank is not None}
        return role, tuple(sorted(numbers))
    told = top.fields.get("rank", "")
    return role, (int(told),) if told.isdecimal() and top.role == "worker" else ()


def _title(signature: Signature, top: Suspect, values: Mapping[str, str]) -> Text:
    """A general title says nothing at three in the morning: the message itself goes with it."""
    found = top.found
    if signature.id == EXIT_CODE:
        return _title_with_code(signature.title, top)
    if found is None or not signature.generic or signature.full_title:
        return title_with(signature, values)
    return title_with_message(signature.title, found.event.text)


def _title_with_code(title: Text, top: Suspect) -> Text:
    code = top.fields.get("exit_code")
    en, zh = (f"{title.en} ({code})", f"{title.zh}（{code}）") if code else (title.en, title.zh)
    if any(rank.tail for rank in top.last_words):
        return Text(en, zh)
    return Text(f"{en} and no message", f"{zh}，没有任何信息")


def _evidence(top: Suspect, group: Sequence[Suspect]) -> tuple[Evidence, ...]:
    seen: dict[tuple[str, int], Evidence] = {}
    for found in (*(s.found for s in group if s.found), *top.support):
        event = found.event
        seen.setdefault(
            found.where,
            Evidence(found.file, event.line, event.offset, event.text, event.before, event.after),
        )
    for rank in top.last_words:
        if rank.tail and rank.files:
            line = Evidence(rank.files[-1], rank.last_line, rank.last_offset, rank.tail[-1])
            seen.setdefault((line.file, line.line), line)
    return tuple(seen.values())[:MOST_EVIDENCE]


def _words(found: Observation) -> str:
    """What it says; Kubernetes' word is the same in JSON, in a description and in a table."""
    event = found.event
    return event.fields.get("reason", "") if found.says("by-cluster") else event.text


def _shapes(suspects: Sequence[Suspect]) -> list[str]:
    """What makes two causes one: the words, and the place in the code where it is known.

    A launcher that shows the end of a rank's log again leaves out the place.
    """
    own = [_shape(suspect) for suspect in suspects]
    frames = [suspect.found.event.frame if suspect.found else None for suspect in suspects]
    placed: dict[str, str] = {}
    for words, frame in zip(own, frames, strict=True):
        if frame:
            placed.setdefault(words, f"{words} {frame.function}")
    return [
        f"{words} {frame.function}" if frame else placed.get(words, words)
        for words, frame in zip(own, frames, strict=True)
    ]


def _shape(suspect: Suspect) -> str:
    if suspect.found is None:
        return f"{suspect.signature} {suspect.category}"
    return f"{suspect.signature} {shape(_words(suspect.found))}"
