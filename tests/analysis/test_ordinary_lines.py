"""Given an error and lines below it as above it, then the process went on, however it counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pdtriage
from pdtriage.analysis.ordinary_lines import ordinary_below

from ..scan.builders import engine
from ..verdict.builders import DISK, ERROR, logs

KEPT = ERROR.replace("KeyError: 1", "FileNotFoundError: [Errno 2] No such file: '/data/part-3'")
LOGGERS = {
    "key and value": lambda n: f"it={n} loss={1 / (n + 1):.4f} lr=1e-3",
    "brackets": lambda n: f"[{n}/100] loss: {1 / (n + 1):.4f}",
    "JSON": lambda n: json.dumps({"event": "step", "n": n, "metrics": {"loss": 1 / (n + 1)}}),
    "CSV": lambda n: f"{n};{1 / (n + 1):.4f};0.001",
    "glog": lambda n: f"I1118 03:04:{n:02}.000000 70 trainer.cc:88] {n * 32} samples so far",
    "Chinese": lambda n: f"轮次 0 迭代 {n} 损失 {1 / (n + 1):.4f}",
    "words alone": lambda n: ("the next batch", "gradients exchanged", "moving on")[n % 3],
}
each_logger = pytest.mark.parametrize("logger", LOGGERS)


def written(logger: str, first: int, last: int) -> str:
    return "".join(f"{LOGGERS[logger](n)}\n" for n in range(first, last))


def report_on(folder: Path, *texts: str, console: str = "") -> pdtriage.Report:
    for path, text in logs(*texts).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    if console:
        (folder / "log" / "console.log").write_text(console, encoding="utf-8")
    return pdtriage.analyze(folder / "log")


@each_logger
@pytest.mark.parametrize("on_all", [True, False], ids=["on all ranks", "on one"])
def test_who_writes_on_as_before_has_not_ended(tmp_path: Path, logger: str, on_all: bool) -> None:
    healthy = written(logger, 0, 9)
    caught = written(logger, 0, 4) + DISK + written(logger, 4, 9)
    report = report_on(tmp_path, caught if on_all else healthy, caught)
    assert (report.verdict, report.root_causes) == ("unknown", ())


@each_logger
def test_who_writes_nothing_more_has_ended_with_it(tmp_path: Path, logger: str) -> None:
    log = written(logger, 0, 9)
    farewell = "closing the writer\nshutting down\n"
    report = report_on(tmp_path, log, log + DISK + farewell)
    (cause,) = report.root_causes
    assert (cause.category, cause.rank) == ("storage.disk", 1)


@each_logger
def test_what_was_survived_is_no_cause_beside_the_error_that_ended_the_process(
    tmp_path: Path, logger: str
) -> None:
    log = written(logger, 0, 4) + KEPT + written(logger, 4, 9)
    end = DISK.replace("in f", "in <module>")
    report = report_on(tmp_path, log, log + end)
    assert [(c.category, c.ranks) for c in report.root_causes] == [("storage.disk", (1,))]


def test_an_error_that_is_told_a_thousand_times_is_no_sign_of_life(tmp_path: Path) -> None:
    """Of so many only some are kept one by one; the rest are lines like those above, too."""
    labels = "".join(
        f"[2024/01/02 03:04:05] ppocr ERROR: When parsing line img_{n}.jpg {chr(0x4E00 + n // 2)}\n"
        ", error happened with msg: list index out of range\n"
        for n in range(3000)
    )
    report = report_on(tmp_path, "loading the labels\n" + labels)
    assert report.verdict == "failed"
    assert [cause.signature for cause in report.root_causes] == ["data.ocr-line-skipped"]


TROUBLES = engine().knowledge.troubles


def numbered(*texts: str) -> list[tuple[int, str]]:
    return list(enumerate(texts, 1))


def test_what_is_repeated_while_one_waits_or_gives_up_is_no_life() -> None:
    for words in ("waiting for rank {}", "retry {} failed", "  File {}, in f", "0 0x7f{}p", "----"):
        repeated = [words.format(n) for n in range(5)]
        assert (
            ordinary_below(2, numbered("loading", "KeyError: 1", *repeated), [(2, 2)], TROUBLES)
            == []
        )


def test_a_loop_that_begins_below_an_error_is_life() -> None:
    lines = numbered("KeyError: 1", "sample 0 read", "sample 1 read", "sample 2 read", "bye")
    assert ordinary_below(1, lines, [(1, 1)], TROUBLES) == [2, 3, 4]
    assert ordinary_below(1, lines[:3], [(1, 1)], TROUBLES) == []


def test_words_of_trouble_that_come_again_and_again_are_ordinary() -> None:
    rates = [f"batch {n} error rate 0.{n}" for n in range(6)]
    around = numbered(*rates[:2], "KeyError: 1", *rates[2:])
    assert ordinary_below(3, around, [(3, 3)], TROUBLES) == [4, 5, 6, 7]
    assert ordinary_below(3, around[1:], [(3, 3)], TROUBLES) == []


def test_a_stack_behind_the_prefix_of_a_wrapper_is_a_stack(tmp_path: Path) -> None:
    stack = "".join(f"  frame {n} of reader.so\n" for n in range(9))
    wrapped = [
        "".join(f"[pod/job-{rank}/main] {line}" for line in text.splitlines(keepends=True))
        for rank, text in enumerate((written("JSON", 0, 9), written("JSON", 0, 4) + DISK + stack))
    ]
    (cause,) = report_on(tmp_path, *wrapped).root_causes
    assert (cause.category, cause.rank) == ("storage.disk", 1)
