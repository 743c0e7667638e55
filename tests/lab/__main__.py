"""``python -m tests.lab play SEED COUNT | one SEED:INDEX | show SEED:INDEX | score FOLDER…
| otherwise FOLDER… | store FOLDER NAME``
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .case import cases_below, folder_of, make, result_of, results_otherwise
from .draw import as_json, job_of
from .play import played_of
from .score import Result, misses, table
from .script import rendered
from .stored import MISSES, STORED, pack, rewrite_misses, unpacked

DEFAULT = Path("build") / "lab"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.lab", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    playing = commands.add_parser("play", help="play COUNT jobs of a seed and score them")
    playing.add_argument("seed")
    playing.add_argument("count", type=int)
    playing.add_argument("--first", type=int, default=0, help="number of the first one")
    playing.add_argument("--at-once", type=int, default=2, help="jobs side by side")
    playing.add_argument("--seconds", type=float, help="begin no job after so many seconds")
    playing.add_argument("--short", action="store_true", help="no table by dimension")
    one = commands.add_parser("one", help="play one job again, and say what is said of it")
    show = commands.add_parser("show", help="print what is drawn for a job, and its script")
    for sub in (one, show):
        sub.add_argument("case", metavar="SEED:INDEX")
    scoring = commands.add_parser("score", help="judge cases that were played before")
    scoring.add_argument("folders", nargs="*", type=Path, help="default: the stored cases")
    keeping = commands.add_parser("otherwise", help="judge them as kept in every other way")
    keeping.add_argument("folders", nargs="+", type=Path)
    storing = commands.add_parser("store", help="keep played cases for the tests; list misses")
    storing.add_argument("folder", nargs="?", type=Path)
    storing.add_argument("name", nargs="?", help="of the archive: that of the seed, say")
    for sub in (playing, one):
        sub.add_argument("--into", type=Path, default=DEFAULT, help="folder for the cases")
    choice = parser.parse_args()
    if choice.command == "play":
        indices = range(choice.first, choice.first + choice.count)
        seconds = choice.seconds or float("inf")
        return _play(choice.seed, indices, choice.into, choice.at_once, seconds, choice.short)
    if choice.command == "score":
        if choice.folders:
            folders = [case for top in choice.folders for case in cases_below(top)]
            _report([result_of(folder) for folder in folders])
        else:
            with unpacked() as folders:
                _report([result_of(folder) for folder in folders])
        return 0
    if choice.command == "otherwise":
        folders = [case for top in choice.folders for case in cases_below(top)]
        _report([result for folder in folders for result in results_otherwise(folder)])
        return 0
    if choice.command == "store":
        return _store(choice.folder, choice.name)
    seed, _, index = choice.case.rpartition(":")
    if choice.command == "show":
        job = job_of(seed, int(index))
        print(as_json(job), rendered(job), sep="\n\n")
        return 0
    folder = make(seed, int(index), choice.into)
    print(folder, (folder / "played.json").read_text().strip(), sep="\n")
    _report([result_of(folder)], short=True)
    return 0


def _play(seed: str, indices: range, into: Path, at_once: int, seconds: float, short: bool) -> int:
    """Each job in a process of its own, which may reap whatever that job leaves behind."""
    started = time.monotonic()
    results = []

    def apart(index: int) -> Path | None:
        return _apart(seed, index, into) if time.monotonic() < started + seconds else None

    with ThreadPoolExecutor(at_once) as pool:
        for folder in pool.map(apart, indices):
            if folder is None:
                continue
            result = result_of(folder) if (folder / "played.json").exists() else None
            results.append(result)
            for line in misses([result] if result else []):
                print(line, flush=True)
            if result is None:
                print(f"{folder.name} did not come about", flush=True)
    print(f"\nmake lab SEED={seed} COUNT={len(indices)}: {time.monotonic() - started:.0f} s")
    _report(results, short, with_misses=False)
    return 0


def _store(folder: Path | None, name: str | None) -> int:
    if folder and name:
        came = [case for case in cases_below(folder) if not played_of(case).problem]
        pack(came, STORED / f"{name}.tar.xz")
    claims, cases = rewrite_misses()
    print(f"{cases} cases stored, {claims} claims that do not hold yet are in {MISSES.name}")
    return 0


def _apart(seed: str, index: int, into: Path) -> Path:
    command = [sys.executable, "-m", "tests.lab", "one", f"{seed}:{index}", "--into", str(into)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return folder_of(job_of(seed, index), into)


def _report(results: list[Result | None], short: bool = False, with_misses: bool = True) -> None:
    came = list(_present(results))
    if with_misses:
        print("\n".join(misses(came)))
    text = table(came)
    if short:
        text = text.partition("\n\n| launcher")[0]
    print(text)
    if len(came) < len(results):
        print(f"{len(results) - len(came)} jobs did not come about as drawn and are not counted")


def _present(results: list[Result | None]) -> Iterator[Result]:
    yield from (result for result in results if result is not None)


if __name__ == "__main__":
    sys.exit(main())
