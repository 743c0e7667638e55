"""What is true of a job, and how much of it the kept files can tell. The tool has no say here.

What happened follows from what was drawn. What can be known follows from the text: the words that
the fault makes its culprit say, and whether anything was kept that saw the processes end.
"""

from __future__ import annotations

import gzip
import lzma
import re
import tarfile
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

from .draw import Job
from .keep import JOINED, LABELLED, NESTED, renamed
from .loggers import MUTE

SYMPTOMS = ("unknown", "comm.peer", "comm.timeout", "comm.backend", "comm.init")
"""What may honestly be said of a rank whose own words are lost."""
HANDLED = (
    *("term-0", "term-143", "term-line", "term-raises", "term-interrupt", "term-saves"),
    "ignores-term",
)
OWN_EXITS = {"exit-17": 17, "aborts": 134}
"""Victims' behaviours that give a culprit, too, another exit code than its exception would."""
MERE_LINES = frozenset(
    {
        *("exit-after-error-line", "exit-chinese-line", "exit-json-error", "exit-stars"),
        *("exit-usage", "exit-repr", "exit-click"),
    }
)
"""Faults whose words are no end by themselves: a living process may write such a line."""
_TIMED = re.compile(rb"(?m)^[^\n]{0,60}(?:\b\d{1,2}:\d\d:\d\d\b|\b1\d{9}\b)")
"""A line that tells the time."""
TIMES = 7
"""So many of them in a log show how long it was silent before it was stopped."""
_OTHER_SIZE = b"op.preamble.length <= op.nbytes"
_TROUBLE = re.compile(
    rb"Connection closed by peer|Connection reset|C\+\+ Traceback"
    rb"|received signal 15|FatalError|Fatal Python error|TIMEOUT"
)


@dataclass(frozen=True)
class Truth:
    verdicts: tuple[str, ...]
    categories: tuple[str, ...] = ()
    role: str = "worker"
    ranks: tuple[int, ...] = ()
    """Who did it; with several, any of them may be named, and nobody else."""
    victims: tuple[int, ...] = ()
    exits: tuple[int, ...] = ()
    """Right exit codes of `pdtriage run`; empty: any."""
    is_quiet: bool = False
    """Nothing is wrong: to name a cause is an alarm."""
    runs: int = 1
    """Runs in the folder, attempts counted."""
    tells_verdict: bool = True
    tells_rank: bool = True
    tells_category: bool = True


def truth_of(job: Job) -> Truth:
    """What happened, as if everything had been kept."""
    fault = job.the_fault
    runs = 1 + len(job.earlier) + bool(job.restarts)
    if fault is None:
        quiet = ("succeeded",) if job.kind == "healthy" else ("running", "unknown")
        return Truth(quiet, exits=(0,), is_quiet=True, runs=runs)
    if job.restarts == "once":
        return Truth(("succeeded",), exits=(0,), is_quiet=True, runs=runs)
    categories: tuple[str, ...] = fault.categories
    if fault.name in ("term-rank", "term-all-ranks") and job.victims in HANDLED:
        categories = (*categories, "comm.peer", "code.python")
    verdicts, exits = fault.verdicts, fault.exits
    if fault.name == "term-rank" and job.victims == "term-interrupt":
        # It makes of the signal what Ctrl-C would be, and ends in the same way.
        verdicts, exits = (*verdicts, "interrupted"), (*exits, 130)
    is_server = job.role == "server"
    if is_server:
        categories = ("ps.server", *categories)
    elif job.servers:
        # A trainer that leaves is nothing the others would miss.
        categories = tuple(category for category in categories if category != "comm.peer")
    # The client of the servers may crash once more while its process is taken apart.
    exits = (*exits, 134, 139) if job.servers else exits
    if exits and job.victims in OWN_EXITS:
        exits = (*exits, OWN_EXITS[job.victims])
    culprits = job.culprits
    if fault.family == "disagree" and fault.build and job.ranks == 2:
        culprits = (0, 1)  # Two that disagree: neither is right by itself.
    hit = () if is_server else culprits
    victims = tuple(rank for rank in range(job.ranks) if rank not in hit)
    if fault.who == "nobody" and fault.family == "launch":
        victims = ()
    return Truth(verdicts, categories, job.role, culprits, victims, exits, runs=runs)


def knowable(job: Job, truth: Truth, kept: Path) -> Truth:
    """The same, and which of it the kept files tell."""
    texts = _texts(job, kept)
    saw = _has_record(texts) or any(Path(name).name == "console.log" for name in texts)
    fault = job.the_fault
    truth = _with_the_other_one(job, truth, texts)
    if fault is None or truth.is_quiet:
        if job.kind == "running":
            return _marked(truth, not _ends_in_noise(job), True, not _ends_in_noise(job))
        return _marked(truth, saw, True, saw or not _ends_in_noise(job))
    if fault.family == "stopped":
        if job.launcher == "legacy":  # It says nothing; whom it stops may.
            speaks = job.victims not in ("term-0", "term-143")
            saw = speaks and any(_TROUBLE.search(text) for text in texts.values())
        unsaid = ["kill-launcher", "kill-all"]
        if not job.is_ours:
            unsaid.append("hang-up")  # Paddle's launchers do not handle it.
        said = saw and fault.name not in unsaid
        return _marked(truth, said, True, said)
    return _knowable_failure(job, truth, texts, saw)


def _with_the_other_one(job: Job, truth: Truth, texts: dict[str, bytes]) -> Truth:
    """Of the two ranks that a single complaint about sizes is of, nobody can say which is odd."""
    logs = {rank: texts.get(str(job.log_of(rank)), b"") for rank in range(job.ranks)}
    complaining = [rank for rank, text in logs.items() if _OTHER_SIZE in text]
    if job.fault != "other-network" or len(complaining) != 1:
        return truth
    ranks = tuple(dict.fromkeys((*truth.ranks, *complaining)))
    victims = tuple(rank for rank in truth.victims if rank not in ranks)
    return replace(truth, ranks=ranks, victims=victims)


def _knowable_failure(job: Job, truth: Truth, texts: dict[str, bytes], saw: bool) -> Truth:
    fault = job.the_fault
    assert fault is not None
    key = fault.key.encode()
    own = [text for name, text in texts.items() if _is_of(job, name)]
    speaks = bool(key) and any(key in text for text in own)
    # Where the fault has no words that are its own, another rank's say nothing of it.
    echoed = key not in (b"", b"Error") and any(key in text for text in texts.values())
    everybody = _has_all(job, texts) and not _ends_in_noise(job) and job.kept != "head"
    shows = job.moment != "import"  # Before Paddle is there, nothing tells of a signal.
    if fault.name == "stack-overflow" and not saw:  # no handler has room to speak then
        shows = any(b"FatalError" in text for text in own)
    trouble = any(_TROUBLE.search(text) for text in texts.values())
    record = _has_record(texts)
    if job.kept == "head" or (
        fault.family == "hang" and job.launcher == "legacy" and not everybody
    ):
        saw = trouble = False  # That launcher says nothing when it is told to stop.
    if job.servers and not job.is_ours:
        saw = trouble = False  # Paddle's launchers wait for trainers and do not ask how they ended.
    if job.earlier and job.moment == "import" and not fault.key:
        trouble = False  # The run before has said what is there.
    silence_shows = any(len(_TIMED.findall(text)) >= TIMES for text in texts.values())
    if fault.family == "hang" and not saw and (job.victims in HANDLED or not silence_shows):
        # Nobody tells that it was stopped: it may have left by itself, and the others after it.
        trouble = False
    if job.kept_node is not None and not own:
        record = False  # What the other node was told is asked of the live report.
    if fault.name in MERE_LINES and not (saw or record or trouble):
        speaks = speaks and everybody and job.says_done
    verdict = speaks or (saw and job.kept_node is None) or record or (trouble and bool(own))
    return _marked(
        truth,
        verdict=verdict,
        rank=verdict and (speaks or record or (everybody and not _looks_alike(job))),
        category=verdict and (speaks or echoed if key else record or (everybody and shows)),
    )


def _marked(truth: Truth, verdict: bool, rank: bool, category: bool) -> Truth:
    honest = truth.categories
    if not category and not truth.is_quiet:
        # that a reader of data raised may be told where its own words are cut off
        reader = ("data.worker",) if any(each.startswith("data.") for each in honest) else ()
        honest = tuple(dict.fromkeys((*honest, *SYMPTOMS, *reader)))
    return replace(
        truth,
        categories=honest,
        tells_verdict=verdict,
        tells_rank=rank,
        tells_category=category,
    )


def _texts(job: Job, kept: Path) -> dict[str, bytes]:
    """All that was kept, by the names that the files had."""
    texts: dict[str, bytes] = {}
    names = {name: str(log) for log, name in renamed(job).items()}
    for file in sorted(kept.rglob("*")):
        if file.is_file():
            content = file.read_bytes()
            path = file.relative_to(kept)
            inner = path.relative_to(NESTED) if path.is_relative_to(NESTED) else path
            name = names.get(str(inner), str(inner))
            if name.endswith(".tar.gz"):
                texts |= _members(file)
            elif name.endswith(".zip"):
                with zipfile.ZipFile(file) as archive:
                    texts |= {member: archive.read(member) for member in archive.namelist()}
            elif name == JOINED:
                texts |= _parts(content)
            elif name == LABELLED:
                texts |= _ranks_of(job, content)
            elif name.endswith((".gz", ".xz")):
                unpack = gzip.decompress if name.endswith(".gz") else lzma.decompress
                texts[name[:-3]] = unpack(content)
            else:
                texts[name] = content
    return texts


def _members(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        files = [(member.name, tar.extractfile(member)) for member in tar if member.isfile()]
        return {name: file.read() for name, file in files if file}


def _parts(content: bytes) -> dict[str, bytes]:
    """The logs in one file, below their names."""
    pieces = re.split(rb"^==> (.+) <==\n", content, flags=re.MULTILINE)
    return {name.decode(): text for name, text in zip(pieces[1::2], pieces[2::2], strict=True)}


def _ranks_of(job: Job, content: bytes) -> dict[str, bytes]:
    """The lines of each rank in a file in which every line names it."""
    texts: dict[str, bytes] = {}
    for number, line in re.findall(rb"^\[rank (\d+)\] (.*\n)", content, flags=re.MULTILINE):
        name = str(job.log_of(int(number)))
        texts[name] = texts.get(name, b"") + line
    return texts


def _has_record(texts: dict[str, bytes]) -> bool:
    return any(Path(name).parent.name == "pdtriage" for name in texts)


def _is_of(job: Job, name: str) -> bool:
    """Whether a file holds words of a culprit; the console of a node shows its first rank."""
    shown = {job.home_of(node) / "console.log": node * job.per_node for node in range(job.nodes)}
    path = Path(name)
    if path in {job.log_of(rank, job.role) for rank in job.culprits}:
        return True
    return job.role == "worker" and shown.get(path) in job.culprits


def _has_all(job: Job, texts: dict[str, bytes]) -> bool:
    logs = [job.log_of(rank) for rank in range(job.ranks)]
    logs += [job.log_of(server, "server") for server in range(job.servers)]
    return all(str(log) in texts for log in logs)


def _ends_in_noise(job: Job) -> bool:
    """Whether something alarming may be the last that a script without a word says."""
    return bool(job.noises) and (is_mute(job) or job.kept == "head")


def is_mute(job: Job) -> bool:
    """Whether nothing can be seen of how far a rank came."""
    return job.logger in MUTE or job.is_buffered


def _looks_alike(job: Job) -> bool:
    """Whether a silent culprit's log may look like that of somebody who was merely stopped.

    A rank that dies without a word leaves a log without an error, and so does a rank that catches
    SIGTERM, or one that has nothing to wait for at that moment.
    """
    fault = job.the_fault
    assert fault is not None
    if fault.family == "hang":
        return is_mute(job) or job.victims != "plain"
    if job.victims in HANDLED or job.moment in ("import", "epoch-end", "after", "after-done"):
        return True
    return job.communication in ("seldom", "broadcast")
