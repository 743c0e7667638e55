"""A launch of several attempts, in every format."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from pdtriage.masking.redact import mask_secrets
from pdtriage.model import Brief, Report, Restart, Run, Text
from pdtriage.report import Options
from pdtriage.support.text_width import columns
from pdtriage.verdict.attempt_comparison import attempts_of
from tests.report import reports
from tests.report.writing import written

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "report.schema.json").read_text())
DISK = Text(
    "Reading a file failed with an I/O error (errno 5)", "读取文件时发生 I/O 错误（errno 5）"
)
KILLED = Text("Killed from outside", "被外部杀死")
MAY_PASS = Text("a storage fault may pass", "存储故障可能自行恢复")
LIMIT = Text("the limit of 2 restarts is reached (--max_restart)", "已达到重启上限 2 次")


def attempt(number: int, title: Text | None, restart: Restart | None = None) -> Run:
    cause = title and Brief(title, "data.io", "data.errno5", "worker", 2, (2,), "h", title.en[:7])
    verdict = "failed" if title else "succeeded"
    run = Run(number, 1, number - 1, reports.START, reports.START + 9, verdict)  # type: ignore[arg-type]
    return run._replace(cause=cause, last_epoch=0, last_step=100 + number, restart=restart)


def with_attempts(report: Report, *runs: Run) -> Report:
    return report._replace(
        runs=runs,
        run=runs[-1].index,
        attempts=attempts_of(runs, runs[-1]),
        notes=(),
        differences=(),
    )


@pytest.fixture
def three() -> Report:
    return with_attempts(
        reports.failed(),
        attempt(1, DISK, Restart(True, MAY_PASS)),
        attempt(2, KILLED, Restart(True, MAY_PASS)),
        attempt(3, KILLED, Restart(False, LIMIT)),
    )


@pytest.fixture
def recovered() -> Report:
    return with_attempts(
        reports.succeeded(), attempt(1, DISK, Restart(True, MAY_PASS)), attempt(2, None)
    )


def test_the_first_screen_says_it(three: Report) -> None:
    first = written(three, "text").splitlines()[:5]
    assert " ".join(first[2:5]) == (
        "3 attempts, all failed, in 2 ways (1: Reading a file failed with an I/O error (errno "
        "5); 2, 3: Killed from outside); not restarted: the limit of 2 restarts is reached "
        "(--max_restart)."
    )


def test_one_attempt_after_the_other(three: Report) -> None:
    text = written(three, "text")
    listed = text.split("Attempts (")[1].split("\n\n")[0].splitlines()[1:]
    assert listed == [
        "  1  rank 2: Reading a file failed with an I/O error (errno 5) (epoch 0, step",
        "     101)",
        "     restarted: a storage fault may pass",
        "  2  rank 2: Killed from outside (epoch 0, step 102)",
        "     restarted: a storage fault may pass",
        "> 3  the same failure (epoch 0, step 103)",
    ]
    assert "Runs found" not in text


def test_a_success_after_failures(recovered: Report) -> None:
    text = written(recovered, "text")
    assert text.splitlines()[1] == (
        "Attempt 2 succeeded; 1 attempt failed before (Reading a file failed with an I/O"
    )
    assert "restarted: a storage fault may pass" in text
    assert "> 2  succeeded (epoch 0, step 102)" in text
    assert "an earlier run failed" not in text


def test_an_attempt_that_made_room_for_other_nodes_was_cut_short() -> None:
    why = Restart(True, Text("node 10.0.0.3 joined", "节点 10.0.0.3 加入"))
    moved = attempt(1, DISK, why)._replace(verdict="interrupted")
    text = written(with_attempts(reports.failed(), moved, attempt(2, KILLED)), "text")
    assert "  1  cut short (epoch 0, step 101)\n     restarted: node 10.0.0.3 joined\n" in text


def test_many_attempts_are_folded() -> None:
    runs = [attempt(number, KILLED, Restart(True, MAY_PASS)) for number in range(1, 13)]
    text = written(with_attempts(reports.failed(), *runs), "text")
    assert re.findall(r"^[> ] +(\d+)  ", text.split("Attempts (")[1], re.M) == [
        "3",
        "10",
        "11",
        "12",
    ]


def test_other_launches_of_the_folder_are_still_listed(three: Report) -> None:
    older = three.runs[0]._replace(launch=0, index=0)
    text = written(three._replace(runs=(older, *three.runs)), "text")
    assert "Runs found: 4" in text
    assert "attempt 3" in text


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("color", [False, True])
def test_eighty_columns(three: Report, language: str, color: bool) -> None:
    report = three._replace(language=language)  # type: ignore[arg-type]
    text = written(report, "text", Options(width=80, color=color))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert max(columns(line) for line in plain.splitlines()) <= 80
    if language == "zh":
        assert "共 3 次尝试，全部失败，方式有 2 种（第 1 次：读取文件时发生 I/O 错误" in plain
        assert "> 3  同样的失败（第 0 轮第 103 步）" in plain


def test_quiet_keeps_to_one_line(three: Report) -> None:
    (line,) = written(three, "text", Options(quiet=True)).splitlines()
    assert "3 attempts, all failed" in line


def test_json(three: Report) -> None:
    told = json.loads(written(three, "json"))
    jsonschema.validate(told, SCHEMA)
    assert told["attempts"] == {
        "launch": 1,
        "runs": [1, 2, 3],
        "total": 3,
        "failed": 3,
        "same_failure": False,
        "summary": three.attempts.summary.en,  # type: ignore[union-attr]
    }
    first = told["runs"][0]
    assert first["cause"]["title"] == DISK.en
    assert (first["last_epoch"], first["last_step"]) == (0, 101)
    assert first["restart"] == {"again": True, "why": MAY_PASS.en}


def test_json_of_one_plain_attempt() -> None:
    told = json.loads(written(reports.failed(), "json"))
    jsonschema.validate(told, SCHEMA)
    assert told["attempts"] is None


def test_markdown(three: Report) -> None:
    text = written(three, "markdown")
    assert "*3 attempts, all failed, in 2 ways" in text
    assert "| 2 | rank 2: Killed from outside (epoch 0, step 102) | restarted: a storage" in text
    assert "| **3** | the same failure" in text


def test_html(three: Report) -> None:
    page = written(three, "html")
    assert 'id="r-attempts"' in page
    assert "in 2 ways" in page
    assert "方式有 2 种" in page
    assert 'id="r-attempts"' not in written(reports.failed(), "html")


def test_junit(three: Report) -> None:
    text = written(three, "junit")
    assert '<property name="attempts" value="3"' in text
    assert "in 2 ways" in text


def test_secrets_of_older_attempts_are_masked(three: Report) -> None:
    secret = Text("RuntimeError: password=hunter2hunter2", "RuntimeError: password=hunter2hunter2")
    runs = (attempt(1, secret), *three.runs[1:])
    masked = mask_secrets(three._replace(runs=runs))
    assert "hunter2" not in written(masked, "json")
    assert masked.redactions == mask_secrets(three).redactions + 1
