"""Given logs that many runs appended to, when laid side by side, then every run has its own."""

from __future__ import annotations

import pytest

from pdtriage.model import FileFacts, LogFile, RunFacts
from pdtriage.runs import assemble
from pdtriage.scan import scan

from ..scan.builders import MODIFIED, engine
from .builders import environment, facts_of, runs_of

ERROR = (
    'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\n    g()\nKeyError: 1\n'
)
STEPS = "epoch 0 step 0 loss 1.5\nepoch 0 step 1 loss 1.4\n"


def run(pid: int, day: int, port: int = 6170, end: str = "") -> str:
    """A run as a rank writes it: it connects, makes steps and ends."""
    at = f"I01{day:02} 03:04:05.000006 {pid}"
    return f"{at} tcp_utils.cc:132] Successfully connected to 127.0.0.1:{port}\n{STEPS}{end}"


def files_by_run(runs: list[RunFacts]) -> list[list[str]]:
    return [sorted(f[-1] for r in run.ranks for f in r.files) for run in runs]


def test_ranks_that_later_runs_no_longer_had_stay_with_theirs() -> None:
    runs = runs_of(
        {
            "log/workerlog.0": run(100, 1, end=ERROR) + run(200, 2, end=ERROR) + run(300, 9),
            "log/workerlog.1": run(101, 1) + run(201, 2) + run(301, 9),
            "log/workerlog.2": run(102, 1) + run(202, 2, end=ERROR),
        }
    )
    assert files_by_run(runs) == [["0", "1", "2"], ["0", "1", "2"], ["0", "1"]]
    told = [[note.en for note in run.notes if "workerlog.2" in note.en] for run in runs]
    assert [len(notes) for notes in told] == [0, 0, 1]


def test_a_rank_whose_log_of_a_run_is_lost_leaves_a_gap() -> None:
    runs = runs_of(
        {
            "log/workerlog.0": run(100, 1) + run(200, 2) + run(300, 3),
            "log/workerlog.1": run(101, 1) + run(301, 3),
        }
    )
    assert files_by_run(runs) == [["0", "1"], ["0"], ["0", "1"]]


def test_the_port_of_the_store_tells_runs_apart_that_no_clock_does() -> None:
    runs = runs_of(
        {
            "log/workerlog.0": run(100, 1, 7001, ERROR) + run(200, 1, 7002, ERROR),
            "log/workerlog.1": run(101, 1, 7001),
        }
    )
    assert files_by_run(runs) == [["0", "1"], ["0"]]


def test_environments_are_of_the_runs_with_their_ports() -> None:
    """A launcher of before Paddle 2.3 writes none: its run is not the one of the last block."""
    block = environment(0, 1, "aaa", "10.0.0.1:9001") + "PADDLE_MASTER=10.0.0.1:7001\n"
    runs = runs_of(
        {
            "log/workerlog.0": run(100, 1, 7001, ERROR) + run(200, 2, 7002),
            "log/envlog.0": block,
        }
    )
    assert [[r.environment.get("POD_NAME") for r in run.ranks] for run in runs] == [["aaa"], [None]]


def test_a_process_that_wrote_nothing_was_started_all_the_same() -> None:
    blocks = environment(0, 1, "aaa", "10.0.0.1:9001") + "PADDLE_MASTER=10.0.0.1:7001\n"
    blocks += environment(0, 1, "bbb", "10.0.0.1:9002") + "PADDLE_MASTER=10.0.0.1:7002\n"
    runs = runs_of({"log/workerlog.0": run(100, 1, 7001, ERROR), "log/envlog.0": blocks})
    assert [next(r.lines for r in run.ranks) > 0 for run in runs] == [True, False]


def test_a_sign_that_is_weak_in_one_log_is_none_where_others_begin_anew() -> None:
    weak = "I0102 03:04:05.000006 {} pybind.cc:7] hello\n" + STEPS
    later = "I0109 03:04:05.000006 {} pybind.cc:7] hello\n" + STEPS.replace("0 step", "3 step")
    runs = runs_of(
        {
            "log/workerlog.0": run(100, 2, end=ERROR) + run(300, 9),
            "log/workerlog.1": weak.format(101) + later.format(301),
        }
    )
    assert files_by_run(runs) == [["0", "1"], ["0", "1"]]


@pytest.mark.parametrize("first", ["2021-01-02 03:04:05,006 - INFO - begins\n", ""])
def test_no_run_lasts_for_years(first: str) -> None:
    """The files were copied two years after they were written."""
    dated = "2021-01-02 03:04:06,006 - INFO - step 1\n"
    runs = runs_of(
        {
            "log/workerlog.0": run(100, 2) + dated,
            "log/workerlog.1": first + run(101, 2),
        }
    )
    [only] = runs
    assert only.run.started is not None
    assert only.run.ended is not None
    assert only.run.ended - only.run.started < 60


def test_unix_times_do_not_let_a_run_begin_before_it_did() -> None:
    dump = (
        "\nError Message Summary:\n----------------------\n"
        "FatalError: `Termination signal` is detected by the operating system.\n"
        "  [TimeInfo: *** Aborted at 1672599845 (unix time) try it ***]\n"  # 8 hours before
        "  [SignalInfo: *** SIGTERM (@0x1) received by PID 100 (TID 0x7f00) from PID 77 ***]\n"
    )
    [only] = runs_of({"log/workerlog.0": run(100, 2, end=dump)})
    assert only.run.started == 1672628645.000006


DAY = 86_400.0


def written(days_ago: int, path: str, text: str) -> FileFacts:
    facts = facts_of(path, text)
    return facts._replace(file=facts.file._replace(modified=MODIFIED - days_ago * DAY))


def test_servers_of_an_older_run_come_before_the_newest() -> None:
    """Their logs tell no time, and are the only ones of that run."""
    facts = [
        written(3, "log/serverlog.0", "server 0 is up\n"),
        written(0, "log/workerlog.0", run(100, 9)),
        written(0, "log/workerlog.1", run(101, 9)),
    ]
    roles = [{rank.role for rank in run.ranks} for run in assemble(facts)]
    assert roles == [{"server"}, {"worker"}]


def test_the_environment_of_an_older_launch_is_not_that_of_the_only_log() -> None:
    """The newest run was started by the older launcher, which writes none."""
    both = "127.0.0.1:7001,127.0.0.1:7002"
    environments = [environment(rank, 2, "aaaaaa", both) for rank in (0, 1)]
    facts = [
        written(3, "log/envlog.0", environments[0]),
        written(3, "log/envlog.1", environments[1]),
        written(0, "log/workerlog.0", run(100, 1, 7001, ERROR) + run(200, 9, 9001)),
        written(0, "log/workerlog.1", run(201, 9, 9001)),
    ]
    assert files_by_run(assemble(facts)) == [["0"], ["0", "1"]]


def test_lines_without_a_time_are_not_of_the_time_of_the_run_before() -> None:
    runs = runs_of({"log/workerlog.0": run(100, 1, end=ERROR) + STEPS.replace("1.5", "1.6")})
    assert [run.run.started is None for run in runs] == [False, True]


def test_files_that_each_launch_has_of_its_own_are_runs_of_their_own() -> None:
    files = {
        "log/default.zzzzzz.0.log": run(100, 1, end=ERROR),
        "log/default.aaaaaa.0.log": run(200, 9),
        "log/default.aaaaaa.1.log": run(201, 9),
        "log/workerlog.0": run(300, 5),
    }
    found = [worker_facts(path, text) for path, text in files.items()]
    runs = assemble(found)
    assert [[f.removeprefix("log/") for r in run.ranks for f in r.files] for run in runs] == [
        ["default.zzzzzz.0.log"],
        ["workerlog.0"],
        ["default.aaaaaa.0.log", "default.aaaaaa.1.log"],
    ]


def test_a_list_of_the_older_launcher_is_not_of_a_launch_that_names_its_logs() -> None:
    listed = facts_of("log/endpoints.log", "PADDLE_TRAINER_ENDPOINTS: \n10.0.0.1:1\n10.0.0.1:2")
    assemble_with = [listed, worker_facts("log/default.aaaaaa.0.log", run(100, 1))]
    assert [run.world_size for run in assemble(assemble_with)] == [None]
    older = [listed, worker_facts("log/workerlog.0", run(100, 1))]
    assert [len(run.ranks) for run in assemble(older)] == [2]


def test_the_same_text_under_two_names_is_one_log() -> None:
    text = run(100, 1, end=ERROR)
    runs = assemble(
        [worker_facts(f"log/{n}", text) for n in ("default.aaaaaa.0.log", "workerlog.0")]
    )
    assert [[r.files for r in run.ranks] for run in runs] == [[("log/workerlog.0",)]]


def worker_facts(path: str, text: str) -> FileFacts:
    number = int(path.removesuffix(".log").rpartition(".")[2])
    return scan(LogFile(path, "worker", "log", number), [text.encode()], engine())


def test_a_run_that_does_not_say_when_it_began_began_after_the_one_above_it() -> None:
    start = "/srv/x.py:7: UserWarning: No ccache found. Please be aware that recompiling\n"
    untimed = "sample of the first batch " + "0 " * 5000 + "\n"
    newest = start + untimed + "I0120 15:00:00.000006 200 x.cc:1] done\n"
    older = "E0102 03:00:00.000006 7 pybind.cc:1614] Invalid CUDAPlace(1), must inside [0, 1)\n"
    log = run(100, 20, end=ERROR) + newest
    runs = runs_of({"log/workerlog.0": log, "log/workerlog.1": older})
    assert files_by_run(runs)[-1] == ["0"]
