"""Strangers on the network speak for nodes: no job is stopped, no verdict changed."""

from __future__ import annotations

import json
import threading
import time
import zlib
from pathlib import Path

import pytest

from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.rendezvous.job_secret import JobSecret, NodeExchange, Signed, ignored_note
from pdtriage.launch.rendezvous.kv import KVClient, KVServer
from pdtriage.launch.rendezvous.peer_channel import FactsChannel, Message
from pdtriage.launch.supervise.events import PeerDiffers, PeerSpoke

from ..ports import free_port, free_run
from ..running import wait_until
from .conftest import NO_SECRET, SECRET, Launcher

CLUSTER = Cluster("ips", 0, ("h0", "h1"), (("h0:1", "h0:2"), ("h1:1", "h1:2")), "h0:1")
RANK = {"role": "worker", "rank": 3, "exit": {"order": 0, "signal": 11, "time": 1.0}}
LIE = {
    "beat": 7,
    "state": "failed",
    "version": 9,
    "replicas": 99,
    "leaving": False,
    "facts": {"failed": True, "role": "worker", "rank": 3, "signal": 11, "ranks": [RANK]},
}


class Place:
    """An exchange that anybody can write to."""

    timeout = 1.0

    def __init__(self) -> None:
        self.keys: dict[str, str] = {}

    def put(self, key: str, value: str) -> bool:
        self.keys[key] = value
        return True

    def get_prefix(self, prefix: str) -> dict[str, str] | None:
        return {key: value for key, value in self.keys.items() if key.startswith(prefix)}


def exchanges(place: Place, *, echo: bool = False) -> tuple[NodeExchange, NodeExchange]:
    secret = JobSecret("one of this job")
    return (
        NodeExchange(place, secret, "launch-0", session="s", echo=echo),
        NodeExchange(place, secret, "launch-1", session="s", echo=echo),
    )


def test_what_is_signed_is_read_and_the_rest_is_counted() -> None:
    place = Place()
    one, other = exchanges(place)
    other.put("/j/1", "said")
    assert one.get_prefix("/j/") == {"/j/1": "said"}
    for lie in ("", "{}", "[" * 9999, json.dumps(LIE), place.keys["/j/1"].replace("said", "sold")):
        place.keys["/j/1"] = lie
        assert one.get_prefix("/j/") == {}
    assert one.ignored["unsigned"] == 5
    note = ignored_note(one.ignored)
    assert note is not None
    assert "5 messages" in note.en
    assert "5 条" in note.zh


@pytest.mark.parametrize("field", ["launch", "number", "time", "heard", "body", "mac"])
def test_no_part_of_a_message_can_be_changed(field: str) -> None:
    secret = JobSecret("one of this job")
    sealed = json.loads(secret.seal("place", Signed("l", 1, 2.0, ("x",), "b")))
    assert secret.open("place", json.dumps(sealed)) == Signed("l", 1, 2.0, ("x",), "b")
    assert secret.open("another place", json.dumps(sealed)) is None
    assert JobSecret("another").open("place", json.dumps(sealed)) is None
    sealed[field] = {"number": 2, "time": 3.0, "heard": []}.get(field, "y")
    assert secret.open("place", json.dumps(sealed)) is None


def test_what_was_said_before_cannot_be_said_again() -> None:
    place = Place()
    one, other = exchanges(place)
    other.put("/j/1", "first")
    first = place.keys["/j/1"]
    assert one.get_prefix("/j/") == {"/j/1": "first"}
    assert one.get_prefix("/j/") == {"/j/1": "first"}  # nobody wrote anything new
    other.put("/j/1", "second")
    assert one.get_prefix("/j/") == {"/j/1": "second"}
    place.keys["/j/1"] = first
    assert one.get_prefix("/j/") == {}
    place.keys["/j/0"] = first  # nor elsewhere
    assert one.get_prefix("/j/") == {}
    assert (one.ignored["replayed"], one.ignored["unsigned"]) == (1, 1)


def test_what_was_said_at_an_earlier_start_is_not_heard() -> None:
    place = Place()
    one, earlier = exchanges(place, echo=True)
    earlier.put("/j/1", "failed")
    assert one.get_prefix("/j/") == {}
    # who is there hears us, shows it, and is heard
    one.put("/j/0", "here")
    earlier.get_prefix("/j/")
    earlier.put("/j/1", "news")
    assert one.get_prefix("/j/") == {"/j/1": "news", "/j/0": "here"}


@pytest.mark.parametrize("secret", [None, JobSecret("one of this job")], ids=["none", "secret"])
def test_what_a_start_before_still_says_is_not_heard_by_the_next(secret: JobSecret | None) -> None:
    """Node 0 of the failed start is about to end while node 1 has been started again."""
    place = Place()
    first, second, again = (NodeExchange(place, secret, name, echo=True) for name in "abc")
    for _ in range(2):
        for key, one in (("/j/0", first), ("/j/1", second)):
            one.put(key, "running")
            one.get_prefix("/j/")
    assert first.get_prefix("/j/") == {"/j/0": "running", "/j/1": "running"}
    for _ in range(3):
        again.put("/j/1", "new")
        assert "/j/1" not in (first.get_prefix("/j/") or {})
        first.put("/j/0", "failed")
        assert "/j/0" not in (again.get_prefix("/j/") or {})


def test_a_clock_that_is_minutes_off_is_no_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place()
    one, other = exchanges(place, echo=True)
    with monkeypatch.context() as slow:
        slow.setattr(time, "time", lambda: 1e9)
        other.put("/j/1", "not heard anybody yet")
    assert one.get_prefix("/j/") == {}
    assert ignored_note(one.ignored) is None


def test_a_secret_shows_itself_to_nobody() -> None:
    secret = JobSecret("hunter2hunter2")
    assert "hunter2" not in repr(secret)
    assert "hunter2" not in secret.seal("p", Signed("l", 1, 2.0, (), "b"))


def told(place: Place | NodeExchange) -> tuple[list[Message], FactsChannel]:
    heard: list[Message] = []
    channel = FactsChannel(place, CLUSTER, "j", heard.append)
    return heard, channel


def test_without_a_secret_it_is_hearsay() -> None:
    place = Place()
    heard, channel = told(place)
    place.put(channel.key[:-1] + "1", json.dumps(LIE))
    assert wait_until(lambda: len(heard) >= 2)
    channel.close()
    assert all(m.hearsay for m in heard if isinstance(m, (PeerSpoke, PeerDiffers)))


def test_with_a_secret_a_stranger_is_not_heard_but_the_node_is() -> None:
    place = Place()
    one, other = exchanges(place)
    heard, channel = told(one)
    key = channel.key[:-1] + "1"
    place.put(key, json.dumps(LIE))
    assert wait_until(lambda: one.ignored.total() > 0)
    assert heard == []
    other.put(key, json.dumps(LIE | {"replicas": 2}))
    assert wait_until(lambda: bool(heard))
    (note,) = channel.ignored()
    channel.close()
    assert "not signed" in note.en
    (spoke,) = heard
    assert isinstance(spoke, PeerSpoke)
    assert not spoke.hearsay
    assert [rank.rank for rank in spoke.facts.ranks] == [3]


def test_a_node_speaks_only_of_its_own_ranks() -> None:
    place = Place()
    one, other = exchanges(place)
    heard, channel = told(one)
    facts = {**LIE["facts"], "ranks": [RANK | {"rank": 0}, RANK | {"rank": 99}, RANK]}  # type: ignore[dict-item]
    other.put(channel.key[:-1] + "1", json.dumps(LIE | {"replicas": 2, "facts": facts}))
    assert wait_until(lambda: bool(heard))
    (note,) = channel.ignored()
    channel.close()
    (spoke,) = heard
    assert isinstance(spoke, PeerSpoke)
    assert [rank.rank for rank in spoke.facts.ranks] == [3]
    assert "2 rank" in note.en


def test_the_server_of_a_job_with_a_secret_answers_nobody_else() -> None:
    secret = JobSecret("one of this job")
    server = KVServer(0, "127.0.0.1", secret)
    try:
        stranger = KVClient("127.0.0.1", server.port, 2)
        node = KVClient("127.0.0.1", server.port, 2, secret)
        wrong = KVClient("127.0.0.1", server.port, 2, JobSecret("another one"))
        assert node.put("/j/info/a/0", "mine")
        for client in (stranger, wrong):
            assert not client.put("/j/info/a/0", "theirs")
            assert client.refused
            assert not client.delete("/j/info/a/0")
            assert client.get_prefix("/") is None
            assert client.is_ready()
        assert node.get_prefix("/j/info") == {"/j/info/a/0": "mine"}
        assert node.delete("/j/info/a/0")
    finally:
        server.close()


class Stranger:
    """Writes lies about all nodes wherever a job may look for facts, until told to stop."""

    def __init__(self, host: str, port: int, nodes: tuple[str, ...], master: str) -> None:
        mark = zlib.crc32(",".join((*nodes, master)).encode())
        self.keys = [f"/default/pdtriage/{mark:08x}/{node}" for node in (0, 1)]
        self.client = KVClient(host, port, 1)
        self.done = threading.Event()
        self.tries = 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        while not self.done.wait(0.05):
            self.tries += 1
            lie = json.dumps(LIE | {"beat": self.tries, "version": self.tries})
            for key in self.keys:
                self.client.put(key, lie)
            self.client.put(f"/default/info/extra{self.tries}/-1", lie)

    def close(self) -> None:
        self.done.set()
        self.thread.join()


@pytest.mark.parametrize("secret", [SECRET, NO_SECRET], ids=["secret", "none"])
@pytest.mark.parametrize("failing", [False, True], ids=["well", "failing"])
def test_a_stranger_stops_no_job_and_changes_no_verdict(
    launcher: Launcher, tmp_path: Path, secret: dict[str, str], failing: bool
) -> None:
    start, port = free_run(2), free_port()
    addresses = ("127.0.0.1", "127.0.0.2")
    flags = (f"--ips={','.join(addresses)}", f"--start_port={start}", f"--facts-port={port}")
    # the true culprit is rank 0, the stranger names rank 1
    actions = ("act.py", "0=exit:7:3" if failing else "0=exit:0:3", "1=exit:0:3")
    stranger = Stranger("127.0.0.1", port, addresses, f"127.0.0.1:{start}")
    nodes = [
        launcher.start(
            *flags, f"--host={address}", *actions, log_dir=tmp_path / address, env=secret
        )
        for address in addresses
    ]
    for node in nodes:
        node.finish(40)
    stranger.close()
    assert stranger.tries > 20
    first, second = nodes
    assert first.code == (7 if failing else 0), first.err
    assert not first.record().deaths[0].stopped
    if not failing:
        assert second.code == 0, second.err
    if secret is SECRET:
        assert any("does not know this job's secret" in note.en for note in first.record().notes)
        assert not any(peer.facts.signal == 11 for n in nodes for peer in n.record().peers)


def test_nodes_without_the_secret_are_told_so(launcher: Launcher, tmp_path: Path) -> None:
    master = f"--master=127.0.0.1:{free_port()}"
    first = launcher.start(master, "--nnodes=2", "act.py", log_dir=tmp_path / "a")
    first_ready = wait_until(
        lambda: KVClient("127.0.0.1", int(master.rpartition(":")[2]), 1).is_ready()
    )
    assert first_ready
    second = launcher.start(
        master, "--nnodes=2", "act.py", log_dir=tmp_path / "b", env=NO_SECRET
    ).finish()
    assert second.code == 2
    assert "has a secret" in second.err
    third = launcher.start(master, "--nnodes=2", "act.py", log_dir=tmp_path / "c").finish()
    assert (first.finish().code, third.code) == (0, 0)


def test_the_secret_reaches_no_child_and_no_file(launcher: Launcher, tmp_path: Path) -> None:
    word = "s3cret-that-nobody-may-see"
    script = tmp_path / "show.py"
    script.write_text("import os\nprint(sorted(os.environ.items()))\n")
    (tmp_path / "file").write_text(word + "\n")
    flags = ("--ips=127.0.0.1,127.0.0.2", f"--facts-port={free_port()}", "--host=127.0.0.1")
    for number, (words, env) in enumerate(
        [
            ((f"--job_secret={word}",), NO_SECRET),
            (("--job-secret", word), NO_SECRET),
            ((f"--job_secret=@{tmp_path / 'file'}",), NO_SECRET),
            ((), {"PDTRIAGE_JOB_SECRET": word}),
        ]
    ):
        logs = tmp_path / f"log{number}"
        start = f"--start_port={free_run(2)}"
        run = launcher.run(*flags, start, *words, str(script), log_dir=logs, env=env)
        assert run.code == 0, run.err
        assert "PADDLE_TRAINER_ID" in run.log(0)
        assert word not in run.out + run.err
        for file in logs.rglob("*"):
            assert file.is_dir() or word not in file.read_text(errors="replace"), file


def test_a_secret_that_is_none_is_refused(launcher: Launcher) -> None:
    for given in ("--job_secret=short", "--job_secret=@/nowhere"):
        run = launcher.run(given, "act.py", env=NO_SECRET)
        assert run.code == 2
        assert "--job_secret" in run.err
        assert "short:" not in run.err
