"""What is true of a job, and how much of it the kept files can tell. The tool has no say here.

What happened follows from what was drawn. What can be known follows from the text: the words that
the fault makes its culprit say, and whether anything was kept that saw the processes end.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass, replace
from pathlib import Path

from .draw import Job
from .loggers import MUTE

SYMPTOMS = ("unknown", "comm.peer", "comm.timeout", "comm.backend", "comm.init")
"""What may honestly be said of a rank whose own words are lost."""
HANDLED = ("term-0", "term-143", "term-line")
_TROUBLE = re.compile(
    rb"Traceback \(most recent|Connection closed by peer|Connection reset|C\+\+ Traceback"
    rb"|received signal 15|FatalError|Fatal Python error|TIMEOUT"
)


@dataclass(frozen=True)
class Truth:
    verdicts: tuple[str, ...]
    categories: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    """Who did it; with several, any of them may be named, and nobody else."""
    victims: tuple[int, ...] = ()
    exits: tuple[int, ...] = ()
    """Right exit codes of `pdtriage run`; empty: any."""
    is_quiet: bool = False
    """Nothing is wrong: to name a cause is an alarm."""
    tells_verdict: bool = True
    tells_rank: bool = True
    tells_category: bool = True


def truth_of(job: Job) -> Truth:
    """What happened, as if everything had been kept."""
    fault = job.the_fault
    if fault is None:
        verdicts = ("succeeded",) if job.kind == "healthy" else ("running", "unknown")
        return Truth(verdicts, exits=(0,), is_quiet=True)
    categories = fault.categories
    if fault.name == "term-rank" and job.victims in HANDLED:
        categories = (*categories, "comm.peer", "code.python")
    victims = tuple(rank for rank in range(job.ranks) if rank not in job.culprits)
    if fault.who == "nobody" and fault.family == "launch":
        victims = ()
    return Truth(fault.verdicts, categories, job.culprits, victims, fault.exits)


def knowable(job: Job, truth: Truth, kept: Path) -> Truth:
    """The same, and which of it the kept files tell."""
    texts = _texts(kept)
    has_record = any("/pdtriage/" in f"/{name}" for name in texts)
    has_console = "console.log" in texts
    fault = job.the_fault
    if fault is None:
        return _marked(truth, has_record or has_console or job.kind == "running", True, True)
    if fault.family == "stopped":
        told = has_record or has_console
        return _marked(truth, told and fault.name not in ("kill-launcher", "kill-all"), True, told)
    own = {name: texts[name] for name in texts if _is_of(name, job.culprits)}
    speaks = bool(fault.key) and any(fault.key.encode() in text for text in own.values())
    echoed = bool(fault.key) and any(fault.key.encode() in text for text in texts.values())
    everybody = _has_all(job, texts)
    trouble = any(_TROUBLE.search(text) for text in texts.values())
    return _marked(
        truth,
        verdict=has_record or has_console or speaks or (trouble and bool(own)),
        rank=speaks or has_record or (everybody and not _looks_alike(job)),
        category=speaks or echoed if fault.key else has_record or everybody,
    )


def _marked(truth: Truth, verdict: bool, rank: bool, category: bool) -> Truth:
    honest = truth.categories if category else (*truth.categories, *SYMPTOMS)
    return replace(
        truth,
        categories=honest,
        tells_verdict=verdict,
        tells_rank=rank,
        tells_category=category,
    )


def _texts(kept: Path) -> dict[str, bytes]:
    texts = {}
    for file in sorted(kept.rglob("*")):
        if file.is_file():
            content = file.read_bytes()
            name = str(file.relative_to(kept))
            if name.endswith(".gz"):
                name, content = name.removesuffix(".gz"), gzip.decompress(content)
            texts[name] = content
    return texts


def _is_of(name: str, ranks: tuple[int, ...]) -> bool:
    """Whether a file holds the words of one of these ranks; rank 0's are shown on the console."""
    logs = {f"workerlog.{rank}" for rank in ranks}
    return Path(name).name in logs or (name == "console.log" and 0 in ranks)


def _has_all(job: Job, texts: dict[str, bytes]) -> bool:
    names = {Path(name).name for name in texts}
    return all(f"workerlog.{rank}" in names for rank in range(job.ranks))


def _looks_alike(job: Job) -> bool:
    """Whether a silent culprit's log may look like that of somebody who was merely stopped.

    A rank that dies without a word leaves a log without an error, and so does a rank that catches
    SIGTERM, or one that has nothing to wait for at that moment.
    """
    fault = job.the_fault
    assert fault is not None
    if fault.family == "hang":
        return job.logger in MUTE or job.victims != "plain"
    return job.victims in HANDLED or job.communication == "seldom" or job.moment == "after"
