"""Given the log folder of a real job, when analysed, then those are blamed who did it."""

from __future__ import annotations

import json
import os
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import pdtriage
from pdtriage.model import Cause, Report

from .scenarios.catalog import HEALTHY as HEALTHY_SCENARIOS
from .scenarios.catalog import SCENARIOS
from .scenarios.record import record

FIXTURES = Path(__file__).parent / "fixtures"
CASES = sorted(label.parent for label in (FIXTURES / "scenarios").glob("*/label.json"))
HEALTHY = sorted(label.parent for label in (FIXTURES / "healthy").glob("*/label.json"))
NOT_LOGS = shutil.ignore_patterns("label.json", "cmd.txt", "mtimes.json")
LIVE = ("data-errno5-worker", "exit-zero-early", "crash-segfault", "import-all", "run-success")

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
each_healthy = pytest.mark.parametrize("case", HEALTHY, ids=lambda case: case.name)


def test_there_are_cases() -> None:
    assert len(CASES) >= 40
    assert len(HEALTHY) >= 15


def test_the_labels_are_the_truth_of_the_catalogue() -> None:
    known = {scenario.name: scenario for scenario in (*SCENARIOS, *HEALTHY_SCENARIOS)}
    for case in (*CASES, *HEALTHY):
        assert truth(case) == known[case.name].truth.label(known[case.name].story), case.name


@each_case
def test_the_culprit_is_found(case: Path) -> None:
    assert blames_culprit(truth(case), analyzed(case)), told(case)


@each_case
def test_verdict_and_runs(case: Path) -> None:
    claims, report = truth(case), analyzed(case)
    assert report.verdict in {claims["verdict"], *claims.get("verdict_also_ok", [])}, told(case)
    assert len(report.runs) == claims["runs"], told(case)


@each_case
def test_no_victim_is_named_as_cause(case: Path) -> None:
    victims = set(truth(case).get("victim_ranks", []))
    blamed = {rank for cause in analyzed(case).root_causes for rank in ranks_of(cause)}
    assert not blamed & victims, told(case)


@each_case
def test_what_is_proven_is_right(case: Path) -> None:
    claims, report = truth(case), analyzed(case)
    if report.root_causes and report.root_causes[0].confidence == "proven":
        assert has_category(claims, report), told(case)
        assert blames_culprit(claims, report), told(case)


def test_the_category_is_right_in_95_of_100() -> None:
    wrong = [told(case) for case in CASES if not has_category(truth(case), analyzed(case))]
    assert len(wrong) <= 0.05 * len(CASES), "\n".join(wrong)


@each_healthy
def test_nothing_is_found_in_healthy_logs(case: Path) -> None:
    report = analyzed(case)
    assert report.verdict in {"succeeded", "running", "unknown"}, told(case)
    assert not report.root_causes, told(case)


@pytest.mark.live
@pytest.mark.parametrize("name", LIVE)
def test_live(name: str, tmp_path: Path) -> None:
    scenario = next(scenario for scenario in SCENARIOS if scenario.name == name)
    case = record(scenario, tmp_path)
    claims, report = truth(case), analyzed(case)
    assert blames_culprit(claims, report), told(case)
    assert has_category(claims, report), told(case)


@cache
def truth(case: Path) -> dict[str, Any]:
    claims: dict[str, Any] = json.loads((case / "label.json").read_text())
    return claims


@cache
def analyzed(case: Path) -> Report:
    """The report on the logs alone, with the times they had when they were written."""
    with TemporaryDirectory() as tmp:
        folder = Path(shutil.copytree(case, Path(tmp) / "artifact", ignore=NOT_LOGS))
        times = case / "mtimes.json"
        for name, mtime in json.loads(times.read_text()).items() if times.exists() else ():
            os.utime(folder / name, (mtime, mtime))
        return pdtriage.analyze(folder)


def blames_culprit(claims: dict[str, Any], report: Report) -> bool:
    roles, culprits = claims.get("culprit_roles"), claims.get("culprit_ranks")
    if not roles and not culprits:
        return True
    if not report.root_causes:
        return False
    top = report.root_causes[0]
    host_is_right = claims.get("culprit_host") in (None, top.host)
    if roles:
        return f"{top.role}.{top.rank}".replace("worker.", "trainer.") in roles
    return host_is_right and top.rank in culprits and set(ranks_of(top)) <= set(culprits)


def has_category(claims: dict[str, Any], report: Report) -> bool:
    named = report.root_causes[0].category if report.root_causes else None
    return named in {claims.get("category"), *claims.get("also_ok", [])}


def ranks_of(cause: Cause) -> list[int]:
    """Ranks of trainers; servers count on their own."""
    if cause.role not in ("worker", "trainer"):
        return []
    return [rank for rank in (*cause.ranks, cause.rank) if rank is not None]


def told(case: Path) -> str:
    report = analyzed(case)
    causes = [
        f"{c.category} {c.role} {c.ranks or c.rank} ({c.confidence})" for c in report.root_causes
    ]
    return (
        f"{case.name}: {report.verdict}, {len(report.runs)} runs, {'; '.join(causes) or 'no cause'}"
    )
