"""The laboratory itself: one seed gives one job, truth hangs together, stored cases hold."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from .case import result_of
from .draw import FAMILIES, Job, as_json, from_json, job_of, ways_to_keep
from .faults import FAULTS
from .keep import keep
from .loggers import LOGGERS
from .noise import CLOSING, NOISES
from .score import Answer, interval, judged
from .script import rendered
from .stored import listed_misses, unpacked, wrong_claims
from .truth import knowable, truth_of

JOBS = [job_of("grammar", index) for index in range(4000)]


def test_one_seed_gives_one_job() -> None:
    again = [job_of("grammar", index) for index in range(4000)]
    assert again == JOBS
    assert job_of("grammar", 1) != job_of("other", 1)
    assert [from_json(as_json(job)) for job in JOBS[:50]] == JOBS[:50]


def test_everything_there_is_gets_drawn() -> None:
    assert {job.logger for job in JOBS} == set(LOGGERS)
    assert {noise.name for job in JOBS for noise in job.noises} == set(NOISES)
    assert {job.closing for job in JOBS} - {""} == set(CLOSING)
    assert {job.fault for job in JOBS} - {None} == set(FAULTS)
    assert {fault.family for fault in FAULTS.values()} == set(FAMILIES)
    assert len(LOGGERS) >= 20


def test_shares_of_jobs_without_a_fault() -> None:
    kinds = Counter(job.kind for job in JOBS)
    assert 0.12 < kinds["healthy"] / len(JOBS) < 0.18
    assert 0.03 < kinds["running"] / len(JOBS) < 0.07


def test_every_script_compiles() -> None:
    for job in JOBS[:400]:
        if job.fault != "syntax-error":
            ast.parse(rendered(job))


def test_the_fault_is_in_the_script_of_the_culprits_only() -> None:
    jobs = [job for job in JOBS if job.moment == "middle" and job.ranks > 1 and not job.servers]
    job = next(job for job in jobs if job.the_fault and job.the_fault.at.startswith("raise "))
    assert job.the_fault is not None
    script = rendered(job)
    assert f"if RANK in {job.culprits}" in script
    assert script.count(job.the_fault.at.partition("\n")[0]) == 1


def test_truth_hangs_together() -> None:
    for job in JOBS:
        truth = truth_of(job)
        assert job.role == "server" or not set(truth.ranks) & set(truth.victims), job.name
        strikes = job.kind == "fault" and job.restarts != "once"
        assert bool(truth.categories) == strikes, job.name
        assert truth.is_quiet != strikes, job.name
        assert all(rank < job.ranks for rank in (*truth.ranks, *truth.victims)), job.name


def right_answer(job: Job) -> Answer:
    truth = truth_of(job)
    category = truth.categories[0] if truth.categories else None
    rank = truth.ranks[0] if truth.ranks else None
    named = (rank,) if rank is not None else ()
    trainers = named if job.role == "worker" else ()
    sure = "proven" if category else None
    return Answer(truth.verdicts[0], category, rank, named, trainers, sure, truth.runs, job.role)


def test_the_right_answer_is_right() -> None:
    for job in JOBS:
        assert all(judged(truth_of(job), right_answer(job), job).values()), job.name


def test_a_victim_is_never_the_right_answer() -> None:
    for job in JOBS:
        truth = truth_of(job)
        if truth.ranks and truth.victims:
            victim = truth.victims[0]
            wrong = Answer("failed", truth.categories[0], victim, (victim,), (victim,), "proven")
            claims = judged(truth, wrong, job)
            assert not claims["rank"], job.name
            assert not claims["victim spared"], job.name
            assert not claims["proven"], job.name


def test_an_alarm_on_a_healthy_job_is_wrong() -> None:
    job = next(job for job in JOBS if job.kind == "healthy")
    assert not judged(truth_of(job), Answer("failed", "hang", 0, (0,), (0,), "guess"), job)[
        "no alarm"
    ]


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """What a job of two leaves whose rank 1 says what the fault makes it say."""
    folder = tmp_path / "whole"
    (folder / "log").mkdir(parents=True)
    (folder / "console.log").write_text("LAUNCH ERROR Container failed\n")
    (folder / "log" / "workerlog.0").write_text("RuntimeError: Connection closed by peer\n")
    text = "Traceback (most recent call last):\nKeyError: 'Optimizer'\n"
    (folder / "log" / "workerlog.1").write_text(text)
    return folder


def a_key_error(kept: str, launcher: str = "new") -> Job:
    fields = {"fault": "key-error", "culprits": (1,), "ranks": 2, "kind": "fault", "kept": kept}
    plain = {"victims": "plain", "launcher": launcher, "index": 0, "lost_victim": 0}
    return Job(**{**vars(JOBS[0]), **fields, **plain})


@pytest.mark.parametrize(
    ("kept", "tells"),
    [
        ("both", (True, True, True)),
        ("gz", (True, True, True)),
        ("no-culprit", (True, False, False)),
        ("no-victim", (True, True, True)),
        ("console", (True, False, False)),
    ],
)
def test_what_can_be_known(
    kept: str, tells: tuple[bool, bool, bool], whole: Path, tmp_path: Path
) -> None:
    job = a_key_error(kept)
    keep(job, whole, tmp_path / "kept")
    truth = knowable(job, truth_of(job), tmp_path / "kept")
    assert (truth.tells_verdict, truth.tells_rank, truth.tells_category) == tells


def test_where_nothing_can_be_known_only_an_overclaim_is_wrong(whole: Path, tmp_path: Path) -> None:
    job = a_key_error("no-culprit")
    keep(job, whole, tmp_path / "kept")
    truth = knowable(job, truth_of(job), tmp_path / "kept")
    assert all(judged(truth, Answer("failed"), job).values())
    assert judged(truth, Answer("failed", "data.io", 1, (1,), (1,), "guess"), job)["no overclaim"]
    assert not judged(truth, Answer("failed", "data.io", 1, (1,), (1,), "likely"), job)[
        "no overclaim"
    ]


def test_a_job_may_be_kept_in_all_other_ways_that_suit_it() -> None:
    for job in JOBS[:400]:
        ways = ways_to_keep(job)
        assert job.kept not in ways
        assert len(set(ways)) == len(ways)
        if job.the_fault and job.the_fault.needs_console:
            assert {*ways, job.kept} <= {"both", "console"}
        if job.kind != "fault":
            assert "no-culprit" not in ways
    whole = next(job for job in JOBS if job.kind == "fault" and job.kept == "folder")
    assert "console" in ways_to_keep(whole)


def test_intervals_are_wilsons() -> None:
    low, high = interval(97, 100)
    assert (round(low, 3), round(high, 3)) == (0.915, 0.99)


def test_stored_cases_are_answered() -> None:
    """A claim that held when the case was stored, or was mended since, must not fall back."""
    with unpacked() as cases:
        results = [result for case in cases if (result := result_of(case)) is not None]
    fallen = [line for line in wrong_claims(results) if line not in listed_misses()]
    assert not fallen, "\n".join(fallen)
