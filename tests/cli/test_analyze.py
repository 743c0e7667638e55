"""`pdtriage analyze`."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.cli.conftest import FIXTURES, Command

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "report.schema.json").read_text())


def test_the_culprit_is_on_the_first_line(pdtriage: Command, failed_job: Path) -> None:
    answer = pdtriage("analyze", failed_job)
    assert answer.code == 1
    assert answer.out.startswith("FAILED: rank 1 of 3")
    assert answer.err == ""


def test_log_is_the_default(pdtriage: Command, failed_job: Path, tmp_path: Path) -> None:
    shutil.copytree(failed_job / "log", tmp_path / "log")
    answer = pdtriage("analyze", "--quiet")
    assert answer.code == 1
    assert answer.out.startswith("failed: rank 1")
    assert answer.out.count("\n") == 1


def test_exit_zero(pdtriage: Command, failed_job: Path) -> None:
    assert pdtriage("analyze", failed_job, "--exit-zero", "-q").code == 0


def test_json_on_standard_output(pdtriage: Command, failed_job: Path) -> None:
    answer = pdtriage("analyze", failed_job, "-f", "json")
    report = json.loads(answer.out)
    assert report["schema"] == "pdtriage.report/1"
    assert report["root_causes"][0]["category"] == "data.io"
    assert answer.code == 1


def test_the_verdict_explains_itself(pdtriage: Command, failed_job: Path) -> None:
    text = pdtriage("analyze", failed_job, "--explain-verdict").out
    assert "How the verdict came about\n  - decided by own-cause: " in text
    assert "log/workerlog.1:" in text.partition("How the verdict came about")[2]
    chinese = pdtriage("analyze", failed_job, "--explain-verdict", "--lang", "zh").out
    assert "结论如何得出\n  - 决定依据：own-cause" in chinese
    assert "How the verdict" not in pdtriage("analyze", failed_job).out


def test_the_explanation_is_in_the_schema(pdtriage: Command, failed_job: Path) -> None:
    answer = pdtriage("analyze", failed_job, "--explain-verdict", "-f", "json")
    report = json.loads(answer.out)
    Draft202012Validator(SCHEMA).validate(report)
    assert report["explanation"]["rule"] == "own-cause"
    assert report["explanation"]["claim"]["ranks"] == [1]
    assert report["explanation"]["changes"]


def test_the_name_of_the_file_tells_the_format(
    pdtriage: Command, failed_job: Path, tmp_path: Path
) -> None:
    answer = pdtriage("analyze", failed_job, "-o", "report.json")
    assert answer.out == ""
    assert json.loads((tmp_path / "report.json").read_text())["verdict"] == "failed"
    pdtriage("analyze", failed_job, "-o", "report.txt")
    assert (tmp_path / "report.txt").read_text().startswith("FAILED")


def test_all_runs_as_json_is_an_array(pdtriage: Command, failed_job: Path) -> None:
    answer = pdtriage("analyze", failed_job, "--all-runs", "-f", "json")
    assert [report["run"] for report in json.loads(answer.out)] == [1]


def test_standard_input(pdtriage: Command) -> None:
    raised = (
        b"Traceback (most recent call last):\n"
        b'  File "t.py", line 1, in <module>\n'
        b"OSError: [Errno 5] Input/output error\n"
    )
    answer = pdtriage("analyze", "-", "-q", stdin=raised)
    assert answer.code == 1
    assert "errno 5" in answer.out


def test_an_empty_pipe_is_nothing_to_analyse(pdtriage: Command) -> None:
    for said in (b"", b"\n", b" \r\n\n"):
        assert pdtriage("analyze", "-", stdin=said).code == 3


def test_a_log_that_cannot_be_read_is_no_run_without_a_failure(
    pdtriage: Command, tmp_path: Path
) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "workerlog.0.gz").write_bytes(b"\x1f\x8b\x08\x00torn")
    answer = pdtriage("analyze")
    assert answer.code == 3
    assert "nothing of what is there could be read" in answer.err
    assert "workerlog.0.gz" in answer.err
    (tmp_path / "log" / "workerlog.1").write_bytes(b"")  # a rank that said nothing was there
    assert pdtriage("analyze", "log/workerlog.1").code == 0


def test_columns_is_heeded_in_a_pipe(pdtriage: Command, failed_job: Path) -> None:
    usual, wide = (
        pdtriage("analyze", "log", where=failed_job, COLUMNS=columns).out.splitlines()
        for columns in ("", "120")
    )
    assert max(map(len, usual)) <= 80 < max(map(len, wide)) <= 120


def test_the_next_command_names_the_folder(pdtriage: Command) -> None:
    folder = FIXTURES / "runs-failure-then-success"
    said = " ".join(pdtriage("analyze", folder, COLUMNS="200").out.split())
    assert f"pdtriage analyze {folder} --run 1" in said
    assert pdtriage("analyze", folder, "--lang", "zh", "-q").out.startswith("成功：")


def test_language_from_option_and_locale(pdtriage: Command, failed_job: Path) -> None:
    assert pdtriage("analyze", failed_job, "--lang", "zh").out.startswith("失败：")
    assert pdtriage("analyze", failed_job, LC_ALL="zh_CN.UTF-8").out.startswith("失败：")
    answer = pdtriage("analyze", failed_job, "--lang", "en", LC_ALL="zh_CN.UTF-8")
    assert answer.out.startswith("FAILED:")


def test_colour_only_when_asked_off_a_terminal(pdtriage: Command, failed_job: Path) -> None:
    assert "\x1b[" not in pdtriage("analyze", failed_job).out
    assert "\x1b[" in pdtriage("analyze", failed_job, "--color", "always").out


def test_a_terminal_of_another_encoding_gets_question_marks(
    pdtriage: Command, failed_job: Path
) -> None:
    answer = pdtriage("analyze", failed_job, "--lang", "zh", PYTHONIOENCODING="ascii")
    assert answer.code == 1
    assert "rank 1" in answer.out
    assert answer.err == ""


def test_healthy_job(pdtriage: Command) -> None:
    healthy = sorted(folder for folder in FIXTURES.iterdir() if folder.name.startswith("success"))
    answer = pdtriage("analyze", healthy[0])
    assert answer.code == 0
    assert answer.out.startswith("SUCCEEDED")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["analyze"], 3, "log: no such file or folder"),
        (["analyze", "nowhere"], 3, "nowhere: no such file or folder"),
        (["analyze", "."], 3, "no Paddle log found"),
        (["analyze", ".", "--run", "0"], 2, "--run 0: give the number of a run"),
        (["analyze", ".", "--run", "first"], 2, "--run first: give the number of a run"),
        (["analyze", ".", "--run", "1", "--all-runs"], 2, "either --run or --all-runs"),
        (["analyze", ".", "-f", "pdf"], 2, "--format pdf: there is no such format"),
        (["analyze", ".", "--parsers", "nowhere"], 2, "nowhere: no such folder of parsers"),
        (["analyze", ".", "--colour", "never"], 2, "--colour"),
        (["analyse"], 2, "analyse"),
        (["explain", "data.oi"], 2, "did you mean data.io"),
        (["parsers", "show", "no.such"], 2, "no signature is called no.such"),
        (["parsers", "new", "Bad Name"], 2, "an id is family.words-with-dashes"),
    ],
)
def test_bad_input_is_answered_in_one_sentence(
    pdtriage: Command, words: list[str], code: int, sentence: str
) -> None:
    answer = pdtriage(*words)
    assert answer.code == code
    assert answer.out == ""
    assert sentence in answer.err
    assert "Traceback" not in answer.err


def test_an_unknown_run(pdtriage: Command, failed_job: Path) -> None:
    answer = pdtriage("analyze", failed_job, "--run", "7")
    assert answer.code == 3
    assert answer.err.startswith("pdtriage: there is no run 7: 1 found")


def test_a_report_that_cannot_be_written(pdtriage: Command, failed_job: Path) -> None:
    answer = pdtriage("analyze", failed_job, "-o", "no/such/folder/x.json")
    assert answer.code == 2
    assert "cannot write the report" in answer.err
    assert "Traceback" not in answer.err


def test_own_parsers_are_used(pdtriage: Command, tmp_path: Path) -> None:
    words = ("parsers", "new", "zebra.dry", "--sample", "frobnicator 17 ran completely dry")
    (tmp_path / "mine").mkdir()
    assert pdtriage(*words, "-o", "mine/zebra.toml").code == 0
    (tmp_path / "workerlog.0").write_text("step 1\nfrobnicator 3 ran completely dry\n")
    answer = pdtriage("analyze", "workerlog.0", "--parsers", "mine", "-f", "json")
    assert json.loads(answer.out)["root_causes"][0]["signature"] == "zebra.dry"


@pytest.mark.parametrize("verb", ["analyze", "bundle"])
def test_what_could_not_be_used_is_told_when_nothing_is_left(
    pdtriage: Command, tmp_path: Path, verb: str
) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    os.mkfifo(folder / "workerlog.0")
    (folder / "logs.zip").write_bytes(b"PK\x03\x04 cut short")
    answer = pdtriage(verb, folder)
    assert answer.code == 3
    first, *notes = answer.err.splitlines()
    assert "no Paddle log found" in first
    assert any("a socket, pipe or device" in note and "workerlog.0" in note for note in notes)
    assert any("Damaged or incomplete archive" in note and "logs.zip" in note for note in notes)


def test_logs_of_something_else_are_nothing_to_analyse_unless_they_tell_a_failure(
    pdtriage: Command, tmp_path: Path
) -> None:
    log = tmp_path / "odd" / "access.log"
    log.parent.mkdir()
    log.write_text("GET /index.html 200\nPOST /login 500\n")
    answer = pdtriage("analyze", "odd")
    assert (answer.code, answer.out) == (3, "")
    assert "no Paddle log found" in answer.err
    log.write_text("GET /index.html 200\nValueError: no anchor fits\n")
    assert pdtriage("analyze", "odd").code == 1
