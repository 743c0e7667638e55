"""`--launcher paddle`: the real launcher under our eyes."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from pdtriage.analysis.pipeline import analyze

from ..ports import free_port
from ..running import is_running, wait_until
from .conftest import Launcher

pytestmark = pytest.mark.live
PADDLE = ("--launcher", "paddle")


def test_the_culprit_is_seen_where_paddle_reports_the_victim(launcher: Launcher) -> None:
    launch = launcher.run(*PADDLE, "--nproc_per_node=2", "act.py", "0=sleep", "1=exit:9:0.5")
    assert launch.code == 9, launch.err
    record = launch.record()
    assert record.launcher == "paddle"
    assert record.world_size == 2
    assert [(d.role, d.rank, d.code, d.signal, d.stopped) for d in record.deaths[:2]] == [
        ("worker", 1, 9, None, False),
        ("worker", 0, None, 15, True),
    ]
    assert record.deaths[2].role == "launcher"
    assert [p.log for p in record.processes] == [None, "workerlog.0", "workerlog.1"]
    assert launch.out.count("rank 0 sleep") == 1
    # Long enough to be seen from outside, however busy the machine is.
    again = launcher.run(*PADDLE, "--nproc_per_node=2", "act.py", "0=exit:0:1", "1=exit:0:1")
    assert again.code == 0
    offsets = {p.log: p.offset for p in again.record().processes if p.log}
    assert offsets["workerlog.1"] == len("rank 1 exit\n")


def test_a_launcher_that_fails_itself_is_understood(launcher: Launcher) -> None:
    """Its console is kept with the record: live, and for whoever comes later."""
    flags = (*PADDLE, "--run_mode=rpc", "--nproc_per_node=2", "act.py")  # it asks for a master
    launch = launcher.start(*flags, module="pdtriage run").finish(90)
    assert launch.code == 1
    assert "Master is None" in launch.err.partition("FAILED:")[0], "it is shown as it comes"
    live = json.loads((launch.log_dir / "pdtriage" / "report.json").read_text())
    later = analyze(launch.log_dir)
    (cause,) = later.root_causes
    assert (later.verdict, cause.role, cause.category) == ("failed", "launcher", "config.launch")
    assert cause.evidence[0].file.endswith("pdtriage/run-0001.console")
    assert [told["signature"] for told in live["root_causes"]] == [cause.signature]


@pytest.mark.parametrize(
    ("number", "code", "verdict", "signature"),
    [
        (signal.SIGKILL, 137, "interrupted", "verdict.launcher-gone"),
        (signal.SIGSEGV, 139, "failed", "verdict.crash"),
    ],
)
def test_a_launcher_that_is_killed_is_named_and_not_its_ranks(
    launcher: Launcher, number: signal.Signals, code: int, verdict: str, signature: str
) -> None:
    launch = launcher.start(*PADDLE, "--nproc_per_node=2", "act.py", "0=sleep", "1=sleep")
    assert wait_until(lambda: "sleep" in launch.log(0) and "sleep" in launch.log(1), 60)
    assert wait_until(lambda: len(launch.record().processes) == 3)
    pids = [process.pid for process in launch.record().processes]
    os.kill(pids[0], number)
    assert launch.finish(60).code == code, launch.err
    assert not [pid for pid in pids if is_running(pid)]
    report = analyze(launch.log_dir)
    (cause,) = report.root_causes
    assert (report.verdict, cause.role, cause.signature) == (verdict, "launcher", signature)
    assert number.name in cause.why[0].en
    assert {victim.reason for victim in report.victims} == {"stopped"}


def test_each_run_has_the_console_of_its_launcher(launcher: Launcher) -> None:
    for words in (("--run_mode=rpc", "act.py"), ("act.py",)):
        launcher.start(*PADDLE, *words).finish(90)
    assert launcher.started[-1].code == 0, launcher.started[-1].err
    folder = launcher.started[-1].log_dir
    assert analyze(folder).verdict == "succeeded"
    assert analyze(folder, run=1).verdict == "failed"
    (folder / "pdtriage" / "run-0002.console").unlink()
    assert analyze(folder).verdict == "succeeded"


def test_ctrl_c_reaches_it_and_nothing_stays(launcher: Launcher) -> None:
    launch = launcher.start(*PADDLE, "--nproc_per_node=2", "act.py", "0=sleep", "1=sleep")
    assert wait_until(lambda: "sleep" in launch.log(0) and "sleep" in launch.log(1), 40)
    assert wait_until(lambda: len(launch.record().processes) == 3)
    pids = [process.pid for process in launch.record().processes]
    launch.signal(signal.SIGINT)
    assert launch.finish(60).code == 130
    assert not [pid for pid in pids if is_running(pid)]


def test_facts_travel_between_nodes_under_paddles_launcher(
    launcher: Launcher, tmp_path: Path
) -> None:
    flags = (*PADDLE, f"--master=127.0.0.1:{free_port()}", "--nnodes=2")
    heard = tmp_path / "heard"
    actions = ("act.py", f"0=until:{heard}", "1=exit:8:1")
    nodes = [
        launcher.start(*flags, f"--rank={i}", *actions, log_dir=tmp_path / f"n{i}") for i in (0, 1)
    ]
    healthy, failing = nodes
    healthy.wait_for_log("until")
    told = wait_until(lambda: any(peer.facts.failed for peer in healthy.record().peers), 120)
    heard.touch()
    for node in nodes:
        node.finish()
    assert told
    assert failing.code == 8, failing.err
    assert "node 1 failed: rank 1" in healthy.err
    assert healthy.code == 8


def test_a_missing_script_fails_as_it_does_under_paddle_alone(
    launcher: Launcher, tmp_path: Path
) -> None:
    launch = launcher.run(*PADDLE, "missing.py", log_dir=tmp_path / "log")
    assert launch.code == 2
    assert "can't open file" in launch.log(0)
    assert launch.record().deaths[0].code == 2


def test_whoever_paddle_kills_for_its_patience_was_stopped(launcher: Launcher) -> None:
    launch = launcher.run(*PADDLE, "--nproc_per_node=2", "act.py", "0=stubborn", "1=exit:9:1")
    assert launch.code == 9, launch.err
    first, second = launch.record().deaths[:2]
    assert (first.rank, first.code, first.stopped) == (1, 9, False)
    # Paddle's launcher may have collected it before anybody could see how it ended.
    assert (second.rank, second.signal, second.stopped) in [(0, 9, True), (0, None, False)]


def test_whoever_is_killed_at_once_was_not_stopped(launcher: Launcher) -> None:
    launch = launcher.run(*PADDLE, "--nproc_per_node=2", "act.py", "0=signal:9:1.2", "1=exit:9:1")
    own = {0: (None, 9), 1: (9, None)}
    # Who starts late on a busy machine is still there when Paddle's launcher looks, and is stopped.
    ends = {
        d.rank: ((d.code, d.signal) == own[d.rank], d.stopped) for d in launch.record().deaths[:2]
    }
    assert set(ends.values()) <= {(True, False), (False, True)}
    assert (True, False) in ends.values()
