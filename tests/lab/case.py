"""A case on disk: a job, what it left, what was kept of it; and the verdicts on it.

``<seed>-<index>/`` holds ``job.json``, ``played.json``, ``whole/`` and ``kept/``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from .draw import Job, as_json, from_json, job_of, ways_to_keep
from .keep import keep
from .play import Played, play, played_of, write_played
from .score import Answer, Claims, Result, agree, answer_of, from_report, judged
from .truth import Truth, knowable, truth_of

LIVE_REPORT = Path("log", "pdtriage", "report.json")


def folder_of(job: Job, top: Path) -> Path:
    return top / f"{job.seed}-{job.index}"


def make(seed: str, index: int, top: Path) -> Path:
    """Play a job and store it as a case."""
    job = job_of(seed, index)
    folder = folder_of(job, top)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "whole").mkdir(parents=True)
    (folder / "job.json").write_text(as_json(job) + "\n", encoding="utf-8")
    played = play(job, folder / "whole")
    write_played(played, folder)
    keep(job, folder / "whole", folder / "kept")
    return folder


def result_of(folder: Path) -> Result | None:
    """What the tool says of a case now; None if the job did not come about as it was drawn."""
    job = from_json((folder / "job.json").read_text(encoding="utf-8"))
    played = played_of(folder)
    if played.problem:
        return None
    truth = knowable(job, truth_of(job), folder / "kept")
    answer = answer_of(folder / "kept")
    claims = judged(truth, answer, job)
    if not job.is_ours or job.kind == "running" or not (folder / "whole").is_dir():
        return Result(job, truth, answer, claims=claims)
    whole = answer_of(folder / "whole")
    full = knowable(job, truth_of(job), folder / "whole")
    homes = [folder / "whole" / job.home_of(node) for node in range(job.nodes)]
    live = [_live_answer(home) for home in homes if not _knows_of_hearsay_only(job, home)]
    if job.fault in ("kill-launcher", "kill-all"):
        live = [None]  # Nobody was left to say anything.
    live_claims = _live_claims(job, full, played, whole, [one for one in live if one])
    first = live[0] if live else None
    return Result(job, truth, answer, whole, first, played.exit_code, claims, live_claims)


def results_otherwise(folder: Path) -> Iterator[Result]:
    """What is said of a case where its files are kept in every other way."""
    job = from_json((folder / "job.json").read_text(encoding="utf-8"))
    if played_of(folder).problem or not (folder / "whole").is_dir():
        return
    for way in ways_to_keep(job):
        with TemporaryDirectory(prefix="pdtriage-lab-") as top:
            other, case = replace(job, kept=way), Path(top) / folder.name
            keep(other, folder / "whole", case / "kept")
            (case / "job.json").write_text(as_json(other) + "\n", encoding="utf-8")
            write_played(played_of(folder), case)
            if any((case / "kept").iterdir()) and (result := result_of(case)):
                yield result


def _live_claims(
    job: Job, truth: Truth, played: Played, whole: Answer, live: list[Answer]
) -> Claims:
    """What `pdtriage run` said at the end, on every node, how it exited, what it left."""
    claims: Claims = {}
    for answer in live:
        # A live report knows of its own launch only.
        for claim, right in judged(replace(truth, runs=1), answer, job).items():
            claims[claim] = claims.get(claim, True) and right
        claims["live and later agree"] = claims.get("live and later agree", True) and agree(
            answer, whole
        )
    if truth.exits:
        claims["exit code"] = played.exit_code in truth.exits
    if job.fault != "kill-all":
        claims["nothing left behind"] = played.leftovers == 0
    return claims


def _knows_of_hearsay_only(job: Job, home: Path) -> bool:
    """Whether all processes of a node ended well, and it cannot know better: without a common
    secret what another node tells proves nothing, and that includes that the job failed."""
    if job.nodes == 1 or job.has_secret or job.kind != "fault":
        return False
    record = max(home.glob("log/pdtriage/run-*.jsonl"), default=None)
    lines = record.read_text(encoding="utf-8").splitlines() if record else []
    deaths = [line for line in map(json.loads, lines) if line.get("kind") == "death"]
    return bool(deaths) and all(death.get("code") == 0 for death in deaths)


def cases_below(top: Path) -> list[Path]:
    found = [file.parent for file in top.glob("*/played.json")]
    return sorted(found, key=_order)


def _live_answer(whole: Path) -> Answer | None:
    """What `pdtriage run` said at the end. It writes no report on what went well."""
    try:
        return from_report(json.loads((whole / LIVE_REPORT).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def _order(folder: Path) -> tuple[str, int]:
    seed, _, index = folder.name.rpartition("-")
    return seed, int(index)
