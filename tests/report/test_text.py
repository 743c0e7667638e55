"""What a person reads at the terminal."""

from __future__ import annotations

import io
import re

import pytest

from pdtriage.model import Cause, Evidence, Moment, Report, Run, Text, Victim
from pdtriage.report import Options, reporter_named
from pdtriage.support.text_width import columns
from tests.report import reports

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def shown(report: Report, **options: object) -> str:
    stream = io.StringIO()
    reporter_named("text").write(report, stream, Options(**options))  # type: ignore[arg-type]
    return stream.getvalue()


def test_the_first_lines_name_culprit_and_failure() -> None:
    first, second, *_ = shown(reports.failed()).splitlines()
    assert first == "FAILED: rank 1 of 4, host 192.168.0.12, gpu:1"
    assert second == "DataLoader I/O error: reading a file failed with errno 5"


def test_the_common_case_fits_one_screen() -> None:
    report = reports.failed()._replace(notes=(), differences=())
    assert len(shown(report).splitlines()) <= 25
    assert len(shown(reports.in_chinese(report)).splitlines()) <= 25


def test_the_first_screen_answers_everything() -> None:
    screen = "\n".join(shown(reports.failed()).splitlines()[:24])
    assert "log/workerlog.1:312" in screen
    assert re.search(r"^  > 312  OSError: \[Errno 5\]", screen, re.M)
    assert re.search(r"^    311      return f.read\(\)$", screen, re.M)
    assert "your code   /opt/train/reader.py:31 in __getitem__" in screen
    assert "what to do  1. Read the file by hand" in screen
    assert "victims     ranks 2, 3 (stopped by the launcher); rank 0 (lost a peer)" in screen
    assert "confidence  likely: ranks 0, 2 and 3 name rank 1" in screen


def test_chinese() -> None:
    page = shown(reports.in_chinese(reports.failed()))
    assert page.startswith("失败：rank 1（共 4 个），主机 192.168.0.12，gpu:1\n")
    for label in ("你的代码", "怎么办", "受牵连", "可信度", "时间线"):
        assert label in page
    assert "victims" not in page


@pytest.mark.parametrize("width", [40, 80, 100, 120, 300])
@pytest.mark.parametrize("report", [reports.failed(), reports.in_chinese(reports.failed())])
def test_no_line_is_wider_than_the_terminal(report: Report, width: int) -> None:
    long = report._replace(notes=(Text("a note " * 60, "一条很长的说明，" * 60),))
    lines = [line for line in shown(long, width=width).splitlines() if "`" not in line]
    assert max(map(columns, lines)) <= min(width, 120)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_command_stands_whole_on_a_line_however_long_it_is(width: int) -> None:
    """A terminal breaks it on the screen; what people copy from there is one line."""
    command = "`sed -n '1,52p' /mnt/storage/jobs/2026-11-19/run-17/log/node0/workerlog.311`"
    report = reports.failed()
    step = Text(f"Read the lines above it: {command}; they tell.", f"查看：{command}。")
    cause = report.root_causes[0]._replace(advice=(step,))
    page = shown(report._replace(root_causes=(cause,)), width=width)
    assert any(command in line for line in page.splitlines())


def test_success_is_quiet() -> None:
    assert shown(reports.succeeded()) == "SUCCEEDED: nothing went wrong, 4 ranks, last step 120\n"


def test_success_after_a_failed_run_says_how_to_see_it() -> None:
    runs = (Run(1, 1, 1, verdict="failed"), Run(2, 2, 1, verdict="succeeded"))
    page = shown(reports.succeeded()._replace(runs=runs, run=2))
    assert page.count("\n") == 2
    assert "--run 1" in page


def test_verdict_without_a_cause() -> None:
    assert shown(reports.empty("unknown")).startswith("UNKNOWN: the logs do not say how")
    assert shown(reports.empty("failed")).startswith("FAILED: the logs do not show the cause")


def test_unknown_global_rank_is_said_not_guessed() -> None:
    cause = reports.io_error()._replace(rank=None, ranks=(), host=None, local_rank=2)
    page = shown(reports.failed()._replace(root_causes=(cause,)))
    assert page.startswith("FAILED: node ?, local 2, gpu:1\n")


@pytest.mark.parametrize(
    ("role", "name"),
    [("server", "server 1"), ("heter", "heter worker 1"), ("worker", "rank 1 of 4")],
)
def test_role_words(role: str, name: str) -> None:
    cause = reports.io_error()._replace(role=role)  # type: ignore[arg-type]
    page = shown(reports.failed()._replace(root_causes=(cause,)))
    assert page.startswith(f"FAILED: {name}, host")


def test_equal_causes_are_folded() -> None:
    cause = reports.io_error()._replace(rank=0, ranks=(0, 1, 2, 3))
    page = shown(reports.failed()._replace(root_causes=(cause,)))
    assert page.startswith("FAILED: ranks 0-3 (all 4); shown: rank 0, host 192.168.0.12, gpu:1\n")


def test_the_culprit_is_on_the_timeline_wherever_its_clock_puts_it() -> None:
    noise = [Moment(float(t), t, "symptom", Text(f"lost {t}", f"丢失 {t}")) for t in range(20)]
    noise.insert(9, Moment(9.5, 1, "error", Text("the error", "错误")))
    page = shown(reports.failed()._replace(timeline=tuple(noise)))
    timeline = page.split("Timeline\n")[1].split("\n\n")[0].splitlines()
    assert [row.split(None, 1)[1] for row in timeline] == [
        *(f"rank {n}   lost {n}" for n in range(3)),
        "more)",
        "rank 1   the error",
        "more)",
        *(f"rank {n}  lost {n}" for n in (17, 18, 19)),
    ]


def test_a_thousand_victims_take_one_line() -> None:
    victims = tuple(Victim(rank, "worker", None, "peer", 1) for rank in range(0, 1024, 2))
    page = shown(reports.failed()._replace(victims=victims))
    lines = page.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("  victims"))
    assert lines[at] == "  victims     ranks 0-1022, 512 of them (lost a peer)"
    assert lines[at + 1].startswith("  confidence")


def test_other_causes_are_listed_below() -> None:
    other = _segfault()._replace(rank=3, ranks=(3,))
    page = shown(reports.failed()._replace(root_causes=(reports.io_error(), other)))
    assert "Other causes found\n  - rank 3 of 4, host 192.168.0.12, gpu:1: Segmentation" in page
    deep = "a/" * 60 + "workerlog.3"
    evidence = (other.evidence[0]._replace(file=deep, line=77),)
    page = shown(
        reports.failed()._replace(
            root_causes=(reports.io_error(), other._replace(evidence=evidence))
        )
    )
    assert f"\n    {deep}:77\n" in page, "a place is never broken"


def test_runs_are_listed_with_the_current_one_marked() -> None:
    runs = tuple(
        Run(index, index, 1, reports.START, None, "failed" if index % 2 else "succeeded")
        for index in range(1, 4)
    )
    page = shown(reports.failed()._replace(runs=runs, run=3))
    assert "Runs found: 3, this is run 3" in page
    assert re.search(r"^    2  succeeded", page, re.M)
    assert re.search(r"^  > 3  failed", page, re.M)


def test_all_runs_come_one_after_another() -> None:
    runs = (Run(1, 1, 1, verdict="failed"), Run(2, 2, 1, verdict="succeeded"))
    both = [
        reports.failed()._replace(runs=runs, run=1),
        reports.succeeded()._replace(runs=runs, run=2),
    ]
    stream = io.StringIO()
    reporter_named("text").write_all(both, stream, Options())
    page = stream.getvalue()
    assert page.index("Run 1 of 2") < page.index("FAILED") < page.index("Run 2 of 2")
    assert "Runs found" not in page


def test_no_title_is_cut_on_the_timeline() -> None:
    long = Text(
        *["Reading failed with an I/O error (errno 5): /mnt/data/part-00002-of-00064.rec"] * 2
    )
    moments = (Moment(1.0, 2, "error", long), Moment(2.0, 3, "exit", Text("ended", "结束")))
    page = shown(reports.failed()._replace(timeline=moments))
    timeline = page.split("Timeline\n")[1].split("\n\n")[0].splitlines()
    assert "..." not in "".join(timeline)
    assert " ".join("".join(timeline[:2]).split()).endswith(long.en)
    assert max(map(len, timeline)) <= 80
    assert timeline[1].index("/mnt") == timeline[0].index("Reading"), "below the title's beginning"


def test_a_long_timeline_is_shortened_in_the_middle() -> None:
    moments = tuple(
        Moment(reports.START + n, 0, "progress", Text(f"step {n}", f"步 {n}")) for n in range(50)
    )
    page = shown(reports.failed()._replace(timeline=moments))
    assert "step 0\n" in page
    assert "(44 more)" in page
    assert "step 49\n" in page
    assert "step 20\n" not in page


def test_the_same_moment_told_by_several_nodes_is_shown_once() -> None:
    moment = Moment(reports.START, None, "launcher", Text("told to stop", "被要求停止"), "launcher")
    page = shown(reports.failed()._replace(timeline=(moment, moment._replace(t=None), moment)))
    assert page.count("told to stop") == 1


def test_blank_context_is_left_out() -> None:
    evidence = reports.io_error().evidence[0]._replace(after=("  ", "later"))
    cause = reports.io_error()._replace(evidence=(evidence,))
    assert " 313" not in shown(reports.failed()._replace(root_causes=(cause,)))


def test_the_launcher_as_culprit() -> None:
    cause = reports.io_error()._replace(
        role="launcher", rank=None, ranks=(), local_rank=None, device=None
    )
    page = shown(reports.failed()._replace(root_causes=(cause,)))
    assert page.startswith("FAILED: the launcher, host 192.168.0.12\n")


def test_quiet_is_one_line() -> None:
    page = shown(reports.failed(), quiet=True)
    assert page.count("\n") == 1
    assert page.startswith("failed: rank 1 of 4, host 192.168.0.12, gpu:1 | DataLoader I/O error")
    assert page.endswith("| log/workerlog.1:312\n")


def test_masked_secrets_are_mentioned() -> None:
    assert "2 secrets masked" in shown(reports.failed()._replace(redactions=2))
    assert "masked" not in shown(reports.failed())


def test_colour_changes_nothing_but_colour() -> None:
    plain, coloured = shown(reports.failed()), shown(reports.failed(), color=True)
    assert "\x1b[" not in plain
    assert coloured != plain
    assert ANSI.sub("", coloured) == plain


def test_a_log_cannot_steer_the_terminal() -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\x00\r\n\x1b[8mhidden"
    cause = reports.io_error()
    evidence = Evidence(nasty, 5, 0, nasty, (nasty,), (nasty,))
    cause = cause._replace(
        title=Text(nasty, nasty),
        host=nasty,
        device=nasty,
        evidence=(evidence, evidence),
        advice=(Text(nasty, nasty),),
        why=(Text(nasty, nasty),),
        frame=cause.frame._replace(file=nasty, function=nasty) if cause.frame else None,
    )
    report = reports.failed()._replace(
        root_causes=(cause, cause),
        notes=(Text(nasty, nasty),),
        timeline=(Moment(None, 1, nasty, Text(nasty, nasty)),),
    )
    for options in ({}, {"quiet": True}):
        page = shown(report, **options)
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page)
        assert "evil" in page
    coloured = ANSI.sub("", shown(report, color=True))
    assert "\x1b" not in coloured


def test_evidence_of_megabytes_stays_small() -> None:
    evidence = reports.io_error().evidence[0]._replace(text="x" * 1_000_000)
    cause = reports.io_error()._replace(evidence=(evidence,))
    assert len(shown(reports.failed()._replace(root_causes=(cause,)))) < 4_000


def _segfault() -> Cause:
    return reports.io_error()._replace(
        category="code.crash",
        signature="crash.segfault",
        title=Text("Segmentation fault in native code", "原生代码段错误"),
        confidence="guess",
    )
