"""`pdtriage watch` on jobs that stand still, and on one that only seems to."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..running import clean_environment
from .conftest import Desk
from .test_hang import MINUTES, needs_py_spy

WORKER = """
import os, sys, time
rank = int(os.environ["PADDLE_TRAINER_ID"])
out = os.open(f"log/workerlog.{rank}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.dup2(out, 1), os.dup2(out, 2)

def read_sample():
    with open("pipe") as stream:
        return stream.read()

def save():
    with open(f"checkpoint.{rank}", "wb", buffering=0) as stream:
        for part in range(120):
            stream.write(bytes(1 << 21))
            time.sleep(0.1)

for step in range(20):
    print(f"epoch: 0, step: {step}, loss: 0.5", flush=True)
    time.sleep(0.1)
if sys.argv[1] == "save":
    save()
elif rank == 1:
    read_sample()
else:
    while True:
        time.sleep(0.1)
"""


@pytest.fixture
def start(desk: Desk) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Three ranks, as Paddle's launcher starts them."""
    (desk.folder / "log").mkdir()
    (desk.folder / "train.py").write_text(WORKER)
    os.mkfifo(desk.folder / "pipe")
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def ranks(folder: Path, what: str) -> list[subprocess.Popen[bytes]]:
    return [
        subprocess.Popen(
            [sys.executable, "train.py", what],
            cwd=folder,
            env=clean_environment() | {"PADDLE_TRAINER_ID": str(rank)},
        )
        for rank in range(3)
    ]


@needs_py_spy
def test_a_job_that_stands_still_is_named_and_ended_where_that_was_asked_for(
    desk: Desk, start: list[subprocess.Popen[bytes]]
) -> None:
    start += ranks(desk.folder, "hang")
    watch = desk.start("watch", "log", "--hang-after=3", "--on-hang=stop")
    said = watch.await_line("in `read_sample` (train.py:8)", MINUTES)
    assert "the job has not moved for" in said
    for process in start:
        assert process.wait(MINUTES) != 0
    assert watch.finish(MINUTES).code == 124
    assert "HUNG: rank 1" in watch.said
    assert "This rank stopped making progress" in watch.said


@needs_py_spy
def test_stacks_are_not_taken_where_only_a_report_was_asked_for(
    desk: Desk, start: list[subprocess.Popen[bytes]]
) -> None:
    start += ranks(desk.folder, "hang")
    watch = desk.start("watch", "log", "--hang-after=3", "--on-hang=report")
    said = watch.await_line("the job has not moved for", MINUTES)
    assert "read_sample" not in said
    assert all(process.poll() is None for process in start)


def test_a_checkpoint_that_is_written_without_a_word_is_no_hang(
    desk: Desk, start: list[subprocess.Popen[bytes]]
) -> None:
    start += ranks(desk.folder, "save")
    watch = desk.start("watch", "log", "--hang-after=6")
    for process in start:
        assert process.wait(MINUTES) == 0
    watch.finish(MINUTES)
    assert "has not moved" not in watch.said
