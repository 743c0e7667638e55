"""A case on disk: a job, what it left, what was kept of it; and the verdicts on it.

``<seed>-<index>/`` holds ``job.json``, ``played.json``, ``whole/`` and ``kept/``.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from .draw import Job, as_json, from_json, job_of
from .keep import keep
from .play import play, played_of, write_played
from .score import Answer, Result, agree, answer_of, from_report, judged
from .truth import knowable, truth_of

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
    full = knowable(job, truth_of(job), folder / "whole")
    whole, live = answer_of(folder / "whole"), _live_answer(folder / "whole")
    live_claims = judged(full, live, job) if live else {}
    if live:
        live_claims["live and later agree"] = agree(live, whole)
    if full.exits:
        live_claims["exit code"] = played.exit_code in full.exits
    if job.fault != "kill-all":
        live_claims["nothing left behind"] = played.leftovers == 0
    return Result(
        job, truth, answer, whole, live, played.exit_code, played.leftovers, claims, live_claims
    )


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
