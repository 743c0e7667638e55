"""`pdtriage doctor` as a user meets it, and what `pdtriage run` says by itself."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from pdtriage.doctor import Finding, cheap_findings, worst
from pdtriage.doctor.findings import Status
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.support import exit_codes
from pdtriage.support.language import Text

from .conftest import CHECKS, Machine

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "doctor.schema.json").read_text(encoding="utf-8"))
UNWANTED = ("PADDLE", "POD_", "FLAGS_", "TRAINER", "CUDA", "LC_", "LANG", "KUBERNETES")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def pdtriage(tmp_path: Path) -> Run:
    def _run(*words: str, files: int | None = None) -> subprocess.CompletedProcess[str]:
        def _limit() -> None:
            if files is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        kept = {k: v for k, v in os.environ.items() if not k.startswith(UNWANTED)}
        return subprocess.run(
            [sys.executable, "-m", "pdtriage", *words],
            cwd=tmp_path,
            env={**kept, "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            preexec_fn=_limit,
            check=False,
        )

    return _run


def test_ready(pdtriage: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    told = pdtriage("doctor", "--nproc_per_node", "2", "train.py", "--format", "of the script")
    assert told.returncode == exit_codes.OK, told.stdout
    assert told.stdout.splitlines()[-1].startswith("Ready")
    assert os.listdir(tmp_path) == ["train.py"], "nothing is left behind"


def test_not_ready(pdtriage: Run) -> None:
    told = pdtriage("doctor", "missing.py")
    assert told.returncode == exit_codes.FAILED
    assert told.stdout.startswith("failed   script")
    assert "→ Check its path." in told.stdout


def test_in_chinese(pdtriage: Run) -> None:
    told = pdtriage("doctor", "--lang", "zh", "missing.py")
    assert told.stdout.startswith("失败     script")
    assert "尚不能启动" in told.stdout
    assert "failed" not in told.stdout


@pytest.mark.parametrize(
    "words", [("--format", "xml"), ("--no_such_flag", "1"), ("--wait", "soon"), ("--format",)]
)
def test_wrong_usage(pdtriage: Run, words: tuple[str, ...]) -> None:
    told = pdtriage("doctor", *words)
    assert told.returncode == exit_codes.USAGE
    assert told.stderr.startswith("pdtriage doctor: ")
    assert told.stdout == ""


def test_json(pdtriage: Run) -> None:
    told = pdtriage("doctor", "--format=json", "missing.py")
    assert told.returncode == exit_codes.FAILED
    answer = json.loads(told.stdout)
    jsonschema.validate(answer, SCHEMA)
    assert answer["status"] == "failed"
    assert [finding["id"] for finding in answer["findings"]] == list(CHECKS)


def test_every_check_is_documented() -> None:
    page = (ROOT / "docs" / "doctor.md").read_text(encoding="utf-8")
    for name in CHECKS:
        assert f"| `{name}` |" in page, name


def test_help(pdtriage: Run) -> None:
    told = pdtriage("doctor", "--help")
    assert told.returncode == exit_codes.OK
    assert "--run-check" in told.stdout


def finding(status: Status) -> Finding:
    return Finding("some-check", status, Text("seen", "所见"))


@pytest.mark.parametrize(
    ("statuses", "together"),
    [
        (("ok", "warning", "failed"), "failed"),
        (("skipped", "ok", "warning"), "warning"),
        (("skipped", "ok"), "ok"),
        (("skipped",), "ok"),
    ],
)
def test_the_worst_counts(statuses: tuple[Status, ...], together: str) -> None:
    assert worst([finding(status) for status in statuses]) == together


def test_run_warns_by_itself(pdtriage: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('trained')\n")
    told = pdtriage("run", "train.py", files=200)
    assert told.returncode == 0
    warned = [line for line in told.stderr.splitlines() if "WARNING" in line]
    assert len(warned) == 1, "one line each"
    assert "at most 200 open files. Raise it: `ulimit -n 1024`" in warned[0]
    assert "open files" not in pdtriage("run", "train.py", files=4096).stderr


def test_run_warns_under_paddles_launcher_too(pdtriage: Run, tmp_path: Path) -> None:
    """A stand-in for that launcher: it is not its business."""
    launch = tmp_path / "paddle" / "distributed" / "launch.py"
    launch.parent.mkdir(parents=True)
    for package in (launch.parent, launch.parent.parent):
        (package / "__init__.py").touch()
    launch.write_text("print('launched')\n")
    (tmp_path / "train.py").touch()
    told = pdtriage("run", "--launcher=paddle", "--nproc_per_node=2", "train.py", files=200)
    assert told.returncode == 0, told.stderr
    assert "launched" in told.stdout
    assert "at most 200 open files" in told.stderr


def test_run_warns_of_cards_that_somebody_else_holds(machine: Machine) -> None:
    flags = LaunchFlags(log_dir=str(machine.folder / "log"))
    held = machine.root / "proc" / "4711" / "fd" / "7"
    held.parent.mkdir(parents=True)
    held.symlink_to("/dev/xpu1")

    def found(*cards: str, besides: tuple[int, ...] = ()) -> list[str]:
        findings = cheap_findings(
            flags, {}, 2, cards=cards, besides=besides, root=str(machine.root)
        )
        return [f"{each.status} {each.seen.en}" for each in findings]

    assert found("xpu:0", "xpu:1") == ["warning cards are in use (pids): xpu:1 4711"]
    assert found("xpu:0") == []
    assert found("xpu:1", besides=(4711,)) == [], "our own process"


def test_a_healthy_machine_gets_no_warning(machine: Machine) -> None:
    flags = LaunchFlags(log_dir=str(machine.folder / "log"))
    assert cheap_findings(flags, {}, 2, root=str(machine.root)) == []
    machine.limits(files="100")
    found = cheap_findings(flags, {}, 2, root=str(machine.root))
    assert [(each.id, each.status) for each in found] == [("open-files", "failed")]
