"""Given logs as real trainers end them, then a good end is seen, of older runs, too."""

from __future__ import annotations

from pathlib import Path

import pytest

import pdtriage

CONNECTED = (
    "I{day} 10:00:01.000001 {pid} tcp_utils.cc:132] Successfully connected to 127.0.0.1:57\n"
)
SEGMENTED = "".join(
    f"2022-05-{{day}} 12:0{at}:01 [INFO]\t[TRAIN] epoch: 80, iter: {at}00/900, loss: 0.85\n"
    for at in range(1, 10)
)
BEST = "2022-05-{day} 12:11:03 [INFO]\t[EVAL] #Images: 500 mIoU: 0.7\nbye\n"
RAISED = """\
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    train()
KeyError: 'lr'
"""
IGNORED = """\
Exception ignored in: <function DataLoader.__del__ at 0x7f3c>
Traceback (most recent call last):
  File "/srv/reader.py", line 3, in __del__
    self.queue.close()
AttributeError: 'NoneType' object has no attribute 'close'
"""
CLASSIFIED = "".join(
    f"[2023/01/02 10:0{at}:00] ppcls INFO: [Train][Epoch 10/10][Iter: {at}0/90]lr: 0.1, loss: 0.1\n"
    for at in range(1, 9)
)
EVALUATED = """\
[2023/01/02 10:09:10] ppcls INFO: [Eval][Epoch 10][Iter: 0/4]CELoss: 0.3, loss: 0.3, top1: 0.9
[2023/01/02 10:09:12] ppcls INFO: [Eval][Epoch 10][Avg]CELoss: 0.3, loss: 0.3, top1: 0.9
[2023/01/02 10:09:13] ppcls INFO: Already save model in ./output/ResNet50/latest
"""


def test_an_older_run_is_looked_at_where_it_ends(tmp_path: Path) -> None:
    runs = [segmented(10, BEST), segmented(11, RAISED), segmented(12, BEST), segmented(13, RAISED)]
    (tmp_path / "workerlog.0").write_text("".join(runs))
    found = [run.verdict for run in pdtriage.analyze(tmp_path).runs]
    assert found == ["succeeded", "failed", "succeeded", "failed"]


@pytest.mark.parametrize("before", ["", "...", " 12%|#2   | 12/100 "])
def test_what_python_itself_ignores_fails_nobody(tmp_path: Path, before: str) -> None:
    said = segmented(10, "Training completed.\n" + before + IGNORED)
    (tmp_path / "workerlog.0").write_text(said)
    report = pdtriage.analyze(tmp_path)
    assert (report.verdict, report.root_causes) == ("succeeded", ())


def test_an_exception_below_one_that_was_ignored_counts(tmp_path: Path) -> None:
    (tmp_path / "workerlog.0").write_text(segmented(10, IGNORED + RAISED))
    [cause] = pdtriage.analyze(tmp_path).root_causes
    assert "KeyError" in cause.evidence[0].text


def test_the_steps_of_an_evaluation_are_not_those_of_training(tmp_path: Path) -> None:
    (tmp_path / "workerlog.0").write_text(CLASSIFIED + EVALUATED)
    assert pdtriage.analyze(tmp_path).verdict == "succeeded"


def test_a_captured_console_is_looked_at_where_it_ends(tmp_path: Path) -> None:
    (tmp_path / "nohup.out").write_text("nohup: ignoring input\n" + segmented(10, BEST))
    assert pdtriage.analyze(tmp_path).verdict == "succeeded"


def segmented(day: int, end: str) -> str:
    connected = CONNECTED.format(day=f"05{day}", pid=day * 100)
    return connected + (SEGMENTED + end).format(day=day)
