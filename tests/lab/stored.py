"""Cases worth keeping: small archives of what was kept of played jobs, with the jobs as drawn.

``stored/*.tar.xz`` are replayed by the tests. ``stored/misses.txt`` names the claims that do not
hold yet, a line each; whoever mends one removes its line (``python -m tests.lab store`` does).
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from .case import cases_below, result_of
from .score import Result

STORED = Path(__file__).parent / "stored"
MISSES = STORED / "misses.txt"
PARTS = ("job.json", "played.json", "kept")
GRADES = ("proven", "likely", "guess")
"""Claims that follow from others; a miss is listed by those."""


@contextmanager
def unpacked() -> Iterator[list[Path]]:
    """All stored cases, as folders."""
    with TemporaryDirectory(prefix="pdtriage-lab-") as top:
        for archive in sorted(STORED.glob("*.tar.xz")):
            with tarfile.open(archive) as tar:
                tar.extractall(top, filter="fully_trusted")
        yield cases_below(Path(top))


def pack(cases: Iterable[Path], archive: Path) -> None:
    """Store cases as an archive: what was kept, with its times, in an order of its own."""
    archive.parent.mkdir(exist_ok=True)
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for case in cases:
            for part in PARTS:
                tar.add(case / part, f"{case.name}/{part}", filter=_nobodys)


def wrong_claims(results: Iterable[Result]) -> list[str]:
    """``seed:index claim`` for every claim that does not hold."""
    return [
        f"{result.job.name} {claim}"
        for result in results
        for claim, right in result.claims.items()
        if not right and claim not in GRADES
    ] + [
        f"{result.job.name} wrong proven"
        for result in results
        if result.claims.get("proven") is False
    ]


def listed_misses() -> set[str]:
    return set(MISSES.read_text(encoding="utf-8").splitlines()) if MISSES.exists() else set()


def rewrite_misses() -> tuple[int, int]:
    """List what does not hold today; returns how many claims, of how many cases."""
    with unpacked() as cases:
        results = [result for case in cases if (result := result_of(case)) is not None]
        wrong = wrong_claims(results)
    MISSES.write_text("".join(f"{line}\n" for line in sorted(wrong)), encoding="utf-8")
    return len(wrong), len(results)


def _nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.pax_headers = {"mtime": str(member.mtime)}
    return member
