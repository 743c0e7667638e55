"""Whether a failed attempt is followed by another one."""

from __future__ import annotations

import json
import signal

import pytest

from pdtriage.analysis.pipeline import analyze
from pdtriage.launch.supervise.outcome import Conclusion, Failure, Reached, Retry
from pdtriage.launch.supervise.restart import Decision, RestartPolicy, decide
from pdtriage.record.attempts import attempts_in
from pdtriage.record.reader import read_records
from pdtriage.record.schema import RunRecord
from pdtriage.support.language import Text

from ..running import wait_until
from .conftest import SCRIPTS, Launch, Launcher


def failed(
    retry: Retry = "yes", fingerprint: str = "a", step: int | None = None, epoch: int | None = None
) -> Conclusion:
    reached = None if step is None else Reached(step, epoch)
    title = Text("it broke", "出错")
    return Conclusion("failed", (0,), 1, failure=Failure(title, fingerprint, retry, None, reached))


def decided(*attempts: Conclusion, policy: RestartPolicy = "auto", most: int = 9) -> bool:
    decision = decide(policy, attempts, most)
    assert decision.why.en
    assert decision.why.zh
    return decision.again


NOBODY_KNOWS = Conclusion("failed")
AUTO = [
    # what failed so far, whether to try again
    ([failed("yes")], True),
    ([failed("no")], False),
    ([failed("once")], True),
    ([NOBODY_KNOWS], True),
    ([NOBODY_KNOWS, NOBODY_KNOWS], False),
    # the same failure at the same place is deterministic, whatever it is
    ([failed("yes", step=7), failed("yes", step=7)], False),
    ([failed("once", step=7), failed("once", step=7)], False),
    ([failed("yes"), failed("yes")], False),
    # the same failure further on: the job makes progress
    ([failed("yes", step=7), failed("yes", step=9)], True),
    ([failed("once", step=7), failed("once", step=9)], True),
    ([failed("once"), failed("once", step=0)], True),
    ([failed("once", step=90, epoch=1), failed("once", step=7, epoch=2)], True),
    # but a cause that always comes back does so further on as well
    ([failed("yes", "b"), failed("no", step=9)], False),
    # earlier than the last time: no progress, nor the same place
    ([failed("yes", step=9), failed("yes", step=7)], True),
    ([failed("once", step=9), failed("once", step=7)], False),
    # another failure is judged by itself
    ([failed("yes", "a"), failed("yes", "b")], True),
    ([failed("yes", "a", 7), failed("yes", "b", 7), failed("yes", "a", 7)], True),
    ([failed("once", "a"), failed("once", "b")], True),
    ([failed("once", "a"), failed("once", "b"), failed("once", "a")], False),
]


@pytest.mark.parametrize(("attempts", "again"), AUTO)
def test_judgement(attempts: list[Conclusion], again: bool) -> None:
    assert decided(*attempts) == again


def test_always_and_never_do_not_ask_what_failed() -> None:
    for attempt in (failed("yes"), failed("no"), NOBODY_KNOWS):
        assert decided(attempt, attempt, policy="always")
        assert not decided(attempt, policy="never")


@pytest.mark.parametrize("policy", ["auto", "always"])
def test_the_limit(policy: RestartPolicy) -> None:
    attempts = [failed("yes", step=step) for step in range(3)]
    assert decided(*attempts[:2], policy=policy, most=2)
    assert not decided(*attempts, policy=policy, most=2)
    assert not decided(failed("yes"), policy=policy, most=0)


@pytest.mark.parametrize("policy", ["auto", "always", "never"])
def test_nobody_restarts_what_was_told_to_stop(policy: RestartPolicy) -> None:
    assert not decided(Conclusion("interrupted"), policy=policy)
    assert not decide(policy, [failed("yes")], 3, interrupted=True).again


@pytest.mark.parametrize("code", [101, 102])
def test_codes_that_ask_for_a_restart_count_in_elastic_jobs(code: int) -> None:
    asks = failed("no")._replace(code=code)
    assert not decide("auto", [asks], 3).again
    assert decide("auto", [asks], 3, elastic=True).again
    assert decide("auto", [asks, asks], 3, elastic=True).again
    assert not decide("never", [asks], 3, elastic=True).again
    assert not decide("auto", [asks] * 4, 3, elastic=True).again


# --- real processes ---


AT_ONCE = ("--restart-delay=0",)


def records(launch: Launch) -> list[RunRecord]:
    return read_records(launch.log_dir)


def decisions(launch: Launch) -> list[bool | None]:
    return [record.restart and record.restart.again for record in records(launch)]


def test_without_the_flag_nothing_is_restarted_and_nothing_said(launcher: Launcher) -> None:
    run = launcher.run("again.py", "0=exit:7,exit:0")
    assert run.code == 7
    assert decisions(run) == [None]
    said = run.err.replace("max_restart: ", "")  # of the configuration
    assert "restart" not in said


def test_the_next_attempt_is_a_run_of_its_own(launcher: Launcher) -> None:
    run = launcher.run(
        "--restart-on=auto", *AT_ONCE, "--nproc_per_node=2", "again.py", "1=kill,exit:0"
    )
    assert run.code == 0
    first, second = records(run)
    assert (first.attempt, second.attempt) == (0, 1)
    assert first.launch == second.launch
    assert (first.exit_code, second.exit_code) == (137, 0)
    assert not set(first.endpoints) & set(second.endpoints)
    for process in second.processes:
        assert process.log is not None
        before = (run.log_dir / process.log).read_bytes()[: process.offset].decode()
        assert f"rank {process.rank} attempt 0" in before
    assert "attempt 1" in run.log(1)
    assert "attempt 1 failed: rank 1 was ended by signal 9" in run.err
    assert "restarting, attempt 2 of at most 4" in run.err
    assert decisions(run) == [True, None]


def test_always_goes_on_until_the_limit(launcher: Launcher) -> None:
    run = launcher.run("--restart-on=always", *AT_ONCE, "--max_restart=2", "again.py", "0=exit:5")
    assert run.code == 5
    assert decisions(run) == [True, True, False]
    assert "limit of 2 restarts" in run.err
    assert run.err.count("Exit code") == 1


def test_the_exit_code_is_that_of_the_last_attempt(launcher: Launcher) -> None:
    run = launcher.run("--restart-on=auto", *AT_ONCE, "again.py", "0=exit:5,kill,kill")
    assert run.code == 128 + signal.SIGKILL
    assert decisions(run) == [True, True, False]


def test_ctrl_c_is_not_followed_by_a_restart(launcher: Launcher) -> None:
    run = launcher.start("--restart-on=always", *AT_ONCE, "again.py", "0=exit:1,sleep")
    assert wait_until(lambda: "attempt 1" in run.log())
    run.signal(signal.SIGINT)
    run.finish()
    assert run.code == 130
    assert decisions(run) == [True, False]


def test_ctrl_c_before_the_next_attempt(launcher: Launcher) -> None:
    run = launcher.start("--restart-on=always", "--restart-delay=60", "again.py", "0=exit:7")
    assert wait_until(lambda: decisions(run) == [True])
    run.signal(signal.SIGINT)
    run.finish()
    assert run.code == 7
    assert decisions(run) == [False]
    assert "not restarted: told to stop" in run.err


def test_logs_of_earlier_attempts_are_never_overwritten(launcher: Launcher) -> None:
    words = ("--restart-on=always", *AT_ONCE, "--log_overwrite", "again.py", "0=exit:1,exit:0")
    assert launcher.run(*words).code == 0
    run = launcher.run(*words)
    assert run.code == 0
    assert run.log().count("attempt 0") == run.log().count("attempt 1") == 1


def test_what_cannot_be_started_again_ends_as_it_failed(launcher: Launcher) -> None:
    script = launcher.folder / "gone.sh"
    script.write_text('#!/bin/sh\nrm "$0"\nexit 9\n')
    script.chmod(0o755)
    run = launcher.run("--restart-on=always", *AT_ONCE, str(script))
    assert run.code == 9
    assert "could not be executed" in run.err
    assert run.err.rstrip().endswith("Exit code 9")
    first, second = records(run)
    assert first.restart is not None
    assert first.restart.again is False
    assert "could not be executed" in first.restart.why.en
    assert not second.processes
    # Nothing happened in the second one, so there is nothing to tell of it.
    report = analyze(run.log_dir)
    assert (report.verdict, len(report.runs)) == ("failed", 1)
    assert report.attempts is not None
    assert report.attempts.summary.en.startswith("not restarted: ")


@pytest.mark.parametrize(
    "flags",
    [
        ("--ips=127.0.0.1,127.0.0.2", "--host=127.0.0.1"),
        ("--master=127.0.0.1:6171", "--nnodes=2"),
        ("--servers=192.0.2.7,192.0.2.8", "--workers=192.0.2.7,192.0.2.8", "--host=192.0.2.7"),
    ],
)
def test_several_nodes_need_etcd(launcher: Launcher, flags: tuple[str, ...]) -> None:
    run = launcher.run("--restart-on=auto", *flags, "again.py")
    assert run.code == 2
    assert "needs etcd" in run.err
    assert not records(run)


def test_paddle_restarts_by_its_own_rule(launcher: Launcher) -> None:
    run = launcher.run("--restart-on=auto", "--launcher=paddle", "again.py")
    assert run.code == 2
    assert "Paddle's launcher restarts by its own rule" in run.err


def test_a_servers_job_is_restarted_as_a_whole(launcher: Launcher) -> None:
    words = ("--restart-on=always", *AT_ONCE, "--server_num=1", "--worker_num=2")
    run = launcher.run(*words, "again_ps.py")
    assert run.code == 0, run.err
    assert decisions(run) == [True, None]
    first, second = records(run)
    assert len(first.processes) == len(second.processes) == 3
    assert first.roles["server"] != second.roles["server"], "ports are chosen anew"


def test_the_line_in_the_record(launcher: Launcher) -> None:
    run = launcher.run("--restart-on=never", "again.py", "0=exit:1")
    lines = (run.log_dir / "pdtriage" / "run-0001.jsonl").read_text().splitlines()
    (told,) = [line for line in map(json.loads, lines) if line["kind"] == "restart"]
    assert told["again"] is False
    assert told["why"] == {"en": "--restart-on never", "zh": "--restart-on never"}
    restart = records(run)[0].restart
    assert restart is not None
    assert Decision(*restart) == Decision(False, Text("--restart-on never", "--restart-on never"))


# --- restarts of Paddle's own launcher ---

STANDIN = {"PYTHONPATH": str(SCRIPTS / "standin"), "AGAIN_LINGER": "1.5"}


def under_paddle(launcher: Launcher, what: str, **env: str) -> Launch:
    words = ("--launcher=paddle", str(launcher.folder / "log"), "again.py", what)
    return launcher.run(*words, env=STANDIN | env)


def test_paddles_restarts_are_attempts_of_one_record(launcher: Launcher) -> None:
    run = under_paddle(launcher, "1=exit:3,exit:0")
    assert run.code == 0, run.err
    (whole,) = records(run)
    assert whole.reason == "completed"
    first, second = attempts_in(whole)
    # Paddle's launcher collects it, on a busy machine before anybody else sees its code.
    assert [death.code for death in first.deaths if death.rank == 1] in ([3], [None])
    assert (first.attempt, first.reason, first.restart and first.restart.again) == (
        0,
        "failed",
        True,
    )
    assert (second.attempt, second.reason, second.restart) == (1, "completed", None)
    ends = {process.log: process.end_offset for process in first.processes}
    for process in second.processes:
        if process.log is not None:
            assert process.offset == ends[process.log] > 0
    assert second.endpoints == ("127.0.0.1:7002", "127.0.0.1:7003")
    report = analyze(run.log_dir)
    assert report.verdict == "succeeded"
    assert [told.verdict for told in report.runs] == ["failed", "succeeded"]


def test_paddle_goes_on_although_it_is_the_same_failure(launcher: Launcher) -> None:
    run = under_paddle(launcher, "1=exit:3", AGAIN_OTHERS="sleep")
    # 1 where Paddle's launcher collected it, on a busy machine, before anybody else saw its code.
    assert run.code in (3, 1), run.err
    report = analyze(run.log_dir)
    assert report.attempts is not None
    assert (report.attempts.total, report.attempts.same_failure) == (3, True)
    assert report.root_causes[0].rank == 1


def test_a_trainer_that_starts_after_another_died_is_no_restart(launcher: Launcher) -> None:
    run = under_paddle(launcher, "0=exit:3", STANDIN_GAP="1.2")
    # 1 where Paddle's launcher collected it, on a busy machine, before anybody else saw its code.
    assert run.code in (3, 1), run.err
    attempts = attempts_in(records(run)[0])
    assert [attempt.deaths[0].rank for attempt in attempts] == [0, 0, 0]
    report = analyze(run.log_dir)
    assert report.attempts is not None
    assert (report.attempts.total, report.root_causes[0].rank) == (3, 0)
