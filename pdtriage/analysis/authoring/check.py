"""Is what the tool knows sound? Every signature is tried on its own samples and on all others'."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import regex

from pdtriage.analysis.authoring.new import LITERAL_BYTES, parts_to_fill_in
from pdtriage.analysis.authoring.trial import runs_away
from pdtriage.knowledge.load import shipped_folder
from pdtriage.knowledge.signature import Format, Knowledge, Signature
from pdtriage.knowledge.slots import ALWAYS, OF_A_DEATH, TITLE_COLUMNS, slots_in
from pdtriage.model import Event, FileFacts, FileKind, LogFile, Text
from pdtriage.scan import Engine, scan
from pdtriage.support.lazy_regex import PATTERN_SECONDS
from pdtriage.support.text_width import columns

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SAMPLES, MISSES = 2, 1
BLAMING = frozenset({"cause", "symptom", "victim"})
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_GROUPS = re.compile(r"\(\?P<(\w+)>")


@dataclass(frozen=True, slots=True)
class Problem:
    where: str
    """Id of the signature or format, or the path of a file."""
    message: Text


def check(
    knowledge: Knowledge, healthy: Sequence[Path] = (), folders: Sequence[Path] | None = None
) -> list[Problem]:
    """All that is wrong with `knowledge`; empty when it may be shipped.

    `healthy` are files or folders of logs in which nothing failed. `folders` are those the
    knowledge was read from (default: the shipped one), looked through for ids given twice.
    """
    folders = [shipped_folder()] if folders is None else folders
    problems = [*_duplicate_ids(folders)]
    sound: dict[str, Signature] = {}
    for signature in knowledge.signatures.values():
        broken = list(_unreadable(signature))
        problems += broken
        problems += _wording(signature)
        problems += _unknown_targets(signature, knowledge)
        runaway = [] if broken else list(_runaway(signature))
        problems += runaway
        if not broken and not runaway:  # such a pattern would wait for its time limit again
            sound[signature.id] = signature
    wrong: set[Format] = set()
    scanned = (*knowledge.prefixes, *knowledge.clocks, *knowledge.counters)
    searched = (
        *(*knowledge.finishes, *knowledge.remainders),
        *(*knowledge.recoveries, *knowledge.troubles, *knowledge.unfinished),
    )
    for form in (*scanned, *searched):
        if found := list(_format(form)):
            problems += found
            wrong.add(form)
    usable = Knowledge(
        signatures=sound,
        prefixes=tuple(form for form in knowledge.prefixes if form not in wrong),
        clocks=tuple(form for form in knowledge.clocks if form not in wrong),
        counters=tuple(form for form in knowledge.counters if form not in wrong),
    )
    problems += _samples(usable)
    problems += _healthy(usable, healthy)
    return problems


def _duplicate_ids(folders: Sequence[Path]) -> Iterator[Problem]:
    """Inside one folder; a later folder may replace what an earlier one says."""
    for folder in folders:
        seen: dict[str, str] = {}
        for path in sorted(folder.glob("*.toml")) if folder.is_dir() else [folder]:
            for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("signature", []):
                name = str(entry.get("id"))
                if name in seen:
                    yield Problem(
                        name,
                        Text(
                            f"is defined in {seen[name]} and again in {path.name}",
                            f"在 {seen[name]} 和 {path.name} 中重复定义",
                        ),
                    )
                seen[name] = path.name


def _unreadable(signature: Signature) -> Iterator[Problem]:
    for pattern in filter(None, (signature.pattern, signature.stack)):
        try:
            regex.compile(pattern)
        except regex.error as error:
            yield Problem(
                signature.id, Text(f"the pattern is wrong: {error}", f"正则表达式有误：{error}")
            )


def _wording(signature: Signature) -> Iterator[Problem]:
    name = signature.id
    few = len(signature.samples) < SAMPLES or len(signature.misses) < MISSES
    if few and signature.trigger != "verdict":  # that one is concluded, not read
        yield Problem(
            name,
            Text(
                f"needs {SAMPLES} samples and {MISSES} miss, has {len(signature.samples)} and "
                f"{len(signature.misses)}",
                f"至少需要 {SAMPLES} 个 samples 和 {MISSES} 个 misses，现有 "
                f"{len(signature.samples)} 和 {len(signature.misses)}",
            ),
        )
    for part in parts_to_fill_in(signature):
        yield Problem(
            name, Text(f"{part}: still the text of the skeleton", f"{part}：仍是模板中的文字")
        )
    for literal in signature.literals:
        if len(literal.encode()) < LITERAL_BYTES:
            yield Problem(name, Text(f"literal {literal!r} is too short", f"{literal!r} 太短"))
    for title in (signature.title.en, signature.title.zh):
        if columns(title) > TITLE_COLUMNS or "\n" in title:
            yield Problem(
                name,
                Text(
                    f"a title is one line of at most {TITLE_COLUMNS} columns: {title!r}",
                    f"标题只能有一行，且不超过 {TITLE_COLUMNS} 列：{title!r}",
                ),
            )
    blaming = signature.role in ("cause", "symptom")
    if blaming and (signature.meaning is None or not signature.advice):
        yield Problem(name, Text("needs a meaning and advice", "需要 meaning 和 advice"))
    if signature.retry is not None and not blaming:
        yield Problem(
            name,
            Text(
                f"retry says nothing for a {signature.role}: it never ends a job",
                f"retry 对 {signature.role} 没有意义：它不会导致任务结束",
            ),
        )
    yield from _empty_slots(signature)
    for text in (
        signature.title,
        signature.full_title,
        signature.meaning,
        signature.confirm,
        *signature.advice,
        *(step for case in signature.cases for step in case.advice),
    ):
        if text is not None and not _is_translated(text):
            yield Problem(name, Text(f"is not translated: {text.en!r}", f"没有翻译：{text.en!r}"))


def _empty_slots(signature: Signature) -> Iterator[Problem]:
    """What no pattern captures is never filled in."""
    captured = set(_GROUPS.findall(signature.pattern or "")).union(ALWAYS)
    if signature.trigger == "verdict":
        captured.update(OF_A_DEATH)
    texts = (signature.full_title, signature.confirm, *signature.advice)
    asked = slots_in(*texts) - captured
    for case in signature.cases:
        asked |= slots_in(*case.advice) - captured - set(_GROUPS.findall(case.pattern))
    for name in sorted(asked):
        yield Problem(
            signature.id,
            Text(
                f"the slot {{{name}}} stays empty: the pattern captures no {name}",
                f"{{{name}}} 永远为空：pattern 没有捕获 {name}",
            ),
        )
    for text in (*texts, *(step for case in signature.cases for step in case.advice)):
        if text and slots_in(Text(text.en, "")) != slots_in(Text("", text.zh)):
            yield Problem(
                signature.id,
                Text(
                    f"the languages have different slots: {text.en!r}",
                    f"两种语言的占位符不同：{text.zh!r}",
                ),
            )
    if slots_in(signature.title, signature.meaning):
        yield Problem(
            signature.id,
            Text(
                "title and meaning have no slots: values go into full_title and advice",
                "title 和 meaning 不能有 {…}：请写在 full_title 和 advice 中",
            ),
        )
    if signature.full_title and not slots_in(signature.full_title):
        yield Problem(signature.id, Text("full_title has no slot", "full_title 中没有 {…}"))


def _is_translated(text: Text) -> bool:
    """English in `en`, Chinese in `zh`; a bare command or value may be the same in both."""
    if text.en == text.zh:
        if text.en == "{message}":
            return True
        return text.en[:1].islower() and not _CHINESE.search(text.en)
    return not _CHINESE.search(text.en) and bool(_CHINESE.search(text.zh))


def _unknown_targets(signature: Signature, knowledge: Knowledge) -> Iterator[Problem]:
    for target in signature.explains:
        prefix = target[:-1] if target.endswith(".*") else None
        known = (
            any(other.startswith(prefix) for other in knowledge.signatures)
            if prefix
            else target in knowledge.signatures
        )
        if not known:
            yield Problem(
                signature.id,
                Text(
                    f"explains {target!r}, which does not exist", f"explains 中的 {target!r} 不存在"
                ),
            )


def _runaway(signature: Signature) -> Iterator[Problem]:
    cases = [case.pattern for case in signature.cases]
    for pattern in filter(None, (signature.pattern, signature.stack, *cases)):
        hostile = runs_away(
            pattern, [*signature.literals[:1], *(sample[:400] for sample in signature.samples[:2])]
        )
        if hostile is not None:
            yield _ran_away(signature.id, hostile)


def _format(form: Format) -> Iterator[Problem]:
    try:
        pattern = regex.compile(form.pattern)
    except regex.error as error:
        yield Problem(form.id, Text(f"the pattern is wrong: {error}", f"正则表达式有误：{error}"))
        return
    if not form.samples or not form.misses:
        yield Problem(form.id, Text("needs a sample and a miss", "需要 samples 和 misses"))
    hostile = runs_away(form.pattern, form.samples)
    if hostile is not None:
        yield _ran_away(form.id, hostile)
        return
    for wanted, lines in ((True, form.samples), (False, form.misses)):
        for line in lines:
            try:
                found = pattern.search(line, timeout=PATTERN_SECONDS)
            except TimeoutError:
                yield _ran_away(form.id, repr(line))
                return
            if bool(found) is not wanted:
                yield Problem(form.id, _mismatch(line, wanted, ()))


def _ran_away(where: str, hostile: str) -> Problem:
    return Problem(
        where,
        Text(
            f"the pattern can run away, for instance on {hostile}",
            f"正则表达式可能失控，例如遇到 {hostile}",
        ),
    )


def _samples(knowledge: Knowledge) -> Iterator[Problem]:
    engine = Engine(knowledge)
    noise = {
        s.id: s._replace(role="context") for s in knowledge.signatures.values() if s.role == "noise"
    }
    quiet_engine = Engine(knowledge._replace(signatures=noise))  # noise itself leaves no event
    disputes: dict[tuple[str, ...], str] = {}
    for signature in knowledge.signatures.values():
        own = quiet_engine if signature.role == "noise" else engine
        kind = signature.kinds[0] if signature.kinds else "worker"
        for wanted, texts in ((True, signature.samples), (False, signature.misses)):
            for text in texts:
                found = _events(text, own, kind)
                if any(event.signature == signature.id for event in found) is not wanted:
                    others = [event.signature for event in found]
                    yield Problem(signature.id, _mismatch(text, wanted, others))
        for text in signature.samples:
            found = _events(text, engine, kind)
            if signature.role == "noise":
                yield from _not_silenced(signature, text, found)
            for line, claimants in _disputed_lines(found):
                disputes.setdefault(claimants, line)
    for claimants, line in disputes.items():
        yield Problem(
            " / ".join(claimants),
            Text(
                f"causes of different category claim the same line: {_short(line)}",
                f"不同类别的原因都匹配同一行：{_short(line)}",
            ),
        )


def _disputed_lines(events: Iterable[Event]) -> Iterator[tuple[str, tuple[str, ...]]]:
    by_line: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        if event.role == "cause":
            by_line[event.line].append(event)
    for claims in by_line.values():
        if len({event.category for event in claims}) > 1:
            yield claims[0].text, tuple(sorted({event.signature for event in claims}))


def _not_silenced(signature: Signature, text: str, found: Iterable[Event]) -> Iterator[Problem]:
    for event in found:
        if event.role in BLAMING:
            yield Problem(
                signature.id,
                Text(
                    f"is noise, yet {event.signature} still claims {_short(text)}",
                    f"是噪声，但 {event.signature} 仍匹配 {_short(text)}",
                ),
            )


def _healthy(knowledge: Knowledge, paths: Sequence[Path]) -> Iterator[Problem]:
    if not paths:
        return
    from pdtriage.sources import find

    engine = Engine(knowledge)
    for source in find([str(path) for path in paths]).sources:
        facts = scan(source.file, source.chunks(), engine)
        for event in facts.events:
            if event.role in BLAMING and not _is_harmless(event, facts, knowledge):
                yield Problem(
                    f"{source.file.path}:{event.line}",
                    Text(
                        f"{event.signature} claims a line of a healthy log: {_short(event.text)}",
                        f"{event.signature} 匹配了正常日志中的一行：{_short(event.text)}",
                    ),
                )


def _is_harmless(event: Event, facts: FileFacts, knowledge: Knowledge) -> bool:
    """Said too seldom to mean anything, or followed by progress: no verdict would name it."""
    seldom = event.count < knowledge.signatures[event.signature].repeats
    return seldom or any(step.line > event.last_seen for step in facts.progress)


def _events(text: str, engine: Engine, kind: FileKind) -> tuple[Event, ...]:
    file = LogFile(path="sample", kind=kind, folder="")
    return scan(file, [text.encode() + b"\n"], engine).events


def _mismatch(text: str, wanted: bool, others: Sequence[str]) -> Text:
    shown = _short(text)
    if not wanted:
        return Text(f"claims its own miss: {shown}", f"匹配了自己的 misses：{shown}")
    seen = ", ".join(dict.fromkeys(others))
    return Text(
        f"does not claim its sample: {shown}" + (f" (seen there: {seen})" if seen else ""),
        f"没有匹配自己的 samples：{shown}" + (f"（该处识别为：{seen}）" if seen else ""),
    )


def _short(text: str) -> str:
    return repr(text if len(text) <= 160 else text[:157] + "...")
