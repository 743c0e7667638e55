"""A rank that is slower than the others is told of once, while the job runs."""

from __future__ import annotations

from pathlib import Path

from pdtriage.analysis import pipeline
from pdtriage.live.followed_log import FollowedLog, LiveEngine
from pdtriage.live.pace_watch import PaceWatch
from pdtriage.model import LogFile, Progress
from pdtriage.record.schema import ProcessRecord

from .conftest import Desk


def followed(engine: LiveEngine, folder: Path, rank: int) -> FollowedLog:
    path = folder / f"workerlog.{rank}"
    path.write_text("")
    process = ProcessRecord(
        "worker", rank, rank, None, f"10.0.0.{rank}:6070", 100 + rank, path.name, 0, 0.0, 0.0
    )
    return FollowedLog(str(path), LogFile(path.name, "worker", ""), engine, process)


def warnings(engine: LiveEngine, folder: Path, *paces: float, seconds: int = 300) -> list[str]:
    logs = [followed(engine, folder, rank) for rank in range(len(paces))]
    watch, told = PaceWatch(), []
    for moment in range(seconds):
        for log, pace in zip(logs, paces, strict=True):
            step = int(moment / pace)
            if log.step is None or log.step.step != step:
                log.step, log.grown = Progress(0, 0, step), float(moment)
        told += [text.en for text in watch.look(float(moment), logs)]
    return told


def test_a_slow_rank_is_told_of_once(engine: LiveEngine, tmp_path: Path) -> None:
    (told,) = warnings(engine, tmp_path, 0.5, 0.5, 0.9, 0.5)
    assert told.startswith("rank 2 on 10.0.0.2 took 1.8× the median step for the last ")


def test_equal_ranks_and_short_delays_are_no_news(engine: LiveEngine, tmp_path: Path) -> None:
    assert warnings(engine, tmp_path, 0.5, 0.5, 0.55, 0.5) == []
    assert warnings(engine, tmp_path, 0.5, 0.5, 0.9, 0.5, seconds=40) == []


def test_the_report_tells_what_was_seen_of_logs_without_times(desk: Desk) -> None:
    desk.script(
        """
        for step in range(100_000):
            print(f"epoch: 0, step: {step}, loss: 0.5", flush=True)
            time.sleep(1.2 if rank == 2 else 0.5)
        """
    )
    run = desk.launch("--quiet", ranks=3)
    run.await_line("rank 2 on 127.0.0.1 took 2.", 240.0)
    run.stop()
    run.finish()
    report = pipeline.analyze(desk.folder / "log")
    assert report.verdict == "interrupted"
    (slow,) = [note for note in report.notes if "median step" in note.en]
    assert slow.en.startswith("at ")
    assert "rank 2 on 127.0.0.1 took 2." in slow.en
