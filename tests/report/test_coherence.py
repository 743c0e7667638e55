"""Reports of all recorded jobs hold together: timelines, titles, and commands that run."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from pdtriage import analyze
from pdtriage.knowledge.load import load_knowledge
from pdtriage.masking.redact import mask_secrets
from pdtriage.model import Moment, Report, Text
from pdtriage.report.formats.html.drawing import by_one_clock
from pdtriage.report.formats.html.tools import moments_of
from scripts.check_reports import commands_of, problems_of

SCENARIOS = Path(__file__).resolve().parent.parent / "fixtures" / "scenarios"
FAILED = sorted(case.name for case in SCENARIOS.iterdir() if case.is_dir())
HARMLESS = (
    "sed",
    "tail",
    "df",
    "ls",
    "free",
    "ip",
    "ss",
    "echo",
    "ulimit",
    "grep",
    "getent",
    "cat",
    "stat",
    "ps",
)
"""Programs that only look; what they print is of the machine, that they accept it is of us."""
COMPLAINTS = ("invalid option", "unrecognized option", "unknown option", "syntax error", "Usage:")


@cache
def report_of(name: str) -> Report:
    return analyze(SCENARIOS / name)


@pytest.mark.parametrize("name", FAILED)
def test_a_report_holds_together(name: str) -> None:
    assert list(problems_of(report_of(name))) == []


@pytest.mark.parametrize("name", FAILED)
def test_the_table_of_the_page_holds_together(name: str) -> None:
    """It tells what every rank lived through besides the timeline, each by its own clock."""
    report = by_one_clock(report_of(name))
    moments = tuple(moment for moment in moments_of(report)[0] if moment.kind != "start")
    assert list(problems_of(report._replace(timeline=moments))) == []


def test_an_effect_before_its_cause_is_noticed() -> None:
    report = report_of("elastic-exit-code-legacy")
    assert list(problems_of(report)) == []
    turned = report._replace(timeline=tuple(reversed(report.timeline)))
    assert any("before its cause" in problem for problem in problems_of(turned))
    others = tuple(moment for moment in report.timeline if moment.rank != 1)
    assert "the culprit is not in the timeline" in problems_of(report._replace(timeline=others))


def test_a_death_that_is_not_told_is_noticed() -> None:
    report = report_of("elastic-exit-code-legacy")
    deaths = [moment for moment in report.timeline if moment.kind == "exit"]
    assert deaths
    without = tuple(moment for moment in report.timeline if moment.kind not in ("exit", "signal"))
    told = list(problems_of(report._replace(timeline=without)))
    assert any("the death of the culprit" in problem for problem in told)


def test_texts_that_are_cut_or_not_translated_are_noticed() -> None:
    report = report_of("elastic-exit-code-legacy")
    (cause, *_), (first, *others) = report.root_causes, report.timeline
    cut = cause._replace(title=Text("It ended with code …", "它以退出码 …"))
    assert any("not long" in said for said in problems_of(report._replace(root_causes=(cut,))))
    english = first._replace(text=Text(*["the run has begun"] * 2))
    told = list(problems_of(report._replace(timeline=(english, *others))))
    assert any("one language" in said for said in told)
    torn = first._replace(text=Text("the run has beg…", "运行开…"))
    told = list(problems_of(report._replace(timeline=(torn, *others))))
    assert sum("within a word" in said for said in told) == 2


def test_a_time_that_was_corrected_is_marked() -> None:
    """The launcher saw rank 1 end after rank 0, which was connected to it, had lost it."""
    own = [m for m in report_of("elastic-exit-code-legacy").timeline if m.rank == 1]
    assert isinstance(own[0], Moment)
    assert own[0].about


def test_what_stopped_a_job_stands_above_those_it_stopped() -> None:
    """The launcher tells parts of a second, who was stopped by it the second alone."""
    timeline = report_of("hang-one-rank").timeline
    told = next(n for n, moment in enumerate(timeline) if "told to stop" in moment.text.en)
    stopped = [n for n, moment in enumerate(timeline) if moment.kind == "signal"]
    assert len(stopped) == 3
    assert told < min(stopped)


def test_commands_of_the_advice_run(tmp_path: Path) -> None:
    """All of at least forty failures are read by a shell; those that only look are run."""
    failures = [name for name in FAILED if report_of(name).root_causes]
    assert len(failures) >= 40
    commands = dict.fromkeys(c for name in failures for c in commands_of(report_of(name)))
    assert len(commands) >= 25
    run = 0
    for command in commands:
        programs = [
            part.split()[0] for part in command.replace("|", ";").split(";") if part.split()
        ]
        if programs[0] not in HARMLESS or not all(
            shutil.which(p) or p == "ulimit" for p in programs
        ):
            continue
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert not any(words in done.stderr for words in COMPLAINTS), (command, done.stderr)
        run += 1
    assert run >= 5
    assert list(tmp_path.iterdir()) == []  # who looks leaves nothing


def test_commands_that_show_the_log_show_it() -> None:
    """Pasted where the report says that the logs are, they print the lines they are about."""
    shown = 0
    for name in FAILED:
        for command in commands_of(report_of(name)):
            if not command.startswith(("sed -n", "tail -n")):
                continue
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=SCENARIOS,
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.returncode, done.stderr) == (0, ""), command
            assert done.stdout.strip(), command
            shown += 1
    assert shown >= 8


def test_masking_leaves_our_own_texts_alone() -> None:
    """What looks like a password to the masking would be stars in a command."""
    report = report_of("elastic-exit-code-legacy")
    (cause, *_) = report.root_causes
    for signature in load_knowledge().signatures.values():
        cases = [step for case in signature.cases for step in case.advice]
        steps = (*signature.advice, *cases, signature.full_title or Text("-", "-"))
        masked = mask_secrets(report._replace(root_causes=(cause._replace(advice=steps),)))
        assert masked.root_causes[0].advice == steps, signature.id
