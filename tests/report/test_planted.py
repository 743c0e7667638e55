"""200 planted secrets of 25 kinds: none in any output; and nothing else is masked."""

from __future__ import annotations

from pathlib import Path

import pytest
from detect_secrets.core.scan import scan_line
from detect_secrets.settings import default_settings

from pdtriage.analysis.pipeline import analyze, analyze_all_runs
from pdtriage.masking.redact import mask_secrets
from pdtriage.model import Difference, Evidence, Moment, Text
from pdtriage.report import FORMATS, Options
from tests.report import reports
from tests.report.planted import EACH, KINDS, planted
from tests.report.writing import written

FIXTURES = Path(__file__).parents[1] / "fixtures"
PLANTED = planted()
SECRETS = [secret for kind in PLANTED.values() for _, secret in kind]


def test_there_are_two_hundred_of_twenty_five_kinds() -> None:
    assert len(KINDS) == 25
    assert len(set(SECRETS)) == 25 * EACH == 200


@pytest.mark.parametrize("kind", KINDS)
def test_none_is_in_any_format(kind: str, tmp_path: Path) -> None:
    for line, secret in PLANTED[kind]:
        both = Text(f"failed: {line}", f"失败：{line}")
        evidence = Evidence("f", 9, 0, line.split("\n")[0], (), tuple(line.split("\n")[1:]))
        other = Evidence("f", 9, 0, "x", tuple(line.split("\n")), ("y", line.replace("\n", " ")))
        cause = reports.io_error()._replace(
            title=both,
            why=(both,),
            advice=(both,),
            fields={"message": line},
            evidence=(evidence, other),
        )
        report = mask_secrets(
            reports.failed()._replace(
                root_causes=(cause,),
                timeline=(Moment(1.0, 1, "error", both),),
                notes=(both,),
                differences=(Difference("printed", both, line, line),),
                ranks=tuple(
                    row._replace(moments=(Moment(1.0, row.rank, "error", both),))
                    for row in reports.failed().ranks
                ),
            )
        )
        assert report.redactions > 0
        summary = tmp_path / "summary"
        for name in FORMATS:
            assert secret not in written(report, name, Options(summary=summary)), name
        assert secret not in summary.read_text()


@pytest.mark.parametrize("name", FORMATS)
def test_none_gets_from_a_log_to_an_output(name: str, leaking_job: Path) -> None:
    for report in analyze_all_runs(leaking_job):
        text = written(report, name)
        for secret in SECRETS:
            assert secret not in text
    assert report.redactions > 0


def test_none_gets_into_a_comparison(leaking_job: Path, tmp_path: Path) -> None:
    for log in leaking_job.glob("workerlog.*"):
        (tmp_path / log.name).write_text("step 1 of rank 0\ntraining finished\n")
    report = analyze(leaking_job, baseline=tmp_path)
    assert any(found.kind == "printed" for found in report.differences)
    text = repr(report.differences)
    assert [secret for secret in SECRETS if secret in text] == []


def test_they_are_there_when_asked_for(leaking_job: Path) -> None:
    shown = written(analyze(leaking_job, redact=False), "json")
    assert any(secret in shown for secret in SECRETS)


def test_nothing_in_the_fixtures_is_masked() -> None:
    """A masked error line helps nobody."""
    folders = [
        folder
        for group in ("scenarios", "healthy")
        for folder in sorted((FIXTURES / group).iterdir())
        if folder.is_dir()
    ]
    assert len(folders) > 100
    for folder in folders:
        for report in analyze_all_runs(folder):
            assert report.redactions == 0, folder.name


@pytest.mark.parametrize(
    "kind", ["amazon-id", "github", "gitlab", "slack", "json-web-token", "url", "private-key"]
)
def test_a_detector_of_others_agrees(kind: str) -> None:
    """detect-secrets sees each of them in the line and in nothing we write."""
    with default_settings():
        for line, _ in PLANTED[kind]:
            evidence = reports.io_error().evidence[0]._replace(text=line.replace("\n", " "))
            cause = reports.io_error()._replace(evidence=(evidence,), fields={})
            report = mask_secrets(reports.failed()._replace(root_causes=(cause,)))
            assert _detected(line)
            shown = report.root_causes[0].evidence[0].text
            assert not _detected(shown) or kind == "private-key"


def _detected(text: str) -> list[str]:
    """What has a shape of its own; its entropy check also fires on paths and words."""
    return [
        found.type
        for line in text.split("\n")
        for found in scan_line(line)
        if "Entropy" not in found.type and found.type != "Secret Keyword"
    ]


@pytest.fixture(scope="module")
def leaking_job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job that prints every one of them: in its error, around it, and in its environment."""
    folder = tmp_path_factory.mktemp("leak") / "log"
    folder.mkdir()
    for number, kind in enumerate(PLANTED.values()):
        lines = [f"step 1 of rank {number}", *(line for line, _ in kind)]
        lines += ["Traceback (most recent call last):", '  File "/srv/train.py", line 3, in load']
        lines += [line for line, _ in kind[:2]]
        lines += [f"OSError: [Errno 5] Input/output error: {kind[2][0]}"]
        lines += [line for line, _ in kind[3:]]
        (folder / f"workerlog.{number}").write_text("\n".join(lines) + "\n")
        values = [f"V{n}_TOKEN={secret}" for n, (_, secret) in enumerate(kind)]
        (folder / f"envlog.{number}").write_text("\n".join(values) + "\n")
    dump = {f"K{n}": secret for n, secret in enumerate(SECRETS)}
    (folder / "default.abcdef.log").write_text(f"environ({dump})\n")
    return folder
