"""The recipes of docs/ci and action.yml, run as far as that is possible without the services."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from junitparser import JUnitXml

from pdtriage.launch.flags import parse_flags
from tests.cli.conftest import FIXTURES

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
        timeout=120,
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
    (triage,) = (step for step in steps if "pdtriage" in step.get("uses", ""))
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


def test_logs_of_pods_are_collected_and_understood(job: Path) -> None:
    nodes = FIXTURES / "nodes-errno5"
    _kubectl(job / "tools" / "kubectl", {f"train-worker-{n}": nodes / f"node{n}" for n in (0, 1)})
    script = (RECIPES / "collect-pods.sh").read_text(encoding="utf-8")
    (job / "collect-pods.sh").write_text(script)
    done = shell("sh collect-pods.sh train team && pdtriage analyze pods -f json", job, "sh")
    assert done.returncode == 1, done.stderr
    assert sorted(p.parent.name for p in (job / "pods").rglob("console.log")) == [
        "train-worker-0",
        "train-worker-1",
    ]
    assert not list((job / "pods").rglob("console-previous.log"))
    report = json.loads(done.stdout)
    assert report["verdict"] == "failed"
    assert report["root_causes"][0]["category"] == "data.io"


def test_the_job_for_kubernetes_gives_flags_that_exist() -> None:
    manifest = yaml.safe_load((RECIPES / "paddlejob.yaml").read_text(encoding="utf-8"))
    assert manifest["kind"] == "PaddleJob"
    template = manifest["spec"]["paddleReplicaSpecs"]["Worker"]["template"]
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


def _action(job: Path, **inputs: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    """The steps of the action as a runner does them."""
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
    own = runner / "pdtriage" / "bin"
    own.mkdir(parents=True)  # where the first step makes its environment
    shutil.copy(job / "tools" / "python3", own / "python")
    shutil.copy(job / "tools" / "pip", own / "pip")
    shutil.copy(job / "tools" / "pdtriage", own / "pdtriage")
    for step in ACTION["runs"]["steps"]:
        environment = _filled(step["env"], given)
        script = step["run"].replace('"$PYTHON" -m venv', "true")
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


def _kubectl(path: Path, pods: Mapping[str, Path]) -> None:
    """Knows two words: the names of the pods of one job, and what each of them printed."""
    cases = "\n".join(
        f'*"logs --namespace team {name} --all-containers") cat "{folder / "console.log"}"'
        f' "{folder}"/log/workerlog.*;;'
        for name, folder in pods.items()
    )
    names = "\\n".join(f"pod/{name}" for name in pods)
    path.write_text(
        f"""#!/bin/sh
case "$*" in
*--previous) echo "previous terminated container not found" >&2; exit 1;;
{cases}
"get pods --namespace team --selector training.kubeflow.org/job-name=train --output name")
    printf '{names}\\n';;
*) echo "unexpected: $*" >&2; exit 64;;
esac
"""
    )
    path.chmod(0o755)
