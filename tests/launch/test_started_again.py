"""Jobs that are started again at once, and two jobs at one place: none harms the other."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from pdtriage.launch.options.parse import parse_flags
from pdtriage.launch.rendezvous import kv_server, master
from pdtriage.launch.rendezvous.announcements import TrainerAnnouncement
from pdtriage.launch.rendezvous.job_secret import JobSecret
from pdtriage.launch.rendezvous.kv import KVClient, KVServer
from pdtriage.launch.supervise.events import Noted
from pdtriage.support.errors import UserError

from ..ports import free_port
from .conftest import NO_SECRET, Launch, Launcher
from .test_kv import peer
from .test_stopped_jobs import meeting


def start(
    launcher: Launcher, folder: Path, flags: list[tuple[str, ...]], env: dict[str, str], *act: str
) -> list[Launch]:
    return [
        launcher.start(*own, "act.py", *act, log_dir=folder / f"n{i}", env=env)
        for i, own in enumerate(flags)
    ]


@pytest.mark.parametrize("how", ["ips", "master"])
def test_a_job_that_is_started_again_at_once_is_a_new_one(
    launcher: Launcher, tmp_path: Path, how: str
) -> None:
    """What the failed start left at the place of exchange neither ends the next nor refuses it."""
    flags = meeting(how)
    # node 0, which serves, takes its time
    before = start(
        launcher, tmp_path / "0", flags, NO_SECRET, "0=stubborn", "1=sleep", "2=exit:7:1"
    )
    assert before[1].finish(60).code == 7, before[1].err
    again = start(launcher, tmp_path / "1", flags[1:], NO_SECRET, "2=exit:0:4", "3=exit:0:4")
    assert_waiting_or_started(again[0])
    time.sleep(1)  # it sees what is left there
    before[0].signal(signal.SIGKILL)
    before[0].finish(60)
    again += start(launcher, tmp_path / "2", flags[:1], NO_SECRET, "0=exit:0:4", "1=exit:0:4")
    for node in again:
        assert node.finish(60).code == 0, node.err
        assert [death.code for death in node.record().deaths] == [0, 0]
        assert not any(peer.facts.failed for peer in node.record().peers)


def assert_waiting_or_started(node: Launch) -> None:
    assert node.process.stderr is not None
    assert any("Waiting peer" in line or "Watching Pod" in line for line in node.process.stderr)


def test_a_node_that_was_killed_while_it_waited_is_not_counted(
    launcher: Launcher, tmp_path: Path
) -> None:
    flags = (f"--master=127.0.0.1:{free_port()}", "--nnodes=3", "act.py")
    first = launcher.start("--rank=0", *flags, log_dir=tmp_path / "n0", env=NO_SECRET)
    killed = launcher.start("--rank=1", *flags, log_dir=tmp_path / "n1", env=NO_SECRET)
    for waits in (first, killed):
        assert waits.process.stderr is not None
        assert any("Waiting peer" in line for line in waits.process.stderr)
    time.sleep(1)  # it has written down that it is there
    killed.process.kill()
    killed.finish()
    rest = [
        launcher.start(f"--rank={n}", *flags, log_dir=tmp_path / f"r{n}", env=NO_SECRET)
        for n in (1, 2)
    ]
    for node in (first, *rest):
        assert node.finish(60).code == 0, node.err


def test_two_jobs_at_one_master_do_not_lose_each_other(launcher: Launcher, tmp_path: Path) -> None:
    """The server is that of the job that ends first."""
    port = free_port()
    jobs = {}
    for job in ("first", "second"):
        common = (f"--master=127.0.0.1:{port}", "--nnodes=2", f"--job_id={job}")
        jobs[job] = [
            launcher.start(
                *(*common, f"--rank={n}", "act.py", "0=sleep", "1=sleep"),
                log_dir=tmp_path / job / str(n),
            )
            for n in (0, 1)
        ]
        for node in jobs[job]:
            node.wait_for_log("rank")
    for node in jobs["first"]:
        node.signal(signal.SIGTERM)
    assert [node.finish(60).code for node in jobs["first"]] == [143, 143]
    time.sleep(6)  # longer than a node may be silent
    os.kill(jobs["second"][1].record().processes[0].pid, signal.SIGKILL)
    for node in jobs["second"]:
        assert node.finish(60).code == 137, node.err
        assert "stopped answering" not in node.err
    assert "node 1 failed: rank 1" in jobs["second"][0].err


@pytest.mark.parametrize("secret", [None, JobSecret("of the jobs of these tests")])
def test_who_waits_for_nodes_of_another_name_is_told_so(
    monkeypatch: pytest.MonkeyPatch, secret: JobSecret | None
) -> None:
    """Two nodes that belong together and were given different names of the job."""
    monkeypatch.setattr(master, "_ALONE", 0.5)
    monkeypatch.setattr(master, "_REMIND", 1.0)
    port = free_port()
    told = {"one": Noting(), "two\x1b[2J": Noting(), "two": Noting()}

    def wait_in_vain(job: str) -> None:
        flags = parse_flags(
            [f"--master=127.0.0.1:{port}", "--nnodes=2", f"--job_id={job}", "t"], {}
        )
        trainers = TrainerAnnouncement(flags, 1, "cpu", {})
        until = time.monotonic() + 4

        def pass_time(seconds: float) -> None:
            if time.monotonic() > until:
                raise KeyboardInterrupt
            time.sleep(seconds)

        with contextlib.suppress(KeyboardInterrupt, UserError):
            master.meet(flags, job[:3], trainers, {}, told[job], pass_time, secret)

    threads = [threading.Thread(target=wait_in_vain, args=(job,)) for job in told]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    place = f"127.0.0.1:{port}"
    (note,) = [text for text in told["one"].texts if "also" in text]
    assert note.startswith(f"this is a node of the job one; at {place} there are also nodes of two")
    assert "\x1b" not in note
    assert any("nodes of one" in text for text in told["two"].texts)


def test_a_job_of_the_same_name_that_is_complete_takes_nobody_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(master, "_TURN", 0.5)
    server = KVServer(0, "127.0.0.1")
    server.end_meeting("/default/info/")
    try:
        flags = parse_flags([f"--master=127.0.0.1:{server.port}", "--nnodes=2", "t.py"], {})
        trainers = TrainerAnnouncement(flags, 1, "cpu", {})
        noted = Noting()
        with pytest.raises(UserError, match="already complete"):
            master.meet(flags, "pod", trainers, {}, noted, time.sleep)
        assert any("still there" in text for text in noted.texts)
    finally:
        server.close()


def test_whoever_served_the_meeting_of_before_goes_and_the_next_one_serves() -> None:
    """All nodes of a job are started again while its first one still stops."""
    server = KVServer(0, "127.0.0.1")
    server.end_meeting("/default/info/")
    turns = 0

    def wait(seconds: float) -> None:
        nonlocal turns
        turns += 1
        if turns == 3:
            server.close()
        assert turns < 60, "nobody serves"
        time.sleep(seconds)

    flags = parse_flags([f"--master=127.0.0.1:{server.port}", "--nnodes=1", "t.py"], {})
    noted = Noting()
    met = master.meet(flags, "pod", TrainerAnnouncement(flags, 1, "cpu", {}), {}, noted, wait)
    try:
        assert any("still there" in text for text in noted.texts)
        assert met.server is not None
        assert len(met.cluster.nodes) == 1
    finally:
        met.close()


class Noting:
    """An observer that remembers what it was shown."""

    beat_seconds = None

    def __init__(self) -> None:
        self.texts: list[str] = []

    def notice(self, event: object) -> None:
        if isinstance(event, Noted):
            self.texts.append(event.text.en)

    def beat(self) -> None: ...


def test_who_has_met_is_remembered_and_who_went_away_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kv_server, "_ABSENT", 0.0)
    server = KVServer(0, "127.0.0.1")
    try:
        client = KVClient("127.0.0.1", server.port, 5)
        assert client.put("/j/info/a/0", "1")
        assert client.get_prefix("/j/info") == {}
        assert client.put("/j/info/a/0", "1")
        server.end_meeting("/j/info/")
        assert client.get_prefix("/j/info") == {"/j/info/a/0": "1"}
        assert client.put("/j/info/a/0", "1")
        assert not client.put("/j/info/b/1", "1")
        assert client.occupied
        assert client.put("/j2/info/b/1", "1")
    finally:
        server.close()


def test_who_has_not_written_since_another_came_completes_no_meeting() -> None:
    """A node that was killed while it waited is still listed when the next one comes; what no node
    has written hides nobody."""
    node = peer("10.0.0.1")
    server = KVServer(0, "127.0.0.1")
    try:
        client = KVClient("127.0.0.1", server.port, 5)
        for key in ("/j/info/first/0", "/j/info/killed/1"):
            assert client.put(key, node)
        assert client.put("/j/info/first/0", node)
        assert client.put("/other/info/a/0", node)
        assert client.put("/j/info/stranger/0", "")
        assert client.delete("/j/info/stranger/0")
        assert len(client.get_prefix("/j/info") or {}) == 2
        assert client.put("/j/info/third/2", node)
        assert client.put("/j/info/first/0", node)
        assert set(client.get_prefix("/j/info") or {}) == {"/j/info/first/0", "/j/info/third/2"}
        assert client.put("/j/info/killed/1", node)
        assert len(client.get_prefix("/j/info") or {}) == 3
    finally:
        server.close()
