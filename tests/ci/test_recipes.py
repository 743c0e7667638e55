"""The recipes of docs/ci and action.yml, run as far as that is possible without the services."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from junitparser import JUnitXml

from pdtriage.launch.options.parse import parse_flags
from tests.cli.conftest import FIXTURES
from tests.collect.conftest import needs_kubectl
from tests.collect.pods import cluster_of, ended, pod
from tests.collect.standin import standing_in

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "docs" / "ci"
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A checkout with the code and the logs of a failed job, and programs of a CI machine."""
    shutil.copytree(FIXTURES / "data-errno5-worker" / "log", tmp_path / "log")
    (tmp_path / "train.py").touch()
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("python3", "pip"):  # installing is left out; everything else is real
        _program(tools / name, 'for word; do [ "$word" = install ] && exit 0; done\n', name)
    _program(tools / "pdtriage", "", "-m pdtriage")
    return tmp_path


def shell(
    script: str, where: Path, program: str = "bash", **environment: str
) -> subprocess.CompletedProcess[str]:
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("GITHUB_", "CI", "LC_"))}
    return subprocess.run(
        [program, "-e", "-c", script],
        cwd=where,
        env={
            **kept,
            "PATH": f"{where / 'tools'}:{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.github-workflows", RECIPES / "github.yml"),
        ("vendor.github-actions", ROOT / "action.yml"),
        ("vendor.gitlab-ci", RECIPES / "gitlab.yml"),
    ],
)
def test_files_fit_the_published_schemas(schema: str, file: Path) -> None:
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(file)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


def test_the_action_annotates_summarises_and_answers(job: Path) -> None:
    done, runner = _action(job)
    assert done.returncode == 0, done.stderr
    assert "::error file=train.py,line=11,title=rank 1 of 3" in done.stdout
    assert (runner / "summary.md").read_text().startswith("## FAILED: rank 1 of 3")
    outputs = dict(line.split("=", 1) for line in (runner / "output").read_text().splitlines())
    assert outputs["verdict"] == "failed"
    assert re.fullmatch(r"1:[0-9a-f]{16}", outputs["fingerprint"])
    assert (job / "pdtriage.html").read_text().startswith("<!doctype html>")
    assert json.loads((job / "pdtriage.sarif").read_text())["version"] == "2.1.0"


def test_the_action_installs_the_checkout_it_lies_in(job: Path) -> None:
    """Both steps word for word; what is not there is only a way to a package index."""
    environment = {
        "PYTHONPATH": sysconfig.get_path("purelib"),  # the dependencies, and what builds wheels
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
    }
    done, runner = _action(job, installed=True, python=sys.executable, **environment)
    assert done.returncode == 0, done.stderr
    assert "verdict=failed" in (runner / "output").read_text()
    where = "import pdtriage; print(pdtriage.__file__)"
    found = shell(f"runner/pdtriage/bin/python -c '{where}'", job, **environment)
    assert found.stdout.startswith(str(runner)), found.stderr


def test_the_action_can_fail_and_takes_a_baseline(job: Path) -> None:
    done, _ = _action(job, fail="true", baseline=str(FIXTURES / "run-success"))
    assert done.returncode == 1
    assert "Unlike run 1 of" in done.stdout


def test_inputs_of_the_action_are_never_obeyed(job: Path) -> None:
    done, _ = _action(job, path="log; touch taken", lang="$(touch taken)", html="`touch taken`")
    assert done.returncode == 2
    assert not list(job.rglob("taken"))
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_the_workflow_uses_what_the_action_offers() -> None:
    workflow = yaml.safe_load((RECIPES / "github.yml").read_text(encoding="utf-8"))
    steps = workflow["jobs"]["train"]["steps"]
    (triage,) = (step for step in steps if step.get("id") == "triage")
    (fetched,) = (step["with"]["path"] for step in steps if "repository" in step.get("with", {}))
    assert triage["uses"] == f"./{fetched}"
    assert set(triage["with"]) <= set(ACTION["inputs"])
    used = re.findall(r"steps\.triage\.outputs\.(\w+)", yaml.safe_dump(workflow))
    assert used
    assert set(used) <= set(ACTION["outputs"])


def test_gitlab(job: Path) -> None:
    recipe = yaml.safe_load((RECIPES / "gitlab.yml").read_text(encoding="utf-8"))["train"]
    done = shell("\n".join(recipe["after_script"]), job, CI_PROJECT_DIR=str(job))
    assert done.returncode == 0, done.stderr
    for name in recipe["artifacts"]["paths"]:
        assert (job / name).exists()
    reports = recipe["artifacts"]["reports"]
    (issue,) = json.loads((job / reports["codequality"]).read_text())
    assert issue["location"] == {"path": "train.py", "lines": {"begin": 11}}
    assert JUnitXml.fromfile(str(job / reports["junit"])).failures == 1


def test_jenkins(job: Path) -> None:
    recipe = (RECIPES / "Jenkinsfile").read_text(encoding="utf-8")
    assert recipe.count("{") == recipe.count("}")
    always = recipe.split("always", 1)[1]
    done = shell("\n".join(re.findall(r"sh '([^']+)'", always)), job, WORKSPACE=str(job))
    assert done.returncode == 0, done.stderr
    (results,) = re.findall(r"testResults: '([^']+)'", always)
    assert JUnitXml.fromfile(str(job / results)).failures == 1
    (artifacts,) = re.findall(r"artifacts: '([^']+)'", always)
    assert all(list(job.glob(name.strip())) for name in artifacts.split(","))


@needs_kubectl
def test_logs_of_pods_are_collected_and_understood(job: Path) -> None:
    """With the real kubectl and a stand-in for the cluster."""
    logs = {f"train-worker-{n}": f"silent-sigkill/log/workerlog.{n}" for n in (0, 1)}
    pods = [pod("worker", 0, ended(250)), pod("worker", 1, ended(137, "OOMKilled"))]
    script = (RECIPES / "collect-pods.sh").read_text(encoding="utf-8")
    (job / "collect-pods.sh").write_text(script)
    with standing_in(cluster_of(pods, logs), job) as where:
        command = "sh collect-pods.sh train ml && pdtriage analyze pods -f json"
        done = shell(command, job, "sh", **where)
    assert done.returncode == 1, done.stderr
    assert sorted(p.relative_to(job / "pods").as_posix() for p in job.glob("pods/*/*")) == [
        f"train-worker-{n}/{file}" for n in (0, 1) for file in ("console.log", "status.txt")
    ]
    report = json.loads(done.stdout)
    cause = report["root_causes"][0]
    assert (report["verdict"], cause["category"]) == ("failed", "memory.host")
    assert (cause["rank"], cause["host"]) == (1, "train-worker-1")


def test_the_job_for_kubernetes_gives_flags_that_exist() -> None:
    manifest = yaml.safe_load((RECIPES / "paddlejob.yaml").read_text(encoding="utf-8"))
    assert manifest["kind"] == "PaddleJob"
    template = manifest["spec"]["worker"]["template"]
    (container,) = template["spec"]["containers"]
    assert [*container["command"], container["args"][0]] == ["pdtriage", "run"]
    flags = parse_flags(container["args"][1:], {})
    assert flags.log_dir == "/logs/$(POD_NAME)"
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in template["spec"]["volumes"]}


def test_every_recipe_is_in_the_list() -> None:
    page = (RECIPES / "README.md").read_text(encoding="utf-8")
    for file in RECIPES.iterdir():
        assert file.name == "README.md" or f"({file.name})" in page


def _action(
    job: Path, installed: bool = False, **inputs: str
) -> tuple[subprocess.CompletedProcess[str], Path]:
    """The steps of the action as a runner does them; usually without installing anything."""
    runner = job / "runner"
    runner.mkdir()
    given = {name: inputs.get(name, spec["default"]) for name, spec in ACTION["inputs"].items()}
    places = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(job),
        "GITHUB_STEP_SUMMARY": str(runner / "summary.md"),
        "GITHUB_OUTPUT": str(runner / "output"),
        "GITHUB_ACTION_PATH": str(ROOT),
        "RUNNER_TEMP": str(runner),
    }
    if not installed:
        own = runner / "pdtriage" / "bin"
        own.mkdir(parents=True)  # where the first step makes its environment
        shutil.copy(job / "tools" / "python3", own / "python")
        shutil.copy(job / "tools" / "pip", own / "pip")
        shutil.copy(job / "tools" / "pdtriage", own / "pdtriage")
    places |= {name: value for name, value in inputs.items() if name.isupper()}
    for step in ACTION["runs"]["steps"]:
        environment = _filled(step["env"], given)
        script = step["run"] if installed else step["run"].replace('"$PYTHON" -m venv', "true")
        script = script.replace('"$pip" install --quiet --require-hashes', "true")  # from an index
        done = shell(f"set -o pipefail\n{script}", job, **places, **environment)
        if done.returncode:
            break
    return done, runner


def _filled(environment: Mapping[str, str], inputs: Mapping[str, str]) -> dict[str, str]:
    pattern = re.compile(r"\$\{\{ inputs\.(\w+) \}\}")
    return {n: pattern.sub(lambda m: inputs[m[1]], v) for n, v in environment.items()}


def _program(path: Path, body: str, words: str) -> None:
    words = "" if words in ("python3", "pip") else words
    path.write_text(f'#!/bin/sh\n{body}exec "{sys.executable}" {words} "$@"\n')
    path.chmod(0o755)
