"""What cannot work ends with one sentence and code 2 before anything is started."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pdtriage.launch.console.event_lines import uses_legacy_flags
from pdtriage.launch.options.elastic import as_elastic
from pdtriage.launch.options.parse import parse_flags
from pdtriage.support import exit_codes

from ..running import clean_environment, is_running
from .conftest import SCRIPTS, Launcher


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing.py"], "missing.py does not exist"),
        (["no-such-command"], "neither a file nor a command"),
        (["--nosuchflag=1", "act.py"], "no flag --nosuchflag"),
        (["--gpus=0", "act.py"], "can only use the CPU"),
        (["--xpus=0", "act.py"], "Install paddlepaddle-xpu"),
        (["--ips=203.0.113.1,203.0.113.2", "act.py"], "is not in --ips"),
        (["--auto_tuner_json=t.json", "act.py"], "--launcher paddle"),
        (["--master=etcd://me:pw@127.0.0.1:2379", "--nnodes=2", "act.py"], "a user and a password"),
        (["--master=etcd://127.0.0.1", "--nnodes=2", "act.py"], "etcd://host:2379"),
        (["--elastic_server=h:2379", "--np=2", "--run_mode=ps", "act.py"], "are elastic"),
        (["--master=nonsense", "--nnodes=2", "act.py"], "--master cannot be"),
        (["--python=/nowhere/python", "act.py"], "no Python"),
        (["--nproc_per_node=2", "--start_port=65535", "act.py"], "65536 is not a port"),
        (["--nnodes=3:2", "--master=127.0.0.1:9", "act.py"], "3, is more than the most, 2"),
    ],
)
def test_one_sentence_and_nothing_started(
    launcher: Launcher, arguments: list[str], says: str
) -> None:
    launch = launcher.run(*arguments)
    assert launch.code == exit_codes.USAGE
    assert says in launch.err
    assert "Traceback" not in launch.err
    assert not list(launch.log_dir.glob("workerlog.*"))
    assert not list(launch.log_dir.glob("pdtriage/run-*"))


def test_paddles_launcher_needs_a_python_with_paddle(launcher: Launcher, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "$@"\n')
    bare.chmod(0o755)
    launch = launcher.run("--launcher=paddle", f"--python={bare}", "act.py")
    assert launch.code == exit_codes.USAGE
    assert "This Python has no Paddle" in launch.err
    assert "None" not in launch.err


def test_in_chinese_too(launcher: Launcher) -> None:
    launch = launcher.run("--lang=zh", "missing.py")
    assert launch.code == 2
    assert "没有脚本 missing.py" in launch.err


def test_a_taken_port(launcher: Launcher) -> None:
    with socket.socket() as holder:
        holder.bind(("", 0))
        holder.listen()
        port = holder.getsockname()[1]
        launch = launcher.run(f"--start_port={port}", "act.py")
    assert launch.code == 2
    assert f"Port {port} is taken" in launch.err


def test_a_script_that_cannot_be_executed(launcher: Launcher, tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text("#!/no/such/interpreter\n")
    launch = launcher.run(str(script))
    assert launch.code == 2
    assert "chmod +x" in launch.err
    script.chmod(0o755)
    launch = launcher.run(str(script))
    assert launch.code == 2
    assert "could not be executed" in launch.err


def test_a_folder_that_cannot_be_written(launcher: Launcher, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    launch = launcher.run("act.py", log_dir=tmp_path / "file")
    assert launch.code == 2
    assert "cannot be written" in launch.err


@pytest.mark.parametrize("what", ["pipe", "device"])
def test_a_log_file_that_is_none(launcher: Launcher, what: str) -> None:
    """Opening the one, reading the other may take for ever."""
    place = launcher.folder / "log" / "workerlog.0"
    place.parent.mkdir()
    if what == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/full")
    launch = launcher.run("act.py")
    assert launch.code == 2
    assert f"The log file {place} cannot be written: " in launch.err
    place.unlink()
    place.symlink_to("/dev/null")
    assert launcher.run("act.py").code == 0, "this one is harmless"


@pytest.mark.parametrize("verb", ["pdtriage.launch", "pdtriage doctor"])
def test_a_folder_that_was_removed(tmp_path: Path, verb: str) -> None:
    here = tmp_path / "here"
    here.mkdir()
    words = f"{sys.executable} -m {verb} --log_dir={tmp_path}/log {SCRIPTS}/act.py"
    done = subprocess.run(
        ["sh", "-c", f"rmdir {here}; exec {words}"],
        cwd=here,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2
    assert "The folder you are in does not exist any more." in done.stderr


def test_a_job_whose_name_looks_like_a_path(launcher: Launcher) -> None:
    launch = launcher.run("--job_id=../../elsewhere/bert", "act.py")
    assert launch.code == 0
    names = {path.name for path in launch.log_dir.iterdir()}
    assert any(name.startswith(".._.._elsewhere_bert.") for name in names)
    assert not (launcher.folder.parent / "elsewhere").exists()


def test_a_log_file_that_cannot_be_written(launcher: Launcher) -> None:
    taken = launcher.folder / "log" / "workerlog.1"
    taken.mkdir(parents=True)
    launch = launcher.run("--nproc_per_node=2", "act.py", "0=sleep")
    assert launch.code == 2
    assert f"The log file {taken} cannot be written: Is a directory." in launch.err
    assert not any(is_running(process.pid) for process in launch.record().processes)


def test_anything_executable_may_be_the_script(launcher: Launcher, tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text('#!/bin/sh\necho "rank $PADDLE_TRAINER_ID of $PADDLE_TRAINERS_NUM $1"\n')
    script.chmod(0o755)
    launch = launcher.run("--nproc_per_node=2", str(script), "--flag")
    assert launch.code == 0
    assert launch.log(1) == "rank 1 of 2 --flag\n"
    assert launch.out == "rank 0 of 2 --flag\n"


def test_files_beside_the_logs_hold_only_what_we_set(launcher: Launcher) -> None:
    launch = launcher.run(
        "--nproc_per_node=2",
        "--job_id=j",
        "act.py",
        env={"MY_SECRET": "hunter2", "http_proxy": "http://proxy"},
    )
    assert launch.code == 0
    files = {path.name: path.read_text() for path in launch.log_dir.iterdir() if path.is_file()}
    assert {"endpoints.log", "envlog.0", "envlog.1", "backup_env.1.json"} <= set(files)
    (pod_file,) = [name for name in files if name.startswith("j.")]
    assert not [name for name, text in files.items() if "hunter2" in text]
    endpoints = launch.record().endpoints
    assert files["endpoints.log"] == "PADDLE_TRAINER_ENDPOINTS: \n" + "\n".join(endpoints)
    lines = files["envlog.1"].splitlines()
    assert lines == sorted(lines)
    assert "PADDLE_TRAINER_ID=1" in lines
    assert json.loads(files["backup_env.1.json"])["PADDLE_GLOBAL_RANK"] == "1"
    first, second = files[pod_file].splitlines()
    assert first.startswith("environ({")
    assert second.startswith("[{'name': ")


def test_children_see_no_proxy_and_a_backup_of_long_lists(
    launcher: Launcher, tmp_path: Path
) -> None:
    script = tmp_path / "show.py"
    script.write_text(
        "import os\n"
        "print(os.environ.get('http_proxy'), os.environ.get('http_proxy_original'))\n"
        "print(os.environ.get('PADDLE_TRAINER_ENDPOINTS'))\n"
        "print(os.path.exists(os.environ['PADDLE_BACKUP_ENV_PATH']))\n"
    )
    launch = launcher.run(str(script), env={"http_proxy": "http://p", "PADDLE_ENV_LIMIT_LEN": "5"})
    assert launch.log().splitlines() == ["None http://p", "None", "True"]


def test_console_reads_like_paddles(launcher: Launcher) -> None:
    launch = launcher.run("--nproc_per_node=3", "act.py", "2=exit:3", "1=sleep")
    lines = launch.err.splitlines()
    assert all(line.startswith("LAUNCH ") for line in lines), launch.err
    text = launch.err
    assert "Job: default, mode collective, replicas 1[1:1], elastic False" in text
    assert ", replicas 3, status ready" in text
    assert ", replicas 3, status running" in text
    assert (
        "ABORT!!! Out of all 3 trainers, the trainer process with rank=[2] was aborted. "
        "Please check its log." in text
    )
    assert launch.out == "rank 0 exit\n"
    quiet = launcher.run("--quiet", "--log_level=ERROR", "act.py")
    assert (quiet.out, quiet.err) == ("", "")


def test_legacy_flags_show_the_documented_table(launcher: Launcher) -> None:
    launch = launcher.run("--ips=127.0.0.1", "--nproc_per_node=2", "act.py")
    assert launch.code == 0, launch.err
    assert (
        "Local start 2 processes. First process distributed environment info (Only For Debug): "
        in launch.err
    )
    frame = [line for line in launch.err.splitlines() if line.startswith("    |")]
    assert {len(line) for line in frame} == {93}
    assert f"    |{'PADDLE_TRAINERS_NUM':>40}  {'2':^45}|" in frame
    assert (
        "details abouts PADDLE_TRAINER_ENDPOINTS can be found in "
        f"{launch.log_dir}/endpoints.log, and detail running logs maybe found in "
        f"{launch.log_dir}/workerlog.0" in launch.err
    )
    assert "Run collective mode. gpu arguments:['--ips']" in launch.err
    assert " launch train in CPU mode\n" in launch.err


def test_debug_lines_tell_what_is_started(launcher: Launcher) -> None:
    words = ("--nproc_per_node=2", "act.py", "--password", "hunter2", "1=exit:0")
    usual = launcher.run(*words)
    assert " DEBUG " not in usual.err
    launch = launcher.run("--log_level=DEBUG", *words)
    told = [line.split(" ", 4)[4] for line in launch.err.splitlines() if "LAUNCH DEBUG" in line]
    text = "\n".join(told)
    record = launch.record()
    for process in record.processes:
        log = f"log {process.log} from byte {process.offset}"
        assert f"rank {process.rank} started as pid {process.pid}, {log}" in told
        assert f"rank {process.rank}, cpu, {process.endpoint}: " in text
        assert f"    PADDLE_CURRENT_ENDPOINT={process.endpoint}" in told
    assert "-u act.py --password '***' 1=exit:0" in text
    assert "hunter2" not in launch.err
    assert told[0].startswith("nodes 127.0.0.1; this node's endpoints 127.0.0.1:")


def test_a_range_of_nodes_needs_an_etcd() -> None:
    (note,) = as_elastic(parse_flags(["--nnodes=2:4", "act.py"], {})).notes
    assert "the job starts when 4 nodes are there" in note.en
    assert not as_elastic(parse_flags(["--nnodes=2", "act.py"], {})).notes


def test_graphcores_mode_is_left_to_paddle(launcher: Launcher) -> None:
    launch = launcher.run("--devices=4", "ipu", "--hosts=localhost", "act.py")
    assert launch.code == 2
    assert "--launcher paddle" in launch.err


@pytest.mark.parametrize(
    ("words", "legacy"),
    [
        (("--gpus=0,1",), True),
        (("--selected_gpus=0",), True),
        (("--backend=gloo",), True),
        (("--legacy=true",), True),
        (("--devices=0,1",), False),
        (("--nproc_per_node=2", "--master=10.0.0.1:6070", "--nnodes=2"), False),
    ],
)
def test_which_flags_are_legacy(words: tuple[str, ...], legacy: bool) -> None:
    assert uses_legacy_flags(parse_flags([*words, "act.py"], {})) is legacy


def test_the_table_of_exit_codes() -> None:
    of_run = exit_codes.of_run
    assert of_run(succeeded=True, code=5) == 0
    assert of_run(code=7) == 7
    assert of_run(signal=9) == 137
    assert of_run(code=0) == 1
    assert of_run() == 1
    assert of_run(signal=15, stopped=True) == 1
    assert of_run(interrupted_by=2) == 130
    assert {row[0] for row in exit_codes.TABLE} == {"analyze", "collect", "doctor", "run"}
    assert SCRIPTS.is_dir()


def test_links_in_the_log_folder_are_not_written_through(launcher: Launcher) -> None:
    """Whoever else may write there could have a file of ours emptied."""
    log, mine = launcher.folder / "log", launcher.folder / "mine"
    mine.write_text("precious")
    (log / "pdtriage").mkdir(parents=True)
    names = ("pdtriage/lock", "endpoints.log", "envlog.0", "backup_env.0.json")
    for name in names:
        (log / name).symlink_to(mine)
    assert launcher.run("act.py").code == 0
    assert mine.read_text() == "precious"
    assert not any((log / name).is_symlink() for name in names)
