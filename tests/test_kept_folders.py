"""Given a recorded run, when files are packed, renamed, rotated or lost, then it is judged alike.

All of it, every scenario in every form, takes minutes: `PDTRIAGE_ALL_FORMS=1 pytest` on this file.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import pdtriage
from pdtriage.analysis.bundle import write_bundle
from pdtriage.model import Report
from pdtriage.support.zstd import zstd

from .running import clean_environment, wait_until

FIXTURES = Path(__file__).parent / "fixtures"
CASES = sorted(
    label.parent
    for label in FIXTURES.glob("*/*/label.json")
    if not label.parent.name.startswith("history-")  # they hold pieces of rotated logs already
)
NOT_LOGS = shutil.ignore_patterns("label.json", "cmd.txt", "mtimes.json", "train.py")
LOGS = ("workerlog.", "serverlog.", "heterlog.")
OTHERWISE_BUNDLED = ("config-dump", "devices-flag-without-devices", "elastic-exit-code-legacy")
"""A bundle has no empty logs, and of a console what surrounds the evidence."""

Outcome = tuple[str, tuple[str, str, str, tuple[int, ...]] | None]


def outcome(report: Report) -> Outcome:
    cause = report.root_causes[0] if report.root_causes else None
    named = (cause.category, cause.signature, cause.role, cause.ranks) if cause else None
    return report.verdict, named


def replaced(log: Path, pieces: dict[str, bytes]) -> None:
    """The log by files with these endings of its name, as old as it was."""
    found = log.stat()
    log.unlink()
    for ending, content in pieces.items():
        piece = log.with_name(log.name + ending)
        piece.write_bytes(content)
        os.utime(piece, (found.st_mtime, found.st_mtime))


def pack(log: Path) -> None:
    replaced(log, {".gz": gzip.compress(log.read_bytes())})


def pack_with_zstd(log: Path) -> None:
    replaced(log, {".zst": zstd().compress(log.read_bytes())})


def rename(ending: str) -> Callable[[Path], None]:
    return lambda log: replaced(log, {ending: log.read_bytes()})


def call(after: str) -> Callable[[Path], None]:
    """Where people copied the logs of ranks together they have names of their own."""

    def change(log: Path) -> None:
        if log.name.startswith("workerlog."):
            log.rename(log.with_name(after.format(log.name.removeprefix("workerlog."))))

    return change


def rotate(*parts: float, older: tuple[str, ...] = (".1",)) -> Callable[[Path], None]:
    """Cut behind the line at each of these parts of the log; `older` are the endings of names."""

    def cut(log: Path) -> None:
        content = log.read_bytes()
        ends = [0, *((content.find(b"\n", int(len(content) * part)) + 1) for part in parts)]
        ends = [max(ends[: at + 1]) for at in range(len(ends))] + [len(content)]
        texts = [content[begin:end] for begin, end in pairwise(ends)]
        pieces = {"": texts[-1]}
        for ending, text in zip(older, texts, strict=False):
            pieces[ending] = gzip.compress(text) if ending.endswith(".gz") else text
        replaced(log, pieces)

    return cut


def rotate_within_a_line(log: Path) -> None:
    content = log.read_bytes()
    half = len(content) // 2
    replaced(log, {".1": content[:half], "": content[half:]})


def rotate_at_the_end(log: Path) -> None:
    replaced(log, {".1": log.read_bytes(), "": b""})


FORMS: dict[str, Callable[[Path], None]] = {
    "gzip": pack,
    "zstd": pack_with_zstd,
    "txt": rename(".txt"),
    "log": rename(".log"),
    "dated": rename("-20260101"),
    "dated-log": rename("_2026-01-01.log"),
    "renumbered": rename(".1"),
    "old": rename(".bak"),
    "rank": call("rank_{}.log"),
    "trainer": call("job7.trainer-{}.txt"),
    "rotated": rotate(0.5),
    "rotated-early": rotate(0.1),
    "rotated-late": rotate(0.9, older=("-20260101",)),
    "rotated-packed": rotate(0.5, older=(".1.gz",)),
    "rotated-twice": rotate(0.3, 0.7, older=(".2.gz", ".1")),
    "rotated-within-a-line": rotate_within_a_line,
    "rotated-at-the-end": rotate_at_the_end,
}
AT_ONE_MOMENT = b"Nov 16 03:30:31 "
BY_TIMES = {"hang-interrupted-legacy", "ps-server-killed-legacy"}
"""Where the times of lines say what happened, which that moment hides."""
WRAPPERS = (AT_ONE_MOMENT, b"[pod/job7-worker-0/main] ", b"(train pid=77) ", b"worker-1  | ")
NOT_ALL_OF_A_RANK = {"nodes-nproc-mismatch", "script-not-found"}
"""Where a node has one log, or none says who wrote it, its own name says nothing."""
ALL = bool(os.environ.get("PDTRIAGE_ALL_FORMS"))
PAIRS = [
    (case, form)
    for at, case in enumerate(CASES)
    for number, form in enumerate(FORMS)
    if ALL or (at + number) % len(FORMS) == 0
    if not (form in ("rank", "trainer") and case.name in NOT_ALL_OF_A_RANK)
]


@pytest.mark.parametrize(
    ("case", "form"), PAIRS, ids=[f"{case.name} {form}" for case, form in PAIRS]
)
def test_packed_renamed_or_rotated(case: Path, form: str, tmp_path: Path) -> None:
    folder = copied(case, tmp_path / case.name)
    change_logs(folder, FORMS[form])
    assert outcome(pdtriage.analyze(folder)) == expected(case)


@pytest.mark.parametrize("case", CASES[:: 1 if ALL else 6], ids=lambda case: case.name)
def test_in_an_archive(case: Path, tmp_path: Path) -> None:
    folder = copied(case, tmp_path / "a" / case.name)
    with tarfile.open(tmp_path / "logs.tar.gz", "w:gz") as archive:
        archive.add(folder, case.name)
    packed = Path(shutil.make_archive(str(tmp_path / "b"), "zip", folder.parent, case.name))
    write_bundle([folder], tmp_path / "c.tar.zst")
    wanted = expected(case)
    assert outcome(pdtriage.analyze(tmp_path / "logs.tar.gz")) == wanted
    assert outcome(pdtriage.analyze(packed)) == wanted
    if case.name not in OTHERWISE_BUNDLED:
        assert outcome(pdtriage.analyze(tmp_path / "c.tar.zst")) == wanted


@pytest.mark.parametrize(
    ("case", "wrapper"),
    [
        (case, wrapper)
        for at, case in enumerate(CASES)
        for wrapper in (WRAPPERS if ALL else [WRAPPERS[at % len(WRAPPERS)]])
        if wrapper != AT_ONE_MOMENT or case.name not in BY_TIMES
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_before_every_line_stands_where_it_came_from(
    case: Path, wrapper: bytes, tmp_path: Path
) -> None:
    folder = copied(case, tmp_path / case.name)
    if any(folder.rglob("pdtriage")):
        pytest.skip("a record tells of bytes in the logs")
    change_logs(folder, lambda log: replaced(log, {"": wrapped(log.read_bytes(), wrapper)}))
    assert outcome(pdtriage.analyze(folder)) == expected(case)


def wrapped(content: bytes, wrapper: bytes) -> bytes:
    return b"".join(wrapper + line for line in content.splitlines(keepends=True))


COMMAND = (sys.executable, "-m", "pdtriage")
TRAINING = """\
import os, signal, sys, time
rank, how = int(os.environ["PADDLE_TRAINER_ID"]), sys.argv[1]
for step in range(5):
    print(f"epoch 0 step {step} loss 0.5", flush=True)
    if step == 3 and rank == 1 and how == "errno5":
        raise OSError(5, "Input/output error", "/data/part-0")
    if step == 3 and rank == 1 and how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(30 if step == 3 and how != "fine" else 0.01)
"""
RECORDED = {
    "errno5": ("errno5",),
    "killed": ("killed",),
    "fine": ("fine",),
    "appended": ("fine", "killed", "errno5"),
}
recorded_runs = pytest.mark.parametrize("name", RECORDED)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The log folder that `pdtriage run` left, made once."""

    @cache
    def folder(name: str) -> Path:
        home = tmp_path_factory.mktemp(name)
        (home / "train.py").write_text(TRAINING)
        for how in RECORDED[name]:
            subprocess.run(
                [*COMMAND, "run", "--nproc_per_node=3", "--host=127.0.0.1", "train.py", how],
                cwd=home,
                env=clean_environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=60,
            )
        return home / "log"

    return folder


@recorded_runs
def test_a_recorded_run_in_every_form(
    recorded: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    wanted = pdtriage.analyze(recorded(name))
    assert wanted.verdict == ("succeeded" if name == "fine" else "failed")
    for form, change in FORMS.items():
        folder = copied(recorded(name), tmp_path / form / "log")
        change_logs(folder, change)
        report = pdtriage.analyze(folder)
        assert (outcome(report), len(report.runs)) == (outcome(wanted), len(wanted.runs)), form
        assert [row.exit_code for row in report.ranks] == [row.exit_code for row in wanted.ranks]


@recorded_runs
def test_a_record_is_enough_to_know_who_died_and_how(
    recorded: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    wanted = pdtriage.analyze(recorded(name))
    for lost in files_of(recorded(name)):
        folder = copied(recorded(name), tmp_path / "some" / "log")
        if (folder / lost).parent.name != "pdtriage":
            (folder / lost).unlink()
            report = pdtriage.analyze(folder)
            assert report.verdict == wanted.verdict, lost
            assert [c.ranks for c in report.root_causes] == [c.ranks for c in wanted.root_causes]
        shutil.rmtree(folder)


def test_without_any_log_the_failure_is_still_one(
    recorded: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = copied(recorded("errno5"), tmp_path / "log")
    for log in logs_in(folder):
        log.unlink()
    command = [*COMMAND, "analyze", folder, "-f", "junit"]
    answer = subprocess.run(
        command, env=clean_environment(), capture_output=True, text=True, check=False
    )
    assert answer.returncode == 1
    assert "<failure" in answer.stdout
    assert pdtriage.analyze(folder).root_causes[0].ranks == (1,)


WAITING = """\
import os, time
rank = int(os.environ["PADDLE_TRAINER_ID"])
for step in range(9):
    print(f"epoch 0 step {step} loss 0.5", flush=True)
    while step == 4 and not os.path.exists("rotated"):
        time.sleep(0.02)
    if step == 6 and rank == 1:
        raise OSError(5, "Input/output error", "/data/part-0")
    time.sleep(20 if step == 6 else 0.05)
"""


def rename_and_create(log: Path) -> None:
    log.rename(log.with_name(f"{log.name}.1"))
    log.touch()


def copy_and_truncate(log: Path) -> None:
    shutil.copy(log, log.with_name(f"{log.name}.1"))
    os.truncate(log, 0)


def copy_packed_and_truncate(log: Path) -> None:
    log.with_name(f"{log.name}.1.gz").write_bytes(gzip.compress(log.read_bytes()))
    os.truncate(log, 0)


@pytest.mark.parametrize(
    "rotated", [rename_and_create, copy_and_truncate, copy_packed_and_truncate]
)
def test_rotated_while_it_is_written(rotated: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(WAITING)
    (tmp_path / "log").mkdir()
    logs = [tmp_path / "log" / f"workerlog.{rank}" for rank in (0, 1)]
    for log in logs:
        log.write_text("epoch 0 step 0 loss 0.5\n")  # of a launcher that recorded nothing
    command = [*COMMAND, "run", "--nproc_per_node=2", "--host=127.0.0.1", "train.py"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as run:
        assert wait_until(lambda: all(b"step 4" in log.read_bytes() for log in logs))
        for log in logs:
            rotated(log)
        (tmp_path / "rotated").touch()
        printed, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "FAILED: rank 1 of 2" in printed
    report = pdtriage.analyze(tmp_path / "log")
    assert outcome(report) == ("failed", ("data.io", "data.errno5", "worker", (1,)))
    assert len(report.runs) == 2
    assert [row.last_step for row in report.ranks] == [6, 6]


def test_what_stands_on_both_sides_of_a_rotation_is_told_by_the_files_it_is_in(
    tmp_path: Path,
) -> None:
    lines = [f"epoch 0 step {step} loss 0.5" for step in range(20)]
    lines += ["Traceback (most recent call last):", '  File "train.py", line 7, in <module>']
    lines += ["    read()", "OSError: [Errno 5] Input/output error: '/data/part-0'"]
    text = "".join(f"{line}\n" for line in lines).encode()
    for behind in (2, 40):  # within the traceback, and long before it
        folder = tmp_path / str(behind)
        folder.mkdir()
        cut = len(b"".join(text.splitlines(True)[: max(3, len(lines) - behind)]))
        (folder / "workerlog.0.1").write_bytes(text[:cut])
        (folder / "workerlog.0").write_bytes(text[cut:])
        report = pdtriage.analyze(folder)
        cause = report.root_causes[0]
        assert (report.verdict, cause.category) == ("failed", "data.io")
        (evidence,) = [line for line in cause.evidence if "Errno 5" in line.text][:1]
        found = (folder / Path(evidence.file).name).read_bytes()
        assert b"[Errno 5]" in found[evidence.offset :].splitlines()[0]
        assert b"[Errno 5]" in found.splitlines()[evidence.line - 1]
        assert [Path(file).name for file in report.ranks[0].files] == [
            "workerlog.0.1",
            "workerlog.0",
        ]


def copied(case: Path, to: Path) -> Path:
    folder = Path(shutil.copytree(case, to, ignore=NOT_LOGS))
    times = case / "mtimes.json"
    for name, mtime in json.loads(times.read_text()).items() if times.exists() else ():
        os.utime(folder / name, (mtime, mtime))
    return folder


def change_logs(folder: Path, change: Callable[[Path], None]) -> None:
    for log in logs_in(folder):
        change(log)


def logs_in(folder: Path) -> list[Path]:
    return [folder / name for name in files_of(folder) if name.name.startswith(LOGS)]


def files_of(folder: Path) -> Iterator[Path]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return iter([path.relative_to(folder) for path in found])


@cache
def expected(case: Path) -> Outcome:
    with TemporaryDirectory() as folder:
        return outcome(pdtriage.analyze(copied(case, Path(folder) / case.name)))
