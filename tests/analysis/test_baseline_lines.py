"""Given two logs, then what only one of them says is found whatever numbers stand in it."""

from __future__ import annotations

import pytest

from pdtriage.analysis.baseline import Written, novel_lines, template, unreached_line


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("epoch 0 step 10 loss 1.4024", "epoch 3 step 999 loss -2.1e-05"),
        ("I1116 03:30:33.096290  9477 a.cc:109] up", "I0102 23:59:59.000001 12 a.cc:7] up"),
        ("read /mnt/a/00017.jpg in 3 ms", "read /data/set-2/b.jpg in 12.5 ms"),
        ("tensor at 0x7f6aeeea3b80", "tensor at 0xdeadbeef"),
        ("job 0f3c9a7e5b21d4c8 by 10.0.0.1:6170", "job 9d2b11aa03cc77ee by 192.168.4.20:35001"),
        ("[2026-11-16 03:30:27,957] [INFO] ok", "[2025-01-02 13:00:01,001] [INFO]  ok"),
    ],
)
def test_numbers_paths_times_and_addresses_do_not_count(one: str, other: str) -> None:
    assert template(one) == template(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("step 3 loss nan", "step 3 loss 1.5"), ("reader ready", "reader retried")],
)
def test_words_do(one: str, other: str) -> None:
    assert template(one) != template(other)


def lines(*texts: str) -> list[Written]:
    return [Written(text, "log/workerlog.0", number) for number, text in enumerate(texts, 1)]


def templates(*texts: str) -> set[str]:
    return {template(text) for text in texts}


def test_alarming_lines_and_those_near_the_failure_come_first() -> None:
    ours = lines(
        "a greeting far away",
        *(f"step {n} loss 1.{n}" for n in range(300)),
        "retrying the read of /mnt/x",
        *(f"step {n} loss 1.{n}" for n in range(300)),
        "retrying the read of /mnt/y",
        "switching the learning rate",
        "step 301 loss nan",
    )
    found = novel_lines(ours, templates("step 1 loss 0.5"))
    assert [(one.line.text, one.count) for one in found] == [
        ("retrying the read of /mnt/y", 2),
        ("switching the learning rate", 1),
        ("step 301 loss nan", 1),
    ]
    assert found[0].line.location == "log/workerlog.0:603"


def test_a_log_that_speaks_freely_shows_only_what_alarms() -> None:
    chat = [f"sample {chr(97 + n // 26)}{chr(97 + n % 26)} decoded" for n in range(60)]
    found = novel_lines(lines(*chat, "Error: bad block", *chat[:5]), templates("step 1"))
    assert [one.line.text for one in found] == ["Error: bad block"]


def test_rulers_and_the_inside_of_stacks_are_no_lines() -> None:
    assert novel_lines(lines("=======", "42", '  File "a.py", line 3'), set()) == []


def test_what_comes_after_the_last_thing_both_say() -> None:
    theirs = lines("hello", "loaded", "step 1 loss 2", "evaluating", "step 2 loss 1", "finished")
    found = unreached_line(templates("hello", "step 9 loss 9"), theirs)
    assert found is not None
    assert found.location == "log/workerlog.0:6"
    assert unreached_line(templates("hello"), theirs) == Written("loaded", "log/workerlog.0", 2)
    assert unreached_line(templates("other"), theirs) is None
