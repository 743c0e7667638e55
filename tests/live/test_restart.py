"""`pdtriage run --restart-on auto`: what failed decides, and `analyze` says the same afterwards."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from pdtriage.analysis import pipeline
from pdtriage.live.log_follower import LogFollower
from pdtriage.record.reader import read_records
from pdtriage.record.schema import ProcessRecord
from pdtriage.support.language import Text
from pdtriage.support.text_width import columns

from .conftest import Command, Desk

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "report.schema.json").read_text())
TRAIN = """
attempt = int(os.environ.get("PDTRIAGE_ATTEMPT", "0"))
what = {what!r}.split()
for step in range(3 + {further} * attempt):
    print(f"epoch: 0, step: {{step}}, loss: 0.5", flush=True)
do = what[min(attempt, len(what) - 1)]
if do == "kill" and rank == 1:
    os.kill(os.getpid(), 9)
if do == "disk" and rank == 1:
    raise OSError(5, "Input/output error", "/data/part-7")
if do == "exit" and rank == 1:
    os._exit(3)
if do != "end":
    time.sleep(60)
"""


def launched(desk: Desk, what: str, *words: str, further: int = 0) -> Command:
    desk.script(TRAIN.format(what=what, further=further))
    return desk.launch("--restart-on=auto", "--restart-delay=0", *words).finish()


def decisions(desk: Desk) -> list[bool | None]:
    records = read_records(desk.folder / "log")
    return [record.restart and record.restart.again for record in records]


def shown(run: Command) -> str:
    """The report, behind the last line of the launcher."""
    return re.split(r"Exit code \d+\n", run.said)[1].strip() + "\n"


def test_what_comes_back_every_time_is_not_tried_again(desk: Desk) -> None:
    desk.script("def f(:\n")
    run = desk.launch("--restart-on=auto").finish()
    assert run.code == 1
    assert decisions(desk) == [False]
    assert "not restarted: it would fail the same way again: the code stays what it is" in run.said


def test_a_killed_rank_is_tried_again_and_the_success_tells_of_it(desk: Desk) -> None:
    run = launched(desk, "kill end")
    assert run.code == 0
    assert decisions(desk) == [True, None]
    assert "attempt 1 failed: rank 1: Killed by SIGKILL" in run.said
    assert "SUCCEEDED" in shown(run)
    assert "Attempt 2 succeeded; 1 attempt failed before (Killed by SIGKILL)." in shown(run)
    stored = json.loads((desk.folder / "log" / "pdtriage" / "report.json").read_text())
    jsonschema.validate(stored, SCHEMA)
    assert [told["verdict"] for told in stored["runs"]] == ["failed", "succeeded"]
    assert stored["runs"][0]["restart"]["again"] is True
    # A later launch into the same folder is another matter.
    launched(desk, "disk end")
    report = pipeline.analyze(desk.folder / "log")
    assert [(run.launch, run.attempt) for run in report.runs] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert report.attempts is not None
    assert report.attempts.runs == (3, 4)


def test_the_same_failure_at_the_same_step_ends_it_early(desk: Desk) -> None:
    run = launched(desk, "disk")
    assert run.code == 1
    assert decisions(desk) == [True, False]
    assert "twice in a row at epoch 0, step 2 and would do so again" in run.said
    assert "2 attempts, all failed the same way (fingerprint 1:" in shown(run)


def test_progress_keeps_it_going_until_the_limit(desk: Desk) -> None:
    run = launched(desk, "exit", "--max_restart=2", further=2)
    assert run.code == 3
    assert decisions(desk) == [True, True, False]
    assert "it came further than last time (epoch 0, step 2)" in run.said
    assert [record.last_step for record in read_records(desk.folder / "log")] == [2, 4, 6]


def test_the_next_attempt_is_listened_to_from_where_it_begins(tmp_path: Path) -> None:
    said: list[Text] = []
    follower = LogFollower(said.append, events=False)
    log = tmp_path / "workerlog.0"
    for pid in (7, 8):
        begin = log.stat().st_size if log.exists() else 0
        with log.open("a") as stream:
            stream.write("step: 1\nOSError: [Errno 5] Input/output error: '/data/part-7'\n")
        process = ProcessRecord("worker", 0, 0, None, None, pid, log.name, begin, 0.0, 0.0)
        follower.follow(process, str(tmp_path))
        follower.mark_dead(pid)
        said.clear()
        follower.read_on()
        assert said, "it was not announced"
        follower.mute()
        (facts,) = follower.facts().values()
        assert [event.offset >= begin for event in facts.events] == [True]
        follower.start_over()


def test_watch_stays_for_the_next_attempt(desk: Desk) -> None:
    desk.script(TRAIN.format(what="kill end", further=0))
    run = desk.launch("--restart-on=auto", "--restart-delay=5")
    run.await_line("restarting, attempt 2")
    watch = desk.run("watch", "log", "--quiet")
    assert watch.code == 0, watch.said
    assert run.finish().code == 0
    assert "Attempt 2 succeeded" in watch.out.decode() + watch.said


@pytest.mark.parametrize("language", ["en", "zh"])
def test_analyze_says_what_run_said(desk: Desk, language: str) -> None:
    run = launched(desk, "disk kill disk", f"--lang={language}", "--max_restart=2", further=1)
    assert run.code == 1
    after = desk.run("analyze", "log", f"--lang={language}").out.decode()
    assert after == shown(run)
    broken = [line for line in after.splitlines() if str(desk.folder) not in line]
    assert max(map(columns, broken)) <= 80, "only a path stays whole"
    words = {
        "en": "3 attempts, all failed, in 2 ways (1, 3: ",
        "zh": "全部失败，方式有 2 种（第 1, 3 次：",
    }
    assert words[language] in after
