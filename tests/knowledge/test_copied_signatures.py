"""Given a signature under another name, when a job is judged, then the answer is the same.

Somebody who teaches the tool another launcher's wording copies the signature that is nearest. All
that it means stands in its fields, so the copy means the same; and since nothing is known by its
name, all names may change at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from pdtriage.analysis.authoring.check import check
from pdtriage.analysis.pipeline import analyze
from pdtriage.knowledge import Knowledge, Signature, load_knowledge
from pdtriage.model import Cause, FileFacts, FileKind, LogFile, Text, Victim
from pdtriage.reading.local import read_sources
from pdtriage.runs import assemble
from pdtriage.scan import Engine, scan
from pdtriage.sources import find
from pdtriage.verdict import Judgement, judge

FIXTURES = Path(__file__).parents[1] / "fixtures"
FOLDERS = sorted(
    p.parent for kind in ("scenarios", "healthy") for p in FIXTURES.glob(f"{kind}/*/label.json")
)
SHIPPED = load_knowledge()
SRUN = """\
epoch 0 step 0 loss 1.5
srun: error: node07: task 3: Exited with exit code 1
srun: error: node07: tasks 0-2: Exited with exit code 15
"""
FLUX = SRUN.replace("srun: error: ", "flux-job: error: ")


def test_another_launchers_wording_names_the_same_rank(tmp_path: Path) -> None:
    mine = tmp_path / "parsers"
    mine.mkdir()
    (mine / "launch.toml").write_text(_copied_text("launch.srun-exit", "launch.flux-exit"))
    known = load_knowledge([mine])
    assert known.signatures["launch.flux-exit"].literals == ("flux-job: error: ",)
    assert check(known, folders=[mine]) == []
    ranks = []
    for name, text in (("srun", SRUN), ("flux", FLUX)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "console.log").write_text(text)
        report = analyze(tmp_path / name, parsers=[mine])
        ranks.append((report.verdict, [cause.ranks for cause in report.root_causes]))
    assert ranks == [("failed", [(3,)])] * 2


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_all_names_may_change_at_once(folder: Path) -> None:
    known, names = _renamed()
    assert _answers(folder, known, names) == _answers(folder, SHIPPED, {})


def test_what_says_something_may_be_said_in_other_words() -> None:
    """Each sample in other words that a copy of its signature knows, in a console and in a log."""
    saying = [s for s in SHIPPED.signatures.values() if {*s.says} - {"states-cause"}]
    pairs = [pair for s in saying if (pair := _reworded(s))]
    copies = {copy.id: copy for copy, _, _ in pairs}
    engine = Engine(SHIPPED._replace(signatures={**SHIPPED.signatures, **copies}))
    tried = set()
    for copy, said, reworded in pairs:
        original = copy.id.removeprefix("copied.")
        for kind in ("console", "worker"):
            claims = [_claims(text, kind, engine) for text in (said, reworded)]
            if claims != [[original], [copy.id]]:
                continue  # others claim its sample, too, and they know one of the wordings only
            one, other = (_judged(text, kind, engine) for text in (said, reworded))
            assert _unquoted(one, {}) == _unquoted(other, {copy.id: original}), original
            tried.add(original)
    assert len(tried) > 60


def _copied_text(name: str, new: str) -> str:
    """As somebody does it in an editor."""
    text = (Path(__file__).parents[2] / "parsers" / "launch.toml").read_text(encoding="utf-8")
    entries = text.split("[[signature]]")
    (entry,) = [e for e in entries if e.lstrip().startswith(f'id = "{name}"')]
    return "[[signature]]" + entry.replace(name, new).replace("srun: error: ", "flux-job: error: ")


@cache
def _renamed() -> tuple[Knowledge, dict[str, str]]:
    """All that is read from lines under numbers, in the old order; and the old name of each."""
    read = sorted(s.id for s in SHIPPED.signatures.values() if s.trigger != "verdict")
    new = {name: f"some.{number:04}" for number, name in enumerate(read)}
    targets = {
        s.id: [t for t in SHIPPED.signatures if SHIPPED.explains(s.id, t)]
        for s in SHIPPED.signatures.values()
    }
    signatures = [
        s._replace(
            id=new.get(s.id, s.id),
            family="some",
            explains=tuple(new.get(t, t) for t in targets[s.id]),
        )
        for s in SHIPPED.signatures.values()
    ]
    known = SHIPPED._replace(signatures={s.id: s for s in signatures})
    return known, {number: name for name, number in new.items()}


@cache
def _engine(renamed: bool) -> Engine:
    return Engine(_renamed()[0] if renamed else SHIPPED)


def _answers(folder: Path, known: Knowledge, names: dict[str, str]) -> list[object]:
    facts, records, _ = read_sources(find([folder]), _engine(known is not SHIPPED))
    return [_told(judge(run, known), names) for run in assemble(facts, records)]


def _told(
    judgement: Judgement, names: dict[str, str]
) -> tuple[str, list[Cause], tuple[Victim, ...]]:
    causes = [
        cause._replace(signature=names.get(cause.signature, cause.signature), fingerprint="")
        for cause in judgement.causes
    ]
    return judgement.verdict, causes, judgement.victims


def _unquoted(judgement: Judgement, names: dict[str, str]) -> object:
    """Without the lines themselves, which stand in the evidence and in general titles."""
    verdict, causes, victims = _told(judgement, names)
    plain = [c._replace(title=Text("", ""), evidence=(), fields=_small(c.fields)) for c in causes]
    return verdict, plain, victims


def _small(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: value.casefold() for name, value in fields.items()}


def _reworded(signature: Signature) -> tuple[Signature, str, str] | None:
    """Its copy for another wording, a sample and the same reworded; None where that is not easy."""
    for literal in signature.literals:
        other = literal.swapcase()
        samples = [s for s in signature.samples if literal in s]
        plain = signature.pattern is None or literal in signature.pattern
        if other != literal and samples and plain:
            copy = signature._replace(
                id=f"copied.{signature.id}",
                literals=(other,),
                pattern=signature.pattern and signature.pattern.replace(literal, other),
            )
            return copy, samples[0], samples[0].replace(literal, other)
    return None


def _claims(text: str, kind: FileKind, engine: Engine) -> list[str]:
    return [event.signature for event in _facts(text, kind, engine).events]


def _judged(text: str, kind: FileKind, engine: Engine) -> Judgement:
    return judge(assemble([_facts(text, kind, engine)])[-1], engine.knowledge)


def _facts(text: str, kind: FileKind, engine: Engine) -> FileFacts:
    name = "console.log" if kind == "console" else "workerlog.0"
    file = LogFile(f"log/{name}", kind, "log", 0 if kind == "worker" else None, modified=1.0)
    return scan(file, [text.encode() + b"\n"], engine)
