"""`analyze --baseline`, and the comparison nobody had to ask for."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from pdtriage.analysis import baseline
from pdtriage.analysis.pipeline import analyze
from tests.cli.conftest import FIXTURES, Command


def test_an_earlier_good_run_is_compared_by_itself(pdtriage: Command) -> None:
    answer = pdtriage("analyze", FIXTURES / "runs-success-then-failure", "-f", "json")
    report = json.loads(answer.out)
    assert report["baseline"] == {"run": 1, "path": None}
    assert report["differences"][0]["kind"] == "reached"
    text = pdtriage("analyze", FIXTURES / "runs-success-then-failure").out
    assert "Unlike run 1, which went well" in text


def test_a_run_that_failed_is_not_said_to_have_gone_well(pdtriage: Command) -> None:
    text = pdtriage("analyze", FIXTURES / "runs-three-legacy", "--baseline", "2").out
    assert "Unlike run 2 (failed)" in text
    assert "went well" not in text


def test_a_run_that_went_well_before_others_failed(pdtriage: Command) -> None:
    early = pdtriage("analyze", FIXTURES / "runs-three-legacy", "--run", "1").out
    assert "Run 1 of 3; a later run failed" in early
    late = pdtriage("analyze", FIXTURES / "runs-failure-then-success").out
    assert "Run 2 of 2; an earlier run failed" in late


def test_an_earlier_run_is_told_by_the_logs_of_its_ranks(pdtriage: Command) -> None:
    answer = pdtriage("analyze", FIXTURES / "runs-three-legacy", "--run", "2")
    first, second = answer.out.splitlines()[:2]
    assert first.startswith("FAILED: ranks 0, 1 (all 2); shown: rank 0")
    assert second == "The Python module paddleseg_extras is not installed"
    assert "victims" not in answer.out


def test_a_run_that_went_well_is_compared_with_nothing() -> None:
    report = analyze(FIXTURES / "runs-failure-then-success")
    assert report.baseline is None
    assert report.differences == ()


def test_another_place(pdtriage: Command, failed_job: Path) -> None:
    answer = pdtriage("analyze", failed_job, "--baseline", FIXTURES / "run-success", "-f", "json")
    report = json.loads(answer.out)
    assert report["baseline"]["path"] == str(FIXTURES / "run-success")
    assert {"kind": "size", "before": "2", "after": "3"}.items() <= next(
        found for found in report["differences"] if found["kind"] == "size"
    ).items()


def test_a_run_by_its_number(pdtriage: Command) -> None:
    folder = FIXTURES / "runs-success-then-failure"
    answer = pdtriage("analyze", folder, "--baseline", "1", "-f", "json")
    assert json.loads(answer.out)["baseline"]["run"] == 1
    assert pdtriage("analyze", folder, "--baseline", "9").code == 3


def test_a_baseline_that_did_not_succeed(pdtriage: Command, failed_job: Path) -> None:
    answer = pdtriage("analyze", failed_job, "--baseline", failed_job)
    assert answer.code == 3
    assert "no run there succeeded" in answer.err
    assert pdtriage("analyze", failed_job, "--baseline", "1", "--all-runs").code == 2


TRACEBACK = (
    'Traceback (most recent call last):\n  File "t.py", line 1, in f\n    g()\nKeyError: 1\n'
)


def job(folder: Path, text: str, pack: bool = False) -> Path:
    folder.mkdir(parents=True)
    if pack:
        with gzip.open(folder / "workerlog.0.gz", "wt", encoding="utf-8") as stream:
            stream.write(text)
    else:
        (folder / "workerlog.0").write_text(text, encoding="utf-8")
    return folder


def steps(count: int, first: int = 0) -> str:
    return "".join(f"epoch 0 step {n} loss 1.{n}\n" for n in range(first, first + count))


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return job(tmp_path / "good", steps(400) + "saved /ckpt/400\nclosing the reader\n")


@pytest.mark.parametrize("pack", [False, True])
def test_lines_that_only_one_of_the_runs_printed(good: Path, tmp_path: Path, pack: bool) -> None:
    text = steps(40) + "reader: slow answer from 10.0.0.7\n" + steps(5, 40) + TRACEBACK
    report = analyze(job(tmp_path / "bad", text, pack), baseline=good)
    told = {(one.kind, one.place): one.text.en for one in report.differences}
    file = "bad/workerlog.0.gz" if pack else "bad/workerlog.0"
    assert told["printed", f"{file}:41"] == "only this run: reader: slow answer from 10.0.0.7"
    went_on = told["missing", "good/workerlog.0:401"]
    assert went_on == "the good run went on: saved /ckpt/400"
    assert any("do not say how that run ended" in note.en for note in report.notes)
    assert not any("KeyError" in text or "exception" in text for text in told.values())


def test_a_log_too_large_to_compare_whole_says_so(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baseline, "OURS", 2048)
    monkeypatch.setattr(baseline, "THEIRS", 2048)
    text = steps(400) + "reader: slow answer\n" + steps(2, 400) + TRACEBACK
    report = analyze(job(tmp_path / "bad", text), baseline=good)
    (new,) = [one for one in report.differences if one.kind == "printed"]
    assert new.place == "bad/workerlog.0:401"
    assert any("may stand in between" in note.en for note in report.notes)


def test_the_failure_itself_is_not_told_again(pdtriage: Command) -> None:
    report = analyze(FIXTURES / "runs-success-then-failure")
    told = [one.text.en for one in report.differences]
    titles = [report.root_causes[0].title.en, *(moment.text.en for moment in report.timeline)]
    assert not any(title in text for text in told for title in titles)
    out = pdtriage("analyze", FIXTURES / "runs-success-then-failure").out
    assert f"\n    {FIXTURES}/{report.differences[-1].place}\n" in out
