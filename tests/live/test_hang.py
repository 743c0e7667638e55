"""Jobs that stand still, under `pdtriage run`: said at once, with stacks, and kept for later."""

from __future__ import annotations

import io
import json
import os
import signal
from pathlib import Path

import pytest

from pdtriage.analysis import pipeline
from pdtriage.hang.py_spy import find_py_spy
from pdtriage.model import Report
from pdtriage.report import Options, reporter_named

from ..running import wait_until
from .conftest import Desk

needs_py_spy = pytest.mark.skipif(find_py_spy() is None, reason="py-spy is missing")
MINUTES = 180.0
STUCK = """
def read_sample():
    with open("pipe") as stream:
        return stream.read()

def wait_for_the_others():
    while not os.path.exists("go"):
        time.sleep(0.05)

for step in range(4 if rank == 1 else 6):
    print(f"epoch: 0, step: {step}, loss: 0.5", flush=True)
read_sample() if rank == 1 else wait_for_the_others()
"""


def stuck(desk: Desk, *words: str) -> None:
    desk.script(STUCK)
    (desk.folder / "pipe").unlink(missing_ok=True)
    os.mkfifo(desk.folder / "pipe")
    desk.launch("--hang_after=4", *words, ranks=3)


def as_text(report: Report, name: str) -> str:
    stream = io.StringIO()
    reporter_named(name).write(report, stream, Options())
    return stream.getvalue()


@needs_py_spy
def test_ctrl_c_on_a_job_that_stood_still_is_hung_with_the_culprit_and_its_stack(
    desk: Desk,
) -> None:
    stuck(desk)
    run = desk.started[0]
    said = run.await_line("in `read_sample` (train.py:5)", MINUTES)
    assert "the job has not moved for" in said
    assert "rank 1 in `read_sample` (train.py:5), system call `openat`" in said
    assert run.process.poll() is None
    run.stop()
    assert run.finish(MINUTES).code == 130
    assert "HUNG: rank 1 of 3" in run.said
    report = pipeline.analyze(desk.folder / "log")
    assert report.verdict == "hung"
    assert report.root_causes[0].ranks == (1,)
    assert report.root_causes[0].confidence == "likely"
    frame = report.root_causes[0].frame
    assert frame is not None
    assert (Path(frame.file).name, frame.line, frame.function) == ("train.py", 5, "read_sample")
    assert any("told to stop by SIGINT" in note.en for note in report.notes)
    began, *more = report.timeline
    still = next(m for m in more if (m.rank, m.kind) == (1, "error"))
    stop = next(m for m in more if m.text.en == "told to stop by SIGINT")
    assert None not in (began.t, still.t, stop.t)
    assert (began.t or 0) < (still.t or 0) < (stop.t or 0) - 3
    for name in ("text", "markdown", "html"):
        assert "read_sample" in as_text(report, name), name
    told = json.loads(as_text(report, "json"))["stacks"]
    assert {process["rank"] for process in told["processes"]} == {0, 1, 2}


@needs_py_spy
def test_stop_ends_it_with_a_code_of_its_own(desk: Desk) -> None:
    stuck(desk, "--on_hang=stop")
    run = desk.started[0].finish(MINUTES)
    assert run.code == 124
    assert "HUNG: rank 1 of 3" in run.said
    assert "--on_hang stop" in run.said


@needs_py_spy
def test_sigquit_shows_stacks_and_the_job_goes_on(desk: Desk) -> None:
    desk.script(STUCK.replace("read_sample() if rank == 1 else ", ""))
    before = signal.signal(signal.SIGQUIT, signal.SIG_IGN)  # as in the background of a script
    run = desk.launch("--hang_after=0", ranks=2)
    signal.signal(signal.SIGQUIT, before)
    run.await_line("Watching Pod", MINUTES)
    run.stop(signal.SIGQUIT)
    run.await_line("stacks as asked for", MINUTES)
    (desk.folder / "go").touch()
    assert run.finish(MINUTES).code == 0


def test_a_run_that_takes_too_long_is_ended_with_its_stacks(desk: Desk) -> None:
    desk.script(
        """
        for step in range(100_000):
            print(f"epoch: 0, step: {step}, loss: 0.5", flush=True)
            time.sleep(0.1)
        """
    )
    run = desk.launch("--timeout=3", "--quiet").finish(MINUTES)
    assert run.code == 124
    report = pipeline.analyze(desk.folder / "log")
    assert report.verdict == "interrupted"
    assert report.standstill is not None
    assert len(report.standstill.stacks) == 2


def test_ctrl_c_on_a_job_that_moves_is_interrupted(desk: Desk) -> None:
    desk.script(
        """
        for step in range(100_000):
            print(f"epoch: 0, step: {step}, loss: 0.5", flush=True)
            time.sleep(0.1)
        """
    )
    run = desk.launch("--quiet")
    run.await_line("Watching Pod", MINUTES)
    run.stop()
    assert run.finish(MINUTES).code == 130
    assert pipeline.analyze(desk.folder / "log").verdict == "interrupted"


def test_a_job_that_goes_on_after_an_alarm_did_not_hang(desk: Desk) -> None:
    desk.script(
        """
        print("epoch: 0, step: 1, loss: 0.5", flush=True)
        while not os.path.exists("go"):
            time.sleep(0.05)
        print("epoch: 0, step: 2, loss: 0.5", flush=True)
        time.sleep(600)
        """
    )
    run = desk.launch("--hang_after=2", "--on_hang=report")
    run.await_line("the job has not moved for", MINUTES)
    (desk.folder / "go").touch()
    record = desk.folder / "log" / "pdtriage" / "run-0001.jsonl"
    assert wait_until(lambda: '"moved_on": true' in record.read_text(), MINUTES)
    run.process.kill()


def test_wrong_limits_are_refused(desk: Desk) -> None:
    desk.script("open('started', 'w')")
    run = desk.launch("--hang_after=soon").finish()
    assert run.code == 2
    assert not (desk.folder / "started").exists()
