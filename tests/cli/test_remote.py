"""`pdtriage analyze URL`: the same answer as for the folder itself, and no credentials in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pdtriage.analysis import baseline
from pdtriage.analysis.pipeline import analyze
from pdtriage.report import FORMATS
from tests.cli.conftest import Command
from tests.sources.web import Web, serving

HEAVY = {
    *("aiohttp", "asyncio", "concurrent.futures", "fsspec", "paramiko", "ray", "s3fs"),
    *("pdtriage.sources.remote.origin", "pdtriage.reading.on_ray", "pdtriage.reading.codec"),
    "msgspec",
}
SECRETS = ("hunter22", "deadbeefdeadbeef", "AKIAIOSFODNN7EXAMPLE")


def tree_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_same_answer_as_for_the_folder(pdtriage: Command, failed_job: Path) -> None:
    with serving(Web(tree_of(failed_job))) as web:
        there = pdtriage("analyze", web.url + "/", "-f", "json")
    here = pdtriage("analyze", ".", "-f", "json", where=failed_job)
    assert there.err == ""
    assert there.code == here.code == 1
    report, expected = json.loads(there.out), json.loads(here.out)
    files = [row["files"] for row in report["ranks"]]
    assert all(name.startswith(web.url + "/log/") for row in files for name in row)
    text = json.dumps(report["root_causes"]).replace(web.url + "/", "")
    assert json.loads(text) == expected["root_causes"]


def test_no_format_shows_credentials(pdtriage: Command, failed_job: Path, tmp_path: Path) -> None:
    query = "?X-Amz-Credential=AKIAIOSFODNN7EXAMPLE&X-Amz-Signature=deadbeefdeadbeef"
    formats = [word for name in FORMATS for word in ("-f", f"{name}=report.{name}")]
    with serving(Web(tree_of(failed_job))) as web:
        base = web.url.replace("//", "//ada:hunter22@")
        urls = [f"{base}/log/workerlog.{n}{query}" for n in range(3)]
        told = pdtriage("analyze", *urls, "--no-redact", *formats, PDTRIAGE_DEBUG="1")
    assert told.code == 1
    pages = [(tmp_path / f"report.{name}").read_text("utf-8") for name in FORMATS]
    assert all("workerlog.1" in page for page in pages)
    for said in (told.out, told.err, *pages):
        assert not [secret for secret in SECRETS if secret in said]


def test_no_complaint_shows_credentials(pdtriage: Command) -> None:
    urls = [
        "http://ada:hunter22@127.0.0.1:9/log/?sig=deadbeefdeadbeef",
        "sftp://ada:hunter22@127.0.0.1:9/log",
        "http://[hunter22/log",
    ]
    told = pdtriage("analyze", *urls, PDTRIAGE_DEBUG="1", PDTRIAGE_REMOTE_TIMEOUT="1")
    assert told.code == 3, told.err
    assert told.err.startswith("pdtriage: ")
    assert "did not answer" in told.err
    assert not [secret for secret in SECRETS if secret in told.out + told.err]


@pytest.mark.parametrize("scheme", ["s4", "gs"])
def test_a_storage_that_cannot_be_had(pdtriage: Command, scheme: str) -> None:
    told = pdtriage("analyze", f"{scheme}://AKIAIOSFODNN7EXAMPLE:hunter22@bucket/log")
    assert told.code == 2
    assert not [secret for secret in SECRETS if secret in told.out + told.err]


def test_a_storage_that_refuses_one_file_does_not_end_it(
    pdtriage: Command, failed_job: Path
) -> None:
    web = Web(tree_of(failed_job), refused=frozenset({"log/workerlog.0"}))
    with serving(web):
        told = pdtriage("analyze", web.url + "/")
    assert told.code == 1
    assert "rank 1" in told.out
    assert "refused access" in told.out
    assert "log/workerlog.0" in told.out


def test_a_baseline_behind_a_url(pdtriage: Command, failed_job: Path) -> None:
    with serving(Web(tree_of(failed_job))) as web:
        other = web.url.replace("//", "//ada:hunter22@") + "/"
        told = pdtriage("analyze", failed_job, "--baseline", other)
    assert told.code == 3
    assert "no run there succeeded" in told.err
    assert "hunter22" not in told.err


@pytest.mark.parametrize(("most", "ranges"), [(6 << 20, True), (2048, True), (2048, False)])
def test_lines_are_compared_with_a_baseline_behind_a_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, ranges: bool
) -> None:
    monkeypatch.setattr(baseline, "THEIRS", most)
    steps = "".join(f"epoch 0 step {n} loss 1.{n}\n" for n in range(400))
    bad = steps + 'reader: slow answer\nTraceback (most recent call last):\n  File "t.py", line 1'
    (tmp_path / "workerlog.0").write_text(bad + ", in f\n    g()\nKeyError: 1\n")
    good = (steps + "training finished\n").encode()
    with serving(Web({"log/workerlog.0": good}, ranges=ranges)) as web:
        report = analyze(tmp_path, baseline=f"{web.url}/log/")
    printed = [one.after for one in report.differences if one.kind == "printed"]
    assert printed == (["reader: slow answer"] if ranges else [])
    notes = " ".join(note.en for note in report.notes)
    assert ("lines were not compared" in notes) is not ranges
    assert ("may stand in between" in notes) is (ranges and most < len(good))


def test_local_logs_wait_for_none_of_it(failed_job: Path) -> None:
    script = (
        "import sys\n"
        "from pdtriage.__main__ import main\n"
        "try: main(['analyze', sys.argv[1], '-q'])\n"
        "except SystemExit: print(*sys.modules)\n"
    )
    command = [sys.executable, "-c", script, str(failed_job)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert HEAVY.isdisjoint(done.stdout.splitlines()[-1].split())


def test_address_needs_ray(pdtriage: Command, failed_job: Path) -> None:
    told = pdtriage("analyze", failed_job, "--address", "10.0.0.1:6379")
    assert told.code == 2
    assert "--engine ray" in told.err
