"""GitHub annotations, GitLab code quality, JUnit and SARIF, as their readers take them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft7Validator
from junitparser import Error, Failure, JUnitXml, Skipped

from pdtriage.model import Text
from pdtriage.report import Options
from pdtriage.report.formats.github import SUMMARY_BYTES, annotations_of
from tests.report import reports
from tests.report.official import sarif_schema
from tests.report.writing import all_written, written

SITUATIONS = {
    "failed": reports.failed(),
    "succeeded": reports.succeeded(),
    "chinese": reports.in_chinese(reports.failed()),
    "hung": reports.empty("hung"),
    "hung with stacks": reports.hung(),
    "unknown": reports.empty("unknown"),
    "large": reports.large(64),
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository that holds the code the report blames."""
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "reader.py").touch()
    return tmp_path


def commands(text: str) -> list[str]:
    """What GitHub's runner obeys: it ignores everything until the stopping word comes again."""
    obeyed, stopped = [], ""
    for line in text.splitlines():
        found = re.match(r"\s*::([\w-]+)( [^:]*)?::(.*)", line)
        if stopped:
            if line.strip() == f"::{stopped}::":
                stopped = ""
        elif found and found[1] == "stop-commands":
            stopped = found[3]
        elif found:
            obeyed.append(line)
    return obeyed


def test_github_points_at_the_line_of_the_user(checkout: Path) -> None:
    obeyed = commands(written(reports.failed(), "github", Options(repository=checkout)))
    assert obeyed[0].startswith("::error file=train/reader.py,line=31,title=rank 1 of 4%2C host")
    assert obeyed[0].split("::", 2)[2].startswith("log/workerlog.1:312: OSError")
    assert "%0A1. Read the file by hand" in obeyed[0]
    assert sum(line.startswith("::error") for line in obeyed) == 1


def test_github_shows_the_text_report_in_the_log() -> None:
    lines = written(reports.failed(), "github").splitlines()
    assert lines[0].startswith("::stop-commands::")
    assert lines[1].startswith("FAILED: rank 1 of 4")


def test_github_keeps_to_ten_annotations() -> None:
    many = tuple(reports.io_error()._replace(rank=n, ranks=(n,)) for n in range(30))
    report = reports.failed()._replace(root_causes=many)
    assert len(annotations_of(report, None)) == 10
    obeyed = commands(all_written([report, report], "github"))
    assert len(obeyed) == 10


def test_github_summary_is_appended_and_bounded(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    notes = tuple(Text(f"note {n} " + "x" * 500, "n") for n in range(1000))
    written(reports.failed()._replace(notes=notes), "github", Options(summary=summary))
    text = summary.read_text()
    assert text.startswith("before\n## FAILED: rank 1")
    assert len(text.encode()) - 7 <= SUMMARY_BYTES
    assert "did not fit" in text


def test_github_summary_of_all_runs_is_bounded(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    all_written([reports.large(64)] * 30, "github", Options(summary=summary))
    assert 0 < len(summary.read_bytes()) <= SUMMARY_BYTES


def test_github_says_when_the_cause_is_unknown() -> None:
    assert commands(written(reports.empty("failed"), "github")) == [
        "::error title=FAILED::the logs do not show the cause"
    ]
    assert commands(written(reports.succeeded(), "github")) == []


def test_gitlab_code_quality(checkout: Path) -> None:
    (issue,) = json.loads(written(reports.failed(), "gitlab", Options(repository=checkout)))
    assert issue["location"] == {"path": "train/reader.py", "lines": {"begin": 31}}
    assert issue["severity"] == "critical"
    assert issue["check_name"] == "data.errno5"
    assert issue["description"].startswith("rank 1 of 4, host 192.168.0.12, gpu:1: DataLoader I/O")
    (again,) = json.loads(written(reports.failed(), "gitlab"))
    assert again["fingerprint"] == issue["fingerprint"]
    assert again["location"]["path"] == "log/workerlog.1"


def test_gitlab_says_a_message_once() -> None:
    cause = reports.io_error()
    said = cause.evidence[0].text
    report = reports.failed()._replace(root_causes=(cause._replace(title=Text(said, said)),))
    (issue,) = json.loads(written(report, "gitlab"))
    assert issue["description"].count(said) == 1


def test_gitlab_fingerprints_are_unique() -> None:
    other = reports.io_error()._replace(fingerprint="1:ffffffffffffffff")
    report = reports.failed()._replace(root_causes=(reports.io_error(), other))
    issues = json.loads(all_written([report, report], "gitlab"))
    assert len(issues) == 2
    assert len({issue["fingerprint"] for issue in issues}) == 2
    assert json.loads(written(reports.succeeded(), "gitlab")) == []


def test_junit_fails_for_the_cause_and_skips_the_victims() -> None:
    (suite,) = JUnitXml.fromstring(written(reports.failed(), "junit").encode())
    assert (suite.tests, suite.failures, suite.errors) == (3, 1, 0)
    failed, *victims = list(suite)
    assert (failed.classname, failed.name) == ("pdtriage.data.io", "data.errno5")
    (failure,) = failed.result
    assert isinstance(failure, Failure)
    assert failure.type == "data.errno5"
    assert failure.message.startswith("rank 1 of 4, host 192.168.0.12, gpu:1: ")
    assert "> 312  OSError: [Errno 5]" in failure.text
    for case in victims:
        assert all(isinstance(skipped, Skipped) for skipped in case.result)
    assert [case.name for case in victims] == ["worker victim peer", "worker victim stopped"]
    assert victims[0].result[0].message.startswith("rank 0: victim, lost a peer")


def test_junit_names_are_the_same_whoever_it_was_and_in_whatever_language() -> None:
    names = []
    for report in (reports.failed(), reports.in_chinese(reports.failed())):
        elsewhere = reports.io_error()._replace(rank=0, ranks=(0,), host="h9", device="gpu:7")
        for cause in (report.root_causes[0], elsewhere):
            text = written(report._replace(root_causes=(cause, cause)), "junit")
            (suite,) = JUnitXml.fromstring(text.encode())
            names.append((suite.name, next(iter(suite)).name))
            assert len(next(iter(suite)).result) == 2
    assert len(set(names)) == 1


def test_junit_of_a_job_that_went_well() -> None:
    (suite,) = JUnitXml.fromstring(written(reports.succeeded(), "junit").encode())
    assert (suite.tests, suite.failures, suite.skipped) == (1, 0, 0)


def test_junit_of_a_failure_without_a_cause() -> None:
    (suite,) = JUnitXml.fromstring(written(reports.empty("hung"), "junit").encode())
    (case,) = list(suite)
    assert isinstance(case.result[0], Error)
    (calm,) = JUnitXml.fromstring(written(reports.empty(), "junit").encode())
    assert calm.tests == 1
    assert calm.errors == 0


def test_junit_of_all_runs_is_a_suite_each() -> None:
    text = all_written([reports.failed(), reports.succeeded()], "junit")
    suites = list(JUnitXml.fromstring(text.encode()))
    assert [suite.failures for suite in suites] == [1, 0]


@pytest.mark.parametrize("name", SITUATIONS)
def test_sarif_is_valid(name: str, checkout: Path) -> None:
    for options in (Options(), Options(repository=checkout)):
        document = json.loads(written(SITUATIONS[name], "sarif", options))
        Draft7Validator(sarif_schema()).validate(document)


def test_sarif_leads_to_the_manual_where_the_project_has_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "pdtriage-1.dist-info"
    installed.mkdir()
    urls = "Project-URL: Documentation, https://docs.example.com/p/\n"
    (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pdtriage\n{urls}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    document = json.loads(written(reports.failed(), "sarif"))
    Draft7Validator(sarif_schema()).validate(document)
    driver = document["runs"][0]["tool"]["driver"]
    assert driver["informationUri"] == "https://docs.example.com/p"
    assert driver["rules"][0]["helpUri"].startswith("https://docs.example.com/p/failures/en/data")


@pytest.mark.parametrize("name", ["text", "markdown", "html", "github", "gitlab", "junit", "sarif"])
def test_where_a_culprit_and_its_loader_worker_stood_is_in_every_format(name: str) -> None:
    said = " ".join(written(reports.hung(), name).split())
    assert "Reader.__getitem__" in said or "`__getitem__` (reader.py:31)" in said


def test_sarif_tells_place_and_fingerprint(checkout: Path) -> None:
    document = json.loads(written(reports.failed(), "sarif", Options(repository=checkout)))
    (run,) = document["runs"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "train/reader.py"
    assert place["region"]["startLine"] == 31
    related = result["relatedLocations"][0]["physicalLocation"]
    assert related["artifactLocation"]["uri"] == "log/workerlog.1"
    assert result["partialFingerprints"] == {"pdtriage/v1": "1:0f3c9a7e5b21d4c8"}
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert run["invocations"][0]["executionSuccessful"] is False


def test_the_official_schema_refuses_nonsense() -> None:
    document = json.loads(written(reports.failed(), "sarif"))
    document["runs"][0]["results"][0]["level"] = "catastrophe"
    assert list(Draft7Validator(sarif_schema()).iter_errors(document))
