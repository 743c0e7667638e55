"""``python -m tests.scenarios list | record [NAMES… | --all] | relabel``"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from .catalog import HEALTHY, SCENARIOS
from .record import RecordingError, record, relabel
from .scenario import Scenario

FIXTURES = Path(__file__).parents[1] / "fixtures"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name every scenario and what happens in it")
    commands.add_parser("relabel", help="write the catalogue's truth beside all stored folders")
    again = commands.add_parser("record", help="run scenarios and store their folders")
    again.add_argument("names", nargs="*", metavar="NAME")
    again.add_argument("--all", action="store_true", help="every scenario there is")
    again.add_argument("--into", type=Path, default=FIXTURES, help="folder to store in")
    choice = parser.parse_args()
    known = {scenario.name: scenario for scenario in (*SCENARIOS, *HEALTHY)}
    if choice.command == "list":
        for scenario in known.values():
            mark = " (root)" if scenario.root else ""
            print(f"{scenario.name:34} {scenario.launchers:10}{mark:7} {scenario.story}")
        return 0
    if choice.command == "relabel":
        for scenario in known.values():
            if (stored := folder_of(scenario, FIXTURES) / scenario.name).is_dir():
                relabel(scenario, stored)
        return 0
    unknown = [name for name in choice.names if name not in known]
    if unknown or not (choice.names or choice.all):
        parser.error(f"no such scenario: {', '.join(unknown)}" if unknown else "names or --all")
    # a shell lets what it starts in the background ignore Ctrl-C, and so would the jobs
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wanted = list(known.values()) if choice.all else [known[name] for name in choice.names]
    outcomes = [_record(scenario, choice.into) for scenario in wanted]
    print(f"{sum(outcomes)} of {len(outcomes)} recorded")
    return 0 if all(outcomes) else 1


def folder_of(scenario: Scenario, fixtures: Path) -> Path:
    return fixtures / ("healthy" if scenario in HEALTHY else "scenarios")


def _record(scenario: Scenario, into: Path) -> bool:
    started = time.monotonic()
    try:
        record(scenario, folder_of(scenario, into))
        outcome = "ok"
    except (RecordingError, PermissionError) as problem:
        outcome = f"NOT RECORDED: {problem}"
    print(f"{scenario.name:34} {time.monotonic() - started:5.1f} s  {outcome}", flush=True)
    return outcome == "ok"


if __name__ == "__main__":
    sys.exit(main())
