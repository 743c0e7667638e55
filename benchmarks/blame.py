"""Who is blamed in all recorded jobs whose culprit is known: by rules people use, by pdtriage.

    python benchmarks/blame.py [--into FILE]

A rule is right when it names a culprit and no victim. The rules see the same folders:
  launcher   the ranks Paddle's own launcher names in its console as failed or aborted
  torchrun   the first failure by the clock: smallest whole second, ties to the lowest rank
  rank 0     somebody reads the last lines of rank 0 and believes the error there
  grep       every rank whose log holds the word "error"
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path

from pdtriage import analyze
from pdtriage.knowledge import load_knowledge
from pdtriage.model import RunFacts
from pdtriage.reading.local import read_sources
from pdtriage.runs import assemble
from pdtriage.scan import Engine
from pdtriage.sources import find

SCENARIOS = Path(__file__).parent.parent / "tests" / "fixtures" / "scenarios"
LAST_LINES = 20
FAILURES = frozenset({"cause", "symptom", "victim"})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--into", type=Path, help="append the table to this file, too")
    arguments = parser.parse_args()
    text = table()
    print(text)
    if arguments.into:
        with arguments.into.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def table() -> str:
    cases = [(folder, label) for folder, label in _labelled() if label.get("culprit_ranks")]
    rows = [
        f"| {len(cases)} jobs with a known culprit | right | names a victim | names nobody |",
        "|---|---:|---:|---:|",
    ]
    for name, rule in RULES.items():
        right = wrong = silent = 0
        for folder, label in cases:
            named = rule(folder)
            blames_victim = bool(named & set(label.get("victim_ranks", ())))
            right += bool(named & set(label["culprit_ranks"])) and not blames_victim
            wrong += blames_victim
            silent += not named
        rows.append(f"| {name} | {right} | {wrong} | {silent} |")
    return "\n".join(rows) + "\n"


def by_launcher(folder: Path) -> set[int]:
    named: set[int] = set()
    for place, console in enumerate(sorted(folder.rglob("console.log"))):
        text = console.read_text(errors="replace")
        first = place * len(list((console.parent / "log").glob("workerlog.*")))
        containers = re.findall(r"Container rank (\d+) status failed", text)
        lists = re.findall(r"trainer process with rank=\[([\d, ]+)\] was aborted", text)
        dead = re.findall(r"ERROR rank (\d+) error with exit code", text)
        ranks = [*containers, *dead, *(rank for found in lists for rank in found.split(","))]
        named |= {first + int(rank) for rank in ranks}
    return named


def by_torchrun(folder: Path) -> set[int]:
    failures = []
    for rank in _last_run(folder).ranks:
        times = [e.time for _, e in rank.events if e.role in FAILURES and e.time is not None]
        failed = any(event.role in FAILURES for _, event in rank.events)
        when = min(times) if times else rank.last_time
        if failed and when is not None and rank.rank is not None and rank.role == "worker":
            failures.append((int(when), rank.rank))
    return {min(failures)[1]} if failures else set()


def by_rank_0(folder: Path) -> set[int]:
    logs = sorted(folder.rglob("workerlog.0"))
    lines = logs[0].read_text(errors="replace").splitlines()[-LAST_LINES:] if logs else []
    return {0} if any(re.search(r"error|exception|fatal", line, re.I) for line in lines) else set()


def by_grep(folder: Path) -> set[int]:
    named = set()
    places = sorted({log.parent for log in folder.rglob("workerlog.*")})
    for place, logs in enumerate(places):
        found = list(logs.glob("workerlog.*"))
        for log in found:
            if re.search(rb"error", log.read_bytes(), re.I):
                named.add(place * len(found) + int(log.suffix[1:]))
    return named


def by_pdtriage(folder: Path) -> set[int]:
    return {rank for cause in analyze(folder).root_causes for rank in cause.ranks}


RULES: dict[str, Callable[[Path], set[int]]] = {
    "Paddle's launcher": by_launcher,
    "torchrun's rule": by_torchrun,
    "last lines of rank 0": by_rank_0,
    'grep "error"': by_grep,
    "pdtriage": by_pdtriage,
}


def _labelled() -> list[tuple[Path, dict[str, list[int]]]]:
    labels = sorted(SCENARIOS.glob("*/label.json"))
    return [(label.parent, json.loads(label.read_text())) for label in labels]


def _last_run(folder: Path) -> RunFacts:
    facts, records, _ = read_sources(find([folder]), ENGINE)
    return assemble(facts, records)[-1]


ENGINE = Engine(load_knowledge())

if __name__ == "__main__":
    main()
