"""`parsers check` finds what is wrong with a signature; what is shipped is sound."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import regex

from pdtriage.analysis.authoring import trial
from pdtriage.analysis.authoring.check import Problem, check
from pdtriage.knowledge import Format, Knowledge, Signature, load_knowledge
from pdtriage.model import Text
from pdtriage.support.multi_pattern import PATTERN_SECONDS
from tests.knowledge.builders import SOUND

HEALTHY = Path(__file__).parents[2] / "fixtures" / "healthy"
HOSTILE = r"frobnicator is full: \S?(?:\w|\w\w|[a-z ]+)+[!?]$|^1$"


def problems_of(*signatures: Signature, **others: object) -> list[Problem]:
    knowledge = Knowledge(signatures={s.id: s for s in signatures}, **others)  # type: ignore[arg-type]
    return check(knowledge, folders=())


def said(problems: list[Problem]) -> str:
    return "\n".join(f"{problem.where}: {problem.message.en}" for problem in problems)


def test_a_sound_signature_has_no_problem() -> None:
    assert problems_of(SOUND) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda s: s._replace(samples=s.samples[:1]), "needs 2 samples and 1 miss, has 1 and 1"),
        (lambda s: s._replace(misses=()), "needs 2 samples and 1 miss, has 2 and 0"),
        (lambda s: s._replace(samples=(*s.samples, "all is well")), "does not claim its sample"),
        (lambda s: s._replace(misses=s.samples[:1]), "claims its own miss"),
        (lambda s: s._replace(pattern="(unclosed"), "the pattern is wrong"),
        (lambda s: s._replace(pattern=r"frobnicator is full: /(\w+\s?)+$"), "can run away"),
        (lambda s: s._replace(literals=("full",)), "too short"),
        (lambda s: s._replace(title=Text("x" * 71, "满")), "at most 70 columns"),
        (lambda s: s._replace(title=Text("Full", "满" * 36)), "at most 70 columns"),
        (lambda s: s._replace(title=Text("Full", "Full")), "not translated"),
        (lambda s: s._replace(advice=(Text("Empty it.", "Empty it."),)), "not translated"),
        (lambda s: s._replace(meaning=None), "needs a meaning and advice"),
        (lambda s: s._replace(advice=()), "needs a meaning and advice"),
        (lambda s: s._replace(advice=(Text("Run {no}.", "运行 {no}。"),)), "captures no no"),
        (lambda s: s._replace(full_title=Text("{no}", "满 {no}")), "captures no no"),
        (lambda s: s._replace(full_title=Text("Full", "满")), "full_title has no slot"),
        (lambda s: s._replace(title=Text("{rank}", "满 {rank}")), "have no slots"),
        (lambda s: s._replace(explains=("no.such-id",)), "'no.such-id', which does not exist"),
        (lambda s: s._replace(explains=("nothing.*",)), "'nothing.*', which does not exist"),
    ],
)
def test_what_is_wrong_is_said(change: Callable[[Signature], Signature], complaint: str) -> None:
    assert complaint in said(problems_of(change(SOUND)))


def test_a_bare_command_needs_no_translation() -> None:
    command = Text("df -h /dev/shm", "df -h /dev/shm")
    assert problems_of(SOUND._replace(confirm=command)) == []


def test_wildcards_of_explains_are_resolved() -> None:
    assert problems_of(SOUND._replace(explains=("storage.*",))) == []


def test_two_causes_of_different_category_for_one_line() -> None:
    rival = SOUND._replace(id="data.full", category="data.io")
    found = said(problems_of(SOUND, rival))
    assert "data.full / storage.frobnicator-full: causes of different category" in found


def test_a_generic_rival_yields() -> None:
    rival = SOUND._replace(id="code.generic", category="code.python", generic=True)
    found = said(problems_of(SOUND, rival))
    assert "different category" not in found
    assert "code.generic: does not claim its sample" in found  # it needs samples of its own


def test_noise_must_silence_its_samples() -> None:
    noise = SOUND._replace(
        id="noise.full",
        role="noise",
        category=None,
        samples=("frobnicator is full: /c",) * 2,
    )
    found = said(problems_of(SOUND._replace(literals=("is full:",)), noise))
    assert "noise.full" not in found
    assert "storage.frobnicator-full: does not claim its sample" in found


def test_formats_are_tried_too() -> None:
    clock = Format("bad", r"^\d\d:\d\d", samples=("noon",), misses=("12:00",))
    found = said(problems_of(clocks=(clock,)))
    assert "bad: does not claim its sample: 'noon'" in found
    assert "bad: claims its own miss: '12:00'" in found


def test_the_first_timeout_ends_the_trial_of_a_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    timed_out: list[str] = []
    monkeypatch.setattr(trial, "_seconds", _counting(timed_out))
    hostile = SOUND._replace(pattern=HOSTILE)
    clock = Format("bad", HOSTILE, samples=SOUND.samples, misses=SOUND.misses)
    found = problems_of(hostile, clocks=(clock,), prefixes=(clock._replace(id="worse"),))
    assert [problem.where for problem in found] == [SOUND.id, "worse", "bad"]
    assert said(found).count("can run away") == 3
    assert len(timed_out) < 3 * 4


def test_a_format_that_runs_away_on_its_miss() -> None:
    miss = "frobnicator is full: " + "x" * 60
    clock = Format("bad", HOSTILE, samples=("1",), misses=(miss,))
    assert said(problems_of(clocks=(clock,))).endswith(f"for instance on {miss!r}")


def test_an_id_given_twice(tmp_path: Path) -> None:
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text('[[signature]]\nid = "data.x"\n', encoding="utf-8")
    found = check(Knowledge(signatures={}), folders=[tmp_path])
    assert said(found) == "data.x: is defined in a.toml and again in b.toml"


def test_a_hit_in_a_healthy_log(tmp_path: Path) -> None:
    (tmp_path / "workerlog.0").write_text("step 1\nfrobnicator is full: /z\nbye\n")
    found = check(Knowledge(signatures={SOUND.id: SOUND}), healthy=[tmp_path], folders=())
    assert len(found) == 1
    assert found[0].where.endswith("workerlog.0:2")
    assert "storage.frobnicator-full claims a line of a healthy log" in found[0].message.en


def test_a_retry_that_came_too_seldom_is_no_hit(tmp_path: Path) -> None:
    (tmp_path / "workerlog.0").write_text("frobnicator is full: /z\n" * 4 + "bye\n")
    for repeats, hits in ((4, 1), (5, 0)):
        patient = SOUND._replace(repeats=repeats)
        knowledge = Knowledge(signatures={SOUND.id: patient})
        assert len(check(knowledge, healthy=[tmp_path], folders=())) == hits


def test_an_error_with_progress_after_it_is_no_hit(tmp_path: Path) -> None:
    (tmp_path / "workerlog.0").write_text(
        "epoch 0 step 1 loss 0.5\nfrobnicator is full: /z\nepoch 0 step 2 loss 0.4\n"
    )
    knowledge = load_knowledge()._replace(signatures={SOUND.id: SOUND})
    assert check(knowledge, healthy=[tmp_path], folders=()) == []


def test_what_is_shipped_is_sound() -> None:
    found = check(load_knowledge(), healthy=[HEALTHY])
    assert found == [], said(found)


def _counting(timed_out: list[str]) -> Callable[[regex.Pattern[str], str], float]:
    seconds = trial._seconds

    def counted(compiled: regex.Pattern[str], text: str) -> float:
        taken = seconds(compiled, text)
        if taken >= PATTERN_SECONDS:
            timed_out.append(text)
        return taken

    return counted
