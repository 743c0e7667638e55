"""`pdtriage run` from outside: streams, report, files, exit codes, announcements."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema

from pdtriage.analysis import pipeline

from ..ports import free_port
from ..running import wait_until
from .conftest import Command, Desk

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "report.schema.json").read_text())

FAILING = """
def read(path):
    raise OSError(5, "Input/output error", path)

for step in range(100):
    print(f"epoch: 0, step: {step}, loss: 0.5", flush=True)
    time.sleep(0.05)
    if rank == 1 and step == 5:
        read("/data/part-7")
"""


def stored(desk: Desk) -> dict[str, object]:
    report = json.loads((desk.folder / "log" / "pdtriage" / "report.json").read_text())
    jsonschema.validate(report, SCHEMA)
    assert isinstance(report, dict)
    return report


def test_a_failed_run_ends_with_the_report(desk: Desk) -> None:
    desk.script(FAILING)
    run = desk.launch(ranks=3).finish()
    assert run.code == 1
    assert "FAILED: rank 1 of 3" in run.said
    assert "log/workerlog.1:" in run.said
    assert "trainer process with rank=[1] was aborted" in run.said
    assert run.said.index("ABORT!!!") < run.said.index("FAILED: rank 1")


def test_rank_0_streams_to_stdout_byte_for_byte(desk: Desk) -> None:
    desk.script(FAILING + "\nsys.stdout.buffer.write(b'\\x1b[31m\\xff\\r\\n')")
    run = desk.launch(ranks=2).finish()
    assert run.out == desk.log(0)
    assert "\x1b" not in run.said


def test_the_report_is_stored_and_valid(desk: Desk) -> None:
    desk.script(FAILING)
    (desk.folder / "out").mkdir()
    desk.launch("--report", "out/triage.json", "-f", "junit=t.xml", "--format=markdown=m").finish()
    report = stored(desk)
    assert report["verdict"] == "failed"
    (cause,) = report["root_causes"]  # type: ignore[misc]
    assert (cause["category"], cause["ranks"]) == ("data.io", [1])
    assert json.loads((desk.folder / "out" / "triage.json").read_text()) == report
    assert "<testsuite" in (desk.folder / "t.xml").read_text()
    assert (desk.folder / "m").read_text().startswith("## FAILED")


def test_live_and_post_mortem_agree(desk: Desk) -> None:
    desk.script(FAILING)
    desk.launch(ranks=3).finish()
    live = stored(desk)
    later = pipeline.analyze(desk.folder / "log").to_json()
    for part in ("verdict", "root_causes", "victims", "ranks", "job"):
        assert later[part] == live[part], part


def test_another_run_in_the_same_folder_is_judged_by_itself(desk: Desk) -> None:
    desk.script(FAILING)
    assert desk.launch().finish().code == 1
    desk.script("print('epoch: 0, step: 1, loss: 0.5', flush=True); time.sleep(0.5)")
    run = desk.launch().finish()
    assert run.code == 0
    assert "Errno 5" not in run.said
    assert stored(desk)["verdict"] == "succeeded"


def test_success_is_silent_about_scary_words(desk: Desk) -> None:
    desk.script(
        """
        import traceback
        try:
            open("/nonexistent/file")
        except OSError:
            traceback.print_exc()
        """
    )
    run = desk.launch().finish()
    assert run.code == 0
    assert "FAILED" not in run.said
    assert stored(desk)["root_causes"] == []


def test_the_exit_code_is_the_culprits(desk: Desk) -> None:
    desk.script("if rank == 1: sys.exit(7)\ntime.sleep(30)")
    assert desk.launch().finish().code == 7
    desk.script("if rank == 1: os.kill(os.getpid(), 9)\ntime.sleep(30)")
    assert desk.launch().finish().code == 137


def test_ctrl_c_is_an_interruption(desk: Desk) -> None:
    desk.script("print('here', flush=True)\ntime.sleep(30)")
    run = desk.launch()
    run.await_line("Watching Pod")
    assert wait_until(lambda: desk.log(0) == b"here\n")
    run.stop()
    assert run.finish().code == 128 + signal.SIGINT
    assert "INTERRUPTED" in run.said
    assert stored(desk)["verdict"] == "interrupted"


def test_who_had_finished_before_a_job_was_stopped_is_told_before_that(desk: Desk) -> None:
    desk.script("print('here', flush=True)\ntime.sleep(0 if rank == 0 else 60)")
    run = desk.launch("--log_level=DEBUG", ranks=2)
    run.await_line("rank 0 (pid ")
    assert wait_until(lambda: desk.log(1) == b"here\n")
    run.stop()
    assert run.finish().code == 128 + signal.SIGINT
    told = [(m["rank"], m["text"], m.get("about", False)) for m in stored(desk)["timeline"]]
    assert told[1:] == [
        (0, "exited with code 0", False),
        (None, "told to stop by SIGINT", False),
        (1, "ended by SIGTERM", False),
    ]


def test_a_cause_is_announced_while_the_job_still_runs(desk: Desk) -> None:
    """As with num_workers=0: the reader dies, its main thread waits, nobody ends."""
    desk.script(
        """
        import threading
        def read():
            raise OSError(5, "Input/output error", "/data/part-7")
        print("epoch: 0, step: 1, loss: 0.5", flush=True)
        if rank == 1:
            threading.Thread(target=read).start()
        while not os.path.exists("go"):
            time.sleep(0.05)
        """
    )
    run = desk.launch()
    line = run.await_line("rank 1 on")
    assert re.search(
        r"^LAUNCH ERROR .* rank 1 on 127\.0\.0\.1: .*I/O error.*, workerlog\.1:\d+$", line
    )
    assert run.process.poll() is None
    (desk.folder / "go").touch()
    assert run.finish().code == 0
    assert run.said.count("rank 1 on") == 1


def test_an_announcement_masks_secrets(desk: Desk) -> None:
    secret = "Zk7x29LmQ4vR8s"
    desk.script(
        f"""
        time.sleep(1.5)  # until somebody listens
        if rank == 1:
            raise RuntimeError("request refused: password={secret}")
        time.sleep(30)
        """
    )
    run = desk.launch()
    assert "password=***" in run.await_line("rank 1 on")
    assert run.finish().code == 1
    assert secret not in run.said


def test_a_survived_error_is_not_announced(desk: Desk) -> None:
    desk.script(
        """
        import traceback
        time.sleep(1.5)  # until somebody listens
        for step in range(12):
            print(f"epoch: 0, step: {step}, loss: 0.5", flush=True)
            if step == 3:
                try:
                    raise OSError(5, "Input/output error", "/data/part-7")
                except OSError:
                    traceback.print_exc()
            time.sleep(0.25)
        """
    )
    run = desk.launch().finish()
    assert run.code == 0
    assert "I/O error" not in run.said


def test_the_same_cause_on_all_ranks_is_told_once(desk: Desk) -> None:
    desk.script("import threading\ntime.sleep(1)\nimport no_such_module_anywhere\n")
    run = desk.launch(ranks=4).finish()
    assert run.code == 1
    assert len(re.findall(r"rank \d on 127", run.said)) <= 1
    assert stored(desk)["root_causes"][0]["ranks"] == [0, 1, 2, 3]  # type: ignore[index]


def test_chosen_ranks_with_a_prefix(desk: Desk) -> None:
    desk.script("print('one', flush=True); print('two', flush=True); time.sleep(0.3)")
    run = desk.launch("--ranks=0,2", ranks=3).finish()
    assert sorted(run.out.splitlines()) == [b"[0] one", b"[0] two", b"[2] one", b"[2] two"]
    run = desk.launch("--ranks=1", ranks=3).finish()
    assert run.out.splitlines() == [b"one", b"two"]
    run = desk.launch("--ranks=all", ranks=3).finish()
    assert len(run.out.splitlines()) == 6


def test_quiet_shows_no_log(desk: Desk) -> None:
    desk.script("print('one', flush=True)")
    assert desk.launch("--quiet").finish().out == b""


def test_a_silent_job_gets_a_hint_and_is_left_alone(desk: Desk) -> None:
    desk.script(
        """
        print("epoch: 0, step: 1, loss: 0.5", flush=True)
        while not os.path.exists("go"):
            time.sleep(0.05)
        """
    )
    run = desk.launch("--hang_after=1", "--on_hang=report")
    assert "LAUNCH WARNING" in run.await_line("the job has not moved for")
    assert run.process.poll() is None
    (desk.folder / "go").touch()
    assert run.finish().code == 0


def test_wrong_wishes_are_refused_before_anything_starts(desk: Desk) -> None:
    desk.script("open('started', 'w')")
    for words in (
        ("--ranks=some",),
        ("--parsers=nowhere",),
        ("--report=.",),
        ("--report=no/x.html",),
    ):
        run = desk.launch(*words).finish()
        assert run.code == 2, words
        assert len(run.err) == 1, run.err
    assert not (desk.folder / "started").exists()


def test_nothing_heavy_is_imported_before_the_processes_start(desk: Desk) -> None:
    desk.script("time.sleep(0.1)")
    probe = desk.script(
        """
        from pdtriage.live import observer
        from pdtriage.launch.supervise.events import AllStarted
        heavy = ("typer", "rich", "regex", "hyperscan", "watchdog", "backports.zstd")
        seen = []
        real = observer.LiveObserver.notice
        def notice(self, event):
            if isinstance(event, AllStarted):
                seen.extend(name for name in heavy if name in sys.modules)
            real(self, event)
        observer.LiveObserver.notice = notice
        from pdtriage.__main__ import main
        try:
            main(["run", "--nproc_per_node=2", "train.py"])
        except SystemExit as left:
            print("heavy:", seen, left.code)
        """,
        "probe.py",
    )
    done = subprocess.run(
        [sys.executable, str(probe)], cwd=desk.folder, capture_output=True, text=True, check=True
    )
    assert "heavy: [] 0" in done.stdout


def test_a_culprit_on_another_node_is_shown_on_this_one(desk: Desk) -> None:
    desk.script(FAILING.replace("rank == 1", "rank == 3"))
    nodes = two_nodes(desk)
    assert [node.code for node in nodes] == [1, 1]
    for node in nodes:
        assert re.search(r"LAUNCH ERROR .* rank 3 on 127\.0\.0\.1: .*workerlog\.1:\d+", node.said)
        assert "FAILED: rank 3 of 4" in node.said
        assert "rank=[3] was aborted" in node.said
    assert "OSError: [Errno 5] Input/output error: '/data/part-7'" in nodes[0].said
    for folder in ("node0", "node1"):
        later = pipeline.analyze(desk.folder / folder)
        assert later.verdict == "failed"
        assert (later.root_causes[0].rank, later.root_causes[0].signature) == (3, "data.errno5")


def test_a_victim_that_dies_first_hears_of_the_culprit(desk: Desk) -> None:
    """The reader of rank 3 is dead, but rank 3 only waits; rank 0 on the other node gives up."""
    desk.script(
        """
        import threading
        def read():
            raise OSError(5, "Input/output error", "/data/part-7")
        print("epoch: 0, step: 1, loss: 0.5", flush=True)
        if rank == 3:
            threading.Thread(target=read).start()
        time.sleep(1 if rank == 0 else 30)
        where = "[/paddle/third_party/gloo/gloo/transport/tcp/pair.cc:584]"
        raise RuntimeError(f"{where} TIMEOUT self_rank = 0 pair_rank = 3 peer_str = [127.0.0.1]:7")
        """
    )
    nodes = two_nodes(desk)
    for node in nodes:
        assert "FAILED: rank 3 of 4" in node.said
        assert "I/O error" in node.said
    assert [node.code for node in nodes] == [1, 1]


def two_nodes(desk: Desk) -> list[Command]:
    patience = "--analysis_budget=300"  # on a busy machine, too
    master = f"--master=127.0.0.1:{free_port()}"
    job = ("--nnodes=2", master, "--job_secret=of this test", patience)
    nodes = [desk.launch(*job, f"--rank={node}", f"--log_dir=node{node}") for node in range(2)]
    return [node.finish() for node in nodes]
