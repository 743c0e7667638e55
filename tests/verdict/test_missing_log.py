"""Given a console and all logs but the culprit's, when they are judged, then it is still named."""

from __future__ import annotations

import pytest

from .builders import DISK, ERROR, STEPS, judged_files, lost

HEAD = """\
LAUNCH INFO 2024-01-02 03:04:01,000 Job: default, mode collective, replicas 1[1:1], elastic False
LAUNCH INFO 2024-01-02 03:04:01,378 Run Pod: abcdef, replicas 3, status ready
LAUNCH INFO 2024-01-02 03:04:01,962 Watching Pod: abcdef, replicas 3, status running
"""
LEGACY_END = (
    "ERROR 2024-01-02 03:04:09,112 launch_utils.py:642] ABORT!!! Out of all 3 trainers, the "
    "trainer process with rank=[0, 1, 2] was aborted. Please check its log.\n"
)
UNTIMED = "loading checkpoint\n"


def repeated(rank: int, words: str) -> str:
    """How Paddle's launcher ends: it shows the log of the first failed process that it found."""
    return (
        "LAUNCH INFO 2024-01-02 03:04:09,997 Pod failed\n"
        "LAUNCH ERROR 2024-01-02 03:04:09,997 Container failed !!!\n"
        f"Container rank {rank} status failed cmd ['python', '-u', 'train.py'] code 1 "
        f"log log/workerlog.{rank}\n"
        "LAUNCH INFO 2024-01-02 03:04:09,997 ------- ERROR LOG DETAIL -------\n"
        f"{words}LAUNCH INFO 2024-01-02 03:04:10,828 Exit code -15\n"
    )


@pytest.mark.parametrize("culprit", [0, 1, 2])
def test_what_a_launcher_repeats_is_of_the_rank_it_names(culprit: int) -> None:
    victims = [rank for rank in range(3) if rank != culprit]
    files = {f"log/workerlog.{rank}": STEPS + lost(rank, culprit) for rank in victims}
    shown = STEPS + (lost(0, culprit) if culprit else DISK)
    files["console.log"] = HEAD + shown + repeated(culprit, STEPS + DISK)
    found = judged_files(files)
    (cause,) = found.causes
    assert (cause.role, cause.ranks, cause.category) == ("worker", (culprit,), "storage.disk")
    assert {victim.rank for victim in found.victims} == set(victims)


def test_what_a_launcher_shows_all_the_time_is_of_its_first_rank() -> None:
    """What that rank survived is no cause, though it is the first error in the console."""
    stream = STEPS + ERROR + "epoch 0 step 2 loss 1.3\nepoch 0 step 3 loss 1.2\n" + DISK
    files = {f"log/workerlog.{rank}": STEPS + lost(rank, 0) for rank in (1, 2)}
    found = judged_files({**files, "console.log": HEAD + stream + LEGACY_END})
    (cause,) = found.causes
    assert (cause.ranks, cause.category) == ((0,), "storage.disk")
    assert {victim.rank for victim in found.victims} == {1, 2}


def test_an_exception_in_the_last_line_is_no_silence() -> None:
    words = 'ts=2024-01-02T03:04:05Z level=error msg="rank 1 stops: ZeroDivisionError: by zero"\n'
    files = {"log/workerlog.0": STEPS + lost(0, 1), "log/workerlog.1": STEPS + words}
    (cause,) = judged_files(files).causes
    assert (cause.ranks, cause.signature) == ((1,), "verdict.bare-exception")
    files["log/workerlog.1"] = STEPS + words.replace("ZeroDivisionError: by", "divided by")
    (cause,) = judged_files(files).causes
    assert (cause.ranks, cause.signature) == ((1,), "verdict.silent")


@pytest.mark.parametrize("words", ["retry 1/3 ok", "recovered, reading on", "重试成功"])
def test_a_retry_that_went_well_is_told_below_the_error(words: str) -> None:
    disk = DISK.replace("in f", "in read")
    found = judged_files({"log/workerlog.0": UNTIMED + disk + words + "\n"})
    assert (found.verdict, found.causes) == ("unknown", ())
    assert judged_files({"log/workerlog.0": UNTIMED + disk + "retry 1/3\n"}).verdict == "failed"
    hint = "  [Hint: Expected K == 3, but received K:4 != 3.] (at /paddle/phi/matmul.h:329)\n\n"
    found = judged_files({"log/workerlog.0": UNTIMED + disk + hint + words + "\n"})
    assert (found.verdict, found.causes) == ("unknown", ())


def test_what_python_ignored_at_exit_is_no_end() -> None:
    """Its last line names an exception, and all of its traceback is there."""
    ignored = "Exception ignored in atexit callback: <function bye at 0x7f07>\n" + ERROR
    texts = {f"log/workerlog.{rank}": STEPS + "Training finished\n" for rank in range(2)}
    texts["log/workerlog.1"] += ignored
    assert judged_files(texts).verdict in ("succeeded", "unknown")


@pytest.mark.parametrize("words", ["INFO:root:Finished.", "[03:04:05] All done!", "任务已完成。"])
def test_a_bare_word_of_the_end(words: str) -> None:
    assert judged_files({"log/workerlog.0": STEPS + words + "\n"}).verdict == "succeeded"
    assert judged_files({"log/workerlog.0": STEPS + words + "x\n"}).verdict == "unknown"
