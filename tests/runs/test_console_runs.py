"""Given a console that several launches wrote to, when read, then each tells of its own run."""

from __future__ import annotations

import pytest

from .builders import runs_of

STEPS = "epoch 0 step 0 loss 1.5\nepoch 0 step 1 loss 1.4\n"
LEGACY_START = (
    "INFO 2023-01-{day:02} 03:04:05,006 launch_utils.py:522] Local start 1 processes. First "
    "process distributed environment info (Only For Debug): \n"
)
USAGE = "usage: launch [-h] [--nnodes NNODES]\nlaunch: error: unrecognized arguments: --nnode 2\n"


def launch(day: int, code: int = 1, pod: str = "aaaaaa") -> str:
    at = f"LAUNCH INFO 2023-01-{day:02} 03:04"
    return (
        f"{at}:00,006 -----------  Configuration  -----------------\n"
        f"{at}:00,106 Run Pod: {pod}, replicas 1, status ready\n"
        f"{at}:59,006 Exit code {code}\n"
    )


def log(pid: int, day: int) -> str:
    at = f"I01{day:02} 03:04:05.000006 {pid}"
    return f"{at} tcp_utils.cc:132] Successfully connected to 127.0.0.1:6170\n{STEPS}"


def codes(files: dict[str, str]) -> list[list[str]]:
    return [
        [e.fields["exit_code"] for _, e in run.launcher if "exit_code" in e.fields]
        for run in runs_of(files)
    ]


def test_launches_belong_to_the_runs_of_their_time() -> None:
    console = launch(2, 11) + launch(9, 22)
    assert codes({"console.log": console, "log/workerlog.0": log(100, 2) + log(200, 9)}) == [
        ["11"],
        ["22"],
    ]


def test_the_console_of_an_older_launch_is_not_that_of_the_newest() -> None:
    files = {"console.log": launch(2, 11), "log/workerlog.0": log(100, 2) + log(200, 9)}
    assert codes(files) == [["11"], []]


def test_a_launch_that_left_no_log_is_a_run() -> None:
    files = {"console.log": launch(2, 11) + launch(9, 22), "log/workerlog.0": log(100, 2)}
    assert codes(files) == [["11"], ["22"]]


def test_a_launch_that_could_not_read_its_flags_is_a_run() -> None:
    files = {"console.log": USAGE + launch(9, 22), "log/workerlog.0": log(100, 9)}
    assert codes(files) == [[], ["22"]]


def test_a_captured_output_is_split_like_the_log_of_a_process() -> None:
    text = log(100, 2) + "training finished\n" + log(200, 9)
    assert len(runs_of({"console.log": text})) == 2


def test_what_two_processes_write_at_once_is_one_run() -> None:
    assert len(runs_of({"console.log": log(100, 2) + log(101, 2)})) == 1


@pytest.mark.parametrize(
    "between",
    [
        'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\nKeyError: 1\n',
        "[2023/01/02 03:04:05] ppocr INFO: train with paddle 2.4.2 and device Place(gpu:0)\n",
    ],
    ids=["it failed", "a trainer tells of its start"],
)
def test_a_program_that_is_started_again_at_once_is_another_run(between: str) -> None:
    assert len(runs_of({"console.log": log(100, 2) + between + log(101, 2)})) == 2


def test_ranks_named_by_their_lines_are_one_run_though_one_follows_the_other() -> None:
    failed = 'Traceback (most recent call last):\n  File "t.py", line 1, in f\nKeyError: 1\n'
    ranks = {0: log(100, 2) + failed, 1: log(101, 2) + failed}
    text = "".join(f"[rank {n}] {line}\n" for n, log in ranks.items() for line in log.split("\n"))
    assert len(runs_of({"console.log": text})) == 1


def legacy_launch(day: int) -> str:
    return (
        LEGACY_START.format(day=day)
        + "ABORT!!! Out of all 1 trainers, the trainer process "
        + ("with rank=[0] was aborted. Please check its log.\n")
    )


def test_a_launch_by_the_other_launcher_is_another_one() -> None:
    files = {"console.log": launch(2, 11) + legacy_launch(9), "log/workerlog.0": log(100, 2)}
    assert codes(files) == [["11"], []]


def test_a_launcher_that_had_started_its_processes_cannot_fail_at_its_flags() -> None:
    files = {"console.log": launch(2, 11) + USAGE, "log/workerlog.0": log(100, 2)}
    assert codes(files) == [["11"], []]


def test_steps_are_counted_anew_in_every_launch_a_console_tells_of() -> None:
    for times, runs in ((1, 1), (2, 2)):
        console = "".join(launch(day, day) for day in range(1, times + 1))
        assert len(runs_of({"console.log": console, "log/workerlog.0": STEPS * 2})) == runs


def test_the_newer_launcher_that_hands_over_to_the_older_one_is_one_launch() -> None:
    opening = launch(2).splitlines(keepends=True)[0].replace("03:04:00", "03:04:05")
    assert len(runs_of({"console.log": opening + legacy_launch(2)})) == 1
    assert len(runs_of({"console.log": opening + legacy_launch(9)})) == 2


def test_servers_that_are_started_after_a_failed_launch_are_of_the_next_one() -> None:
    """The older launcher prints its arguments late, when it ends; it starts both kinds at once."""
    failed = (
        "ERROR 2023-01-02 03:05:05,006 launch_utils.py:622] ABORT!!! Out of all 1 trainers, the "
        "trainer process with rank=[0] was aborted. Please check its log.\n"
    )
    late = "-----------  Configuration Arguments -----------\nbackend: auto\nlog_dir: log\n"
    starts = "".join(
        LEGACY_START.format(day=9).replace("Local start", f"Local {role} start")
        for role in ("server", "worker")
    )
    first = LEGACY_START.format(day=2) + failed + late
    assert len(runs_of({"console.log": first + starts + late})) == 2
    assert len(runs_of({"console.log": starts + late})) == 1


def test_a_script_that_prints_its_arguments_as_a_launcher_does_is_no_launch() -> None:
    banner = "-----------  Configuration Arguments -----------\nlr: 0.1\n"
    at = launch(2, 11).splitlines(keepends=True)
    console = "".join([*at[:2], banner, STEPS, *at[2:]])
    assert codes({"console.log": console, "log/workerlog.0": log(100, 2)}) == [["11"]]


def test_its_arguments_open_the_launch_that_the_older_launcher_then_starts() -> None:
    banner = "-----------  Configuration Arguments -----------\nips: 127.0.0.1\n"
    console = launch(2, 11) + banner + LEGACY_START.format(day=9) + STEPS
    assert len(runs_of({"console.log": console})) == 2
