"""Given a program that came to its end, then the run has succeeded, whoever else was silent."""

from __future__ import annotations

from pathlib import Path

import pytest

import pdtriage

from .builders import DISK, STEPS, TERMINATED, judged, judged_files, stopped, summary

FILLER = "".join(f"  learning_rate_{n} : 0.1\n" for n in range(12))
DONE = "\033[32m[2023-01-15 10:00:00] [    INFO] - Training finished\033[0m\n"
WRAPPED_UP = "[2023-04-13 22:25:12,780] [    INFO] - Inference model exported.\n"
DESTROYED = "I0115 10:30:00.000000 70 process_group_nccl.cc:159] ProcessGroupNCCL destruct\n"
SAVED = "Save checkpoint: output/unet/final\n"
FIRST = "I0115 10:00:00.000000 70 tcp_utils.cc:132] Successfully connected to 10.0.0.1:1\n"
QUIET = "Start\n"


def written(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


@pytest.mark.parametrize(
    "last",
    [
        "[10/06 13:55:02] \033[31mtraining AGCN finished\033[0m\n",
        "INFO - ** * ** Saving trained model to ./exp/final\n",
        "Epoch 12/12, Iter 400/400, Loss: 0.1\n",
    ],
    ids=["own words", "final model", "last step of all"],
)
def test_last_words_stand_among_the_last_lines(tmp_path: Path, last: str) -> None:
    folder = written(tmp_path, workerlog_0=STEPS + last + FILLER, workerlog_1=QUIET)
    report = pdtriage.analyze(folder)
    assert (report.verdict, report.root_causes) == ("succeeded", ())
    (folder / "workerlog.0").write_text(STEPS + last + 8 * FILLER)
    assert pdtriage.analyze(folder).verdict == "unknown"  # something else was begun


def test_a_bar_drawn_over_and_over_is_one_line(tmp_path: Path) -> None:
    bar = "\r".join(f"eval: {n}/90 [00:01<00:02, 3.1it/s]" for n in range(90)) + "\n"
    last = "[2022/05/15 13:45:41] root INFO: metric eval ***************\n"
    folder = written(tmp_path, workerlog_0=STEPS + last + bar + FILLER)
    assert pdtriage.analyze(folder).verdict == "succeeded"


def test_a_step_below_takes_it_back(tmp_path: Path) -> None:
    text = STEPS + "training AGCN finished\n" + "epoch 1 step 7 loss 1.5\n"
    assert pdtriage.analyze(written(tmp_path, workerlog_0=text)).verdict == "unknown"


def test_an_evaluation_behind_the_last_epoch_ends_a_training(tmp_path: Path) -> None:
    def epoch(number: int) -> str:
        line = "[2021/07/12 07:5{0}:21] root INFO: epoch: [{1}/3], iter: {0}, lr: 0.1, loss: 1.5\n"
        return "".join(line.format(n, number) for n in (2 * number, 2 * number + 1))

    evaluated = "[2021/07/12 07:59:21] root INFO: cur metric, acc: 0.81, norm_edit_dis: 0.9\n"
    training = epoch(1) + epoch(2)
    folder = written(tmp_path, workerlog_0=training + evaluated)
    assert pdtriage.analyze(folder).verdict == "unknown"
    written(tmp_path, workerlog_0=training + epoch(3))
    assert pdtriage.analyze(folder).verdict == "unknown"
    written(tmp_path, workerlog_0=training + epoch(3) + evaluated)
    assert pdtriage.analyze(folder).verdict == "succeeded"


EVALUATED = "[03/18 09:59:00] ppdet.engine INFO: Best test bbox ap is 0.374.\n"


def detection(epoch: int, left: str) -> str:
    """Ten steps of an epoch whose number alone does not say how many there will be."""
    line = "[03/18 09:{:02}:{:02}] ppdet.engine INFO: Epoch: [{}] [{}/10] loss: 1.5 eta: {}\n"
    return "".join(
        line.format(epoch, 5 * n, epoch, n, left if n == 9 else "1:00:00") for n in range(10)
    )


@pytest.mark.parametrize(
    ("left", "verdict"),
    [("0:00:04", "succeeded"), ("0:01:00", "unknown"), ("3 days, 0:00:04", "unknown")],
)
def test_an_evaluation_when_no_time_was_left_ends_a_training(
    left: str, verdict: str, tmp_path: Path
) -> None:
    training = detection(0, "1:00:00") + detection(1, left)
    folder = written(tmp_path, workerlog_0=training, workerlog_1=QUIET)
    assert pdtriage.analyze(folder).verdict == "unknown"
    written(tmp_path, workerlog_0=training + 9 * FILLER + EVALUATED)
    assert pdtriage.analyze(folder).verdict == verdict
    written(tmp_path, workerlog_0=training + EVALUATED + 9 * FILLER)
    assert pdtriage.analyze(folder).verdict == "unknown"  # something else was begun
    written(tmp_path, workerlog_0=training + EVALUATED + detection(2, "1:00:00"))
    assert pdtriage.analyze(folder).verdict == "unknown"


def test_the_last_step_below_the_heading_of_the_last_epoch(tmp_path: Path) -> None:
    def epoch(number: int, steps: int = 4) -> str:
        lines = [f"step {n}/4 - loss: 0.5 - acc: 0.5 - 12ms/step\n" for n in range(1, steps + 1)]
        return f"Epoch {number}/3\n" + "".join(lines)

    folder = written(tmp_path, workerlog_0=epoch(1) + epoch(2))
    assert pdtriage.analyze(folder).verdict == "unknown"
    written(tmp_path, workerlog_0=epoch(1) + epoch(2) + epoch(3, 3))
    assert pdtriage.analyze(folder).verdict == "unknown"
    written(tmp_path, workerlog_0=epoch(1) + epoch(2) + epoch(3))
    assert pdtriage.analyze(folder).verdict == "succeeded"


@pytest.mark.parametrize("last", [WRAPPED_UP, DESTROYED], ids=["export", "destructor"])
def test_deeds_behind_the_last_step_are_an_end(last: str) -> None:
    assert judged(STEPS + last, QUIET).verdict == "succeeded"
    assert judged(last, QUIET).verdict == "unknown"
    assert judged(STEPS + last + STEPS, QUIET).verdict != "succeeded"
    assert judged(STEPS + last, QUIET + DISK).verdict == "failed"


def test_who_leaves_in_good_order_after_half_an_hour_has_done_its_work() -> None:
    assert judged(FIRST + DESTROYED).verdict == "succeeded"
    assert judged(DESTROYED.replace("10:30", "10:00") + DESTROYED).verdict == "succeeded"
    assert judged(FIRST + DESTROYED.replace("10:30", "10:01")).verdict == "unknown"


def test_the_last_words_of_another_process_are_not_those_of_one_that_starts_below() -> None:
    assert judged(DESTROYED + FIRST.replace("10:00", "10:45") + SAVED).verdict == "unknown"


@pytest.mark.parametrize(
    "other", [STEPS, summary(71, 60), DISK], ids=["in the midst", "stopped", "failed"]
)
def test_one_who_has_finished_speaks_for_the_silent_only(other: str) -> None:
    assert judged(STEPS + DONE, QUIET, QUIET).verdict == "succeeded"
    assert judged(STEPS + DONE, other, QUIET).verdict != "succeeded"


def test_who_was_interrupted_after_that_was_interrupted() -> None:
    console = "LAUNCH INFO 2023-01-02 03:04:05,006 Terminating with signal 15\n"
    assert judged(STEPS + DONE, QUIET, console=console).verdict != "succeeded"


def test_servers_that_are_ended_when_all_trainers_have_left_have_served() -> None:
    server = QUIET + TERMINATED + stopped(80, 60)
    files = {"log/serverlog.0": server, "log/workerlog.0": STEPS, "log/workerlog.1": STEPS}
    found = judged_files(files)
    assert (found.verdict, found.causes) == ("succeeded", ())
    failed = judged_files({**files, "log/workerlog.1": STEPS + DISK})
    assert failed.causes[0].category == "storage.disk"
    all_ended = judged_files({**files, "log/workerlog.1": STEPS + summary(71, 60)})
    assert all_ended.verdict != "succeeded"


def test_a_crash_on_the_way_out_says_what_had_been_reached() -> None:
    crash = "terminate called without an active exception\n" + summary(70, 70).replace(
        TERMINATED, "FatalError: `Segmentation fault` is detected by the operating system.\n"
    ).replace("SIGTERM", "SIGSEGV")
    found = judged(STEPS + SAVED + DONE + crash, QUIET)
    assert found.verdict == "failed"
    (said,) = found.notes
    assert "training had ended before that (line 4" in said.en
    assert "output/unet/final" in said.en
    assert "训练已经结束" in said.zh
    assert judged(STEPS + SAVED + crash, QUIET).notes == ()
    assert judged(DONE + STEPS + crash, QUIET).notes == ()


LOGURU = "2026-11-18 04:00:00.123 | {level} | train:87 - the plan has no stages\n"


@pytest.mark.parametrize(
    ("last", "is_bad"),
    [
        (LOGURU.format(level="INFO"), False),
        (LOGURU.format(level="CRITICAL"), True),
        ("Error: Invalid value for '--depth': 'deep' is not a valid integer.\n", True),
        ("Error rate: 0.1\n", False),
    ],
)
def test_who_ends_on_an_error_did_not_finish_with_the_others(
    tmp_path: Path, last: str, is_bad: bool
) -> None:
    text = f"Start\n{last}"
    folder = written(tmp_path, workerlog_0=text, workerlog_1=STEPS + DONE)
    report = pdtriage.analyze(folder)
    ranks = [cause.rank for cause in report.root_causes]
    expected = ("failed", [0]) if is_bad else ("succeeded", [])
    assert (report.verdict, ranks) == expected
