"""`run` as a function: hooks of its caller, and machines that are not like ours."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pdtriage.record.reader import read_records
from pdtriage.record.schema import RunRecord

from ..running import clean_environment, is_running, wait_until
from .conftest import SCRIPTS


def call(tmp_path: Path, program: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a program that calls `go(*words, **hooks)`, which exits as `pdtriage run` would."""
    prelude = textwrap.dedent(
        f"""
        import sys
        from pdtriage.launch import run
        from pdtriage.launch.console.console import Console
        from pdtriage.launch.supervise.outcome import Conclusion, ExitOrderAnalyst
        def go(*words, **hooks):
            sys.exit(run(["--log_dir", {str(tmp_path / "log")!r}, *words], **hooks).exit_code)
        """
    )
    return subprocess.run(
        [sys.executable, "-c", prelude + textwrap.dedent(program)],
        cwd=SCRIPTS,
        env=clean_environment() | env,
        capture_output=True,
        text=True,
        timeout=60,
    )


def record(tmp_path: Path) -> RunRecord:
    return read_records(tmp_path / "log")[-1]


def test_a_view_that_breaks_does_not_break_the_job(tmp_path: Path) -> None:
    done = call(
        tmp_path,
        """
        class Broken(Console):
            def beat(self):
                raise RuntimeError("no such column")
        go("--nproc_per_node=2", "act.py", "0=exit:0:0.5", "1=exit:0:0.5", observer=Broken())
        """,
    )
    assert done.returncode == 0
    assert done.stderr.count("no such column") == 1
    assert "the job goes on" in done.stderr


@pytest.mark.parametrize("debugging", [False, True])
def test_an_analysis_that_breaks_leaves_the_exit_order(tmp_path: Path, debugging: bool) -> None:
    done = call(
        tmp_path,
        """
        class Broken:
            def facts(self, record, tell):
                raise ValueError("a")
            def conclude(self, record, wait):
                raise ValueError("bad log")
        go("act.py", "0=exit:6", analyst=Broken())
        """,
        PDTRIAGE_DEBUG="1" if debugging else "",
    )
    assert done.returncode == 6
    assert "(ValueError: bad log); judging by exit order alone" in done.stderr
    assert ("Traceback" in done.stderr) == debugging


def test_the_analyst_decides_who_is_to_blame(tmp_path: Path) -> None:
    done = call(
        tmp_path,
        """
        class Judge(ExitOrderAnalyst):
            def conclude(self, record, wait):
                return Conclusion("failed", (0,), signal=15, stopped=True)
        go("--nproc_per_node=2", "act.py", "0=sleep", "1=exit:6", analyst=Judge())
        """,
    )
    assert done.returncode == 1
    assert "rank=[0] was aborted" in done.stderr
    assert record(tmp_path).exit_code == 1


def test_a_bug_of_ours_leaves_no_orphan(tmp_path: Path) -> None:
    done = call(
        tmp_path,
        """
        from pdtriage.launch.supervise.supervisor import Supervisor
        def broken(self):
            raise AssertionError("a bug")
        Supervisor.run = broken
        go("--nproc_per_node=2", "act.py", "0=sleep", "1=sleep")
        """,
    )
    assert done.returncode == 1
    assert "a bug" in done.stderr
    pids = [process.pid for process in record(tmp_path).processes]
    assert len(pids) == 2
    assert wait_until(lambda: not any(is_running(pid) for pid in pids))
    assert record(tmp_path).reason == "launcher-killed"


def test_a_kernel_without_pidfd(tmp_path: Path) -> None:
    done = call(
        tmp_path,
        """
        import os
        del os.pidfd_open
        go("--nproc_per_node=3", "act.py", "0=sleep", "1=exit:4:0.6", "2=exit:5:0.2")
        """,
    )
    assert done.returncode == 5
    deaths = [(death.rank, death.code) for death in record(tmp_path).deaths]
    assert deaths[0] == (2, 5)
    assert len(deaths) == 3


def test_a_node_with_stand_in_cards(tmp_path: Path) -> None:
    """NVML, nvidia-smi and the GPU wheel are stand-ins; everything else is real."""
    (tmp_path / "pynvml.py").write_text(
        "class NVMLError(Exception): pass\n"
        "def nvmlInit(): pass\n"
        "def nvmlShutdown(): pass\n"
        "def nvmlDeviceGetCount(): return 5\n"
    )
    (tmp_path / "site" / "paddlepaddle_gpu-3.3.1.dist-info").mkdir(parents=True)
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\n[ "$1" = -c ] && exec echo {tmp_path / "site"}\nexec {sys.executable} "$@"\n'
    )
    smi = tmp_path / "nvidia-smi"
    smi.write_text(
        '#!/bin/sh\necho "0, stand-in"\n'
        'case "$*" in *"-l 5"*) echo $$ > "$SMI_PID"; exec sleep 300;; esac\n'
    )
    for tool in (python, smi):
        tool.chmod(0o755)
    pid_file = tmp_path / "smi.pid"
    done = call(
        tmp_path,
        f"""go("--python", {str(python)!r}, "--gpus=3,1", "act.py", "1=exit:3:1", "0=sleep")""",
        PYTHONPATH=str(tmp_path),
        PATH=f"{tmp_path}:{os.environ['PATH']}",
        SMI_PID=str(pid_file),
    )
    assert done.returncode == 3, done.stderr
    assert [process.device for process in record(tmp_path).processes] == ["gpu:3", "gpu:1"]
    assert "FLAGS_selected_gpus=3\n" in (tmp_path / "log" / "envlog.0").read_text()
    lines = (tmp_path / "log" / "default.gpu.log").read_text().splitlines()
    assert lines[:2] == [
        "index,uuid,driver_version,name,gpu_serial,display_active,display_mode",
        "0,stand-in",
    ]
    assert "index,utilization_gpu,memory_total,memory_used,memory_free,timestamp" in lines
    assert not is_running(int(pid_file.read_text()))


def test_other_systems_are_refused_with_a_sentence(tmp_path: Path) -> None:
    done = call(tmp_path, """sys.platform = "win32"; go("act.py", language="zh")""")
    assert done.returncode == 2
    assert done.stderr.startswith("pdtriage run: `pdtriage run` 需要 Linux")
    assert len(done.stderr.splitlines()) == 1


def test_help_names_every_flag_in_both_languages(tmp_path: Path) -> None:
    english = call(tmp_path, """go("--help")""").stdout
    chinese = call(tmp_path, """go("--lang=zh", "-h")""").stdout
    for word in ("--log_dir", "--gpus", "--facts_port", "PADDLE_NNODES", "--heter_workers"):
        assert word in english
        assert word in chinese
    assert english.startswith("usage: pdtriage run")
    assert chinese.startswith("用法：pdtriage run")


@pytest.mark.parametrize(
    ("ending", "code", "why"),
    [
        ("StopRequested(15)", 143, "told to stop"),
        ("JobEnded(True)", 0, "the job has completed on the other nodes"),
        ("JobEnded(False)", 7, "the job has failed on the other nodes"),
    ],
)
def test_a_job_that_ends_between_two_attempts(
    tmp_path: Path, ending: str, code: int, why: str
) -> None:
    """As a node of an elastic job may find, while it waits for the others."""
    program = f"""
    from pdtriage.launch.rendezvous.job_nodes import JobEnded, StopRequested
    from pdtriage.launch.session import _Session
    first = _Session._attempt
    def attempt(self, number, planner, post):
        if number:
            raise {ending}
        return first(self, number, planner, post)
    _Session._attempt = attempt
    go("--restart-on=always", "--restart-delay=0", "act.py", "0=exit:7")
    """
    done = call(tmp_path, program)
    assert done.returncode == code, done.stderr
    assert f"not restarted: {why}" in done.stderr
    assert done.stderr.rstrip().endswith(f"Exit code {code}")
    (record,) = read_records(tmp_path / "log")
    assert record.restart is not None
    assert (record.restart.again, record.restart.why.en) == (False, why)
    assert (record.exit_code, record.reason) == (code, "failed")
