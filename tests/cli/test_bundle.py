"""`pdtriage bundle`: enough to understand the failure, small, and without a secret."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from pdtriage.analysis.bundle import Windows, excerpt_of, write_bundle
from pdtriage.analysis.pipeline import analyze
from pdtriage.support.zstd import zstd
from tests.cli.conftest import FIXTURES, Command
from tests.report.planted import planted


def members(bundle: Path) -> dict[str, bytes]:
    raw = zstd().decompress(bundle.read_bytes())
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        found = {}
        for member in archive:
            stream = archive.extractfile(member)
            assert stream is not None
            found[member.name.removeprefix("pdtriage-bundle/")] = stream.read()
    return found


@pytest.mark.parametrize(
    "scenario",
    ["data-errno5-worker", "nodes-errno5", "ps-server-dies", "runs-success-then-failure"],
)
def test_a_bundle_is_judged_like_the_logs(scenario: str, tmp_path: Path) -> None:
    bundle = tmp_path / "b.tar.zst"
    write_bundle([FIXTURES / scenario], bundle)
    before, after = analyze(FIXTURES / scenario), analyze(bundle)
    assert after.verdict == before.verdict
    first, second = before.root_causes[0], after.root_causes[0]
    assert (second.signature, second.rank, second.host) == (first.signature, first.rank, first.host)
    assert second.fingerprint == first.fingerprint


def test_what_is_in_it(tmp_path: Path) -> None:
    bundle = tmp_path / "b.tar.zst"
    write_bundle([FIXTURES / "data-errno5-worker" / "log"], bundle)
    found = members(bundle)
    assert json.loads(found["pdtriage/report.json"])["verdict"] == "failed"
    assert found["pdtriage/report.html"].startswith(b"<!doctype html>")
    assert "pdtriage" in json.loads(found["pdtriage/versions.json"])
    assert b"OSError: [Errno 5]" in found["logs/log/workerlog.1"]
    environment = found["logs/log/envlog.0"].decode()
    assert "PADDLE_TRAINER_ID" in environment
    assert "PATH=" not in environment


def test_a_name_that_says_another_format_is_refused(
    pdtriage: Command, failed_job: Path, tmp_path: Path
) -> None:
    answer = pdtriage("bundle", failed_job, "-o", "b.rar")
    assert answer.code == 2
    assert ".tar.zst" in answer.err
    assert not (tmp_path / "b.rar").exists()


def test_a_zip_holds_the_same(tmp_path: Path) -> None:
    logs = FIXTURES / "data-errno5-worker" / "log"
    tarred, zipped = tmp_path / "b.tar.zst", tmp_path / "b.zip"
    write_bundle([logs], tarred)
    write_bundle([logs], zipped)
    with zipfile.ZipFile(zipped) as archive:
        assert archive.testzip() is None
        found = {name: archive.read(name) for name in archive.namelist()}
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}
    assert found == {f"pdtriage-bundle/{name}": text for name, text in members(tarred).items()}
    assert analyze(zipped).root_causes[0].rank == 1


def test_no_secret_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    lines, secrets = [], []
    for kind in planted().values():
        lines += [line for line, _ in kind]
        secrets += [secret for _, secret in kind]
    body = [*lines, "Traceback (most recent call last):", "OSError: [Errno 5] Input/output error"]
    (folder / "workerlog.0").write_text("\n".join([*body, *lines]) + "\n")
    (folder / "envlog.0").write_text("\n".join(f"V{n}={s}" for n, s in enumerate(secrets)) + "\n")
    (folder / "pdtriage").mkdir()
    record = {"schema": "pdtriage.run/1", "event": "start", "argv": lines}
    (folder / "pdtriage" / "run-0001.jsonl").write_text(json.dumps(record) + "\n")
    bundle = tmp_path / "b.tar.zst"
    write_bundle([folder], bundle)
    everything = b"\n".join(members(bundle).values()).decode()
    for secret in secrets:
        assert secret not in everything


def test_it_keeps_within_its_size_and_tells_what_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    shutil.copytree(FIXTURES / "data-errno5-worker" / "log", folder)
    for number in range(25):
        text = "".join(f"{number} {n} {'x' * 900}\n" for n in range(120))
        (folder / f"workerlog.{number + 10}").write_text(text)
    bundle = tmp_path / "b.tar.zst"
    contents = write_bundle([folder], bundle, most_bytes=1 << 20)
    found = members(bundle)
    assert sum(map(len, found.values())) <= 1 << 20
    left = json.loads(found["pdtriage/left-out.json"])
    assert len(left) == len(contents.left_out) >= 25
    assert any("no room left" in row["why"] for row in left)
    assert any("far from evidence" in row["why"] for row in left)
    assert b"OSError: [Errno 5]" in found["logs/log/workerlog.1"]


def test_what_is_said_in_it_is_in_the_language_asked_for(tmp_path: Path) -> None:
    contents = write_bundle([FIXTURES / "data-errno5-worker"], tmp_path / "b.tar", language="zh")
    assert "结论：失败" in contents.members["pdtriage/README.md"].decode()
    assert [row["why"] for row in contents.left_out] == ["100 行中的 10 行，远离证据"]


def test_excerpts_mark_their_gaps() -> None:
    content = b"".join(b"line %d\n" % n for n in range(1, 1001))
    windows = Windows(marks=(500,), before=2, after=1, head=1, tail=1)
    part = excerpt_of([content[:777], content[777:]], windows)
    assert part.content.decode().splitlines() == [
        "line 1",
        "[... 496 lines left out ...]",
        "line 498",
        "line 499",
        "line 500",
        "line 501",
        "[... 498 lines left out ...]",
        "line 1000",
    ]
    assert (part.lines, part.skipped) == (1000, 994)


def test_the_verb(pdtriage: Command, failed_job: Path) -> None:
    answer = pdtriage("bundle", failed_job / "log", "-o", "b.tar.gz")
    assert answer.code == 0
    assert answer.out.startswith("b.tar.gz: ")
    assert pdtriage("analyze", "b.tar.gz", "-q").out.startswith("failed: rank 1 of 3")
    piped = pdtriage("bundle", "-", stdin=(failed_job / "console.log").read_bytes())
    assert piped.code == 0
    again = pdtriage("analyze", "pdtriage-bundle.tar.zst", "-q").out
    assert again.startswith("failed: rank 1"), "what came through a pipe is read again"
    assert "logs/console-stdin.log:" in again


def test_a_pipe_of_the_shell_is_read_once_and_kept(tmp_path: Path, failed_job: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, (failed_job / "console.log").read_bytes())
    os.close(writing)
    try:
        contents = write_bundle([f"/dev/fd/{reading}"], tmp_path / "b.tar")
    finally:
        os.close(reading)
    assert b"LAUNCH INFO" in contents.members["logs/console-pipe.log"]


def test_the_verb_refuses_clearly(pdtriage: Command, failed_job: Path) -> None:
    assert pdtriage("bundle", "nowhere").code == 3
    answer = pdtriage("bundle", failed_job, "-o", "no/such/b.tar.zst")
    assert answer.code == 2
    assert "cannot write the bundle" in answer.err
