"""What strangers do to the key-value server of a job: it stays small, and answers its nodes."""

from __future__ import annotations

import json
import os
import resource
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.rendezvous import kv_server
from pdtriage.launch.rendezvous.announcements import (
    ServerAnnouncement,
    is_announcement,
    rank_peers,
)
from pdtriage.launch.rendezvous.kv import KVClient, KVServer
from pdtriage.launch.rendezvous.master import _serve
from pdtriage.support.errors import UserError

from ..running import wait_until
from .test_kv import peer


@pytest.fixture
def store() -> Iterator[tuple[KVServer, KVClient]]:
    server = KVServer(0, "127.0.0.1")
    yield server, KVClient("127.0.0.1", server.port, timeout=2)
    server.close()


def strangers(server: KVServer, number: int, said: bytes) -> list[socket.socket]:
    found = []
    for _ in range(number):
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=5)
        connection.sendall(said)
        found.append(connection)
    return found


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"POST /j/info/x/0 HTTP/1.1\r\nContent-Le",
        b"PUT /k HTTP/1.1\r\nContent-Length: 9\r\n\r\n1",
    ],
)
def test_connections_that_never_end_make_nobody_deaf(
    store: tuple[KVServer, KVClient], said: bytes
) -> None:
    server, client = store
    threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
    held = strangers(server, 400, said)
    try:
        began = time.monotonic()
        assert client.put("/j/info/a/0", "1")
        assert client.get_prefix("/j/info") == {"/j/info/a/0": "1"}
        assert time.monotonic() - began < 2
        assert threading.active_count() == threads
        ours = len(os.listdir("/proc/self/fd")) - files - len(held)
        assert ours <= kv_server.MAX_CONNECTIONS + 2
    finally:
        for connection in held:
            connection.close()


def test_a_question_that_takes_too_long_is_not_waited_for(
    store: tuple[KVServer, KVClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kv_server, "_ASKING", 0.3)
    (held,) = strangers(store[0], 1, b"GET /")
    with held:
        held.settimeout(5)
        assert held.recv(10) == b""


def test_one_byte_after_another_buys_no_time(
    store: tuple[KVServer, KVClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kv_server, "_ASKING", 0.5)
    (held,) = strangers(store[0], 1, b"GET /")

    def goes_on() -> bool:
        try:
            held.sendall(b"x")
        except OSError:
            return False
        return True

    with held:
        assert wait_until(lambda: not goes_on())


def test_keys_of_strangers_leave_room_and_memory_is_bounded(
    store: tuple[KVServer, KVClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, client = store
    monkeypatch.setattr(kv_server, "MAX_STORED", 4 << 20)
    assert client.put("/j/pdtriage/0", "mine")
    value = "x" * (512 << 10)
    taken = [client.put(f"/stranger/{i}", value) for i in range(20)]
    assert 0 < sum(taken) < 8
    # who is there already may still say something new, and room that is given back is room
    assert client.put("/j/pdtriage/0", "news")
    assert client.get_prefix("/j/pdtriage/") == {"/j/pdtriage/0": "news"}
    assert not client.put("/stranger/last", value)
    assert client.delete("/stranger/0")
    assert client.put("/stranger/last", value)


def test_ten_thousand_keys_do_not_keep_a_node_waiting(store: tuple[KVServer, KVClient]) -> None:
    server, client = store
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(10_000):
        server.store.put(f"/j/noise/{number}", b"x" * 100)
    began = time.monotonic()
    assert client.put("/j/info/a/0", "1")
    assert client.get_prefix("/j/info") == {"/j/info/a/0": "1"}
    assert len(client.get_prefix("/j/noise") or {}) == 10_000
    assert time.monotonic() - began < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


def test_whoever_never_reads_the_answers_is_sent_away(
    store: tuple[KVServer, KVClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, client = store
    monkeypatch.setattr(kv_server, "MAX_UNDER_WAY", 16 << 20)
    for number in range(8):
        assert client.put(f"/big/{number}", "x" * (1 << 20))
    held = strangers(server, 12, b"GET /big HTTP/1.1\r\n\r\n")
    try:
        assert client.put("/j/info/a/0", "1")
        assert client.get_prefix("/j/info") == {"/j/info/a/0": "1"}
        assert sum(c.size for c in server._open.values()) <= 16 << 20
    finally:
        for connection in held:
            connection.close()


@pytest.mark.parametrize("word", ["\u2028", '"', "\\", "\x00", "\x1b[31m", "\r\n", "\ud7ff"])
def test_any_text_comes_back_as_it_was(store: tuple[KVServer, KVClient], word: str) -> None:
    _, client = store
    assert client.put("/j/a", f"1{word}2")
    assert client.get_prefix("/j/a") == {"/j/a": f"1{word}2"}


FORGED = [
    "10.0.0.2:7001\nPADDLE_TRAINER_ID=0",
    "10.0.0.2:7001\r",
    "10.0.0.2\x1b[2J:7001",
    "10.0.0.2:70 01",
    "10.0.0.2:7_001",
    "10.0.0.2:\uff17\uff10\uff10\uff11",
    "$(reboot):7001",
    "10.0.0.2:0",
    "10.0.0.2:70001",
    "http://10.0.0.2:7001",
    "-x:1",
    "a" * 400 + ":1",
]


@pytest.mark.parametrize("endpoint", FORGED)
@pytest.mark.parametrize("field", ["candidate", "endpoints"])
def test_an_endpoint_cannot_forge_a_line(endpoint: str, field: str) -> None:
    own = peer("10.0.0.1")
    forged = json.dumps(json.loads(peer("10.0.0.2")) | {field: endpoint})
    with pytest.raises(UserError, match="cannot be understood"):
        rank_peers({"/j/info/a/-1": own, "/j/info/b/-1": forged}, own, LaunchFlags(), 2)


@pytest.mark.parametrize(
    "change",
    [{"name": "a\nb"}, {"name": {}}, {"dtype": "cpu\x1b"}, {"rank": "0\n"}, {"replicas": "99"}],
)
def test_a_name_cannot_forge_a_line(change: dict[str, object]) -> None:
    own = peer("10.0.0.1")
    forged = json.dumps(json.loads(peer("10.0.0.2")) | change)
    with pytest.raises(UserError, match="cannot be understood"):
        rank_peers({"/j/info/a/-1": own, "/j/info/b/-1": forged}, own, LaunchFlags(), 2)


@pytest.mark.parametrize(
    "change",
    [{"servers": ["h:1\n"]}, {"servers": []}, {"trainers": "h:1"}, {"gloo_port": "7\n8"}],
)
def test_a_node_of_servers_cannot_forge_a_line(change: dict[str, object]) -> None:
    announced = ServerAnnouncement(LaunchFlags(server_num=1, trainer_num=1), "cpu", {})
    own = json.dumps({"name": "p", "rank": -1, **announced.content("10.0.0.1")})
    forged = json.dumps(json.loads(own) | {"name": "q"} | change)
    with pytest.raises(UserError, match="cannot be understood"):
        announced.cluster({"/j/info/a/-1": own, "/j/info/b/-1": forged}, own, 2)


def test_honest_names_are_taken() -> None:
    own = peer("node_1.my-cluster.svc")
    other = peer("[fe80::1]")
    found = {"/j/info/a/-1": own, "/j/info/b/-1": other}
    assert rank_peers(found, own, LaunchFlags(), 2)[1] == 0


def test_what_a_node_has_not_written_is_no_announcement() -> None:
    servers = ServerAnnouncement(LaunchFlags(server_num=1, trainer_num=1), "cpu", {})
    assert is_announcement(peer("10.0.0.1"))
    assert is_announcement(json.dumps({"name": "p", "rank": -1, **servers.content("10.0.0.1")}))
    for said in ("", "{", "[]", "3", "{}", "[" * 100_000, json.dumps({"candidate": "a:1"})):
        assert not is_announcement(said)


def test_what_nodes_wrote_when_they_met_cannot_be_changed(
    store: tuple[KVServer, KVClient],
) -> None:
    """Who reads it late must see the same nodes, also where somebody was quicker than the end."""
    server, client = store
    found = {"/j/info/a/0": peer("10.0.0.1"), "/j/info/b/1": peer("10.0.0.2")}
    for key, text in found.items():
        assert client.put(key, text)
    assert client.delete("/j/info/b/1")
    assert client.put("/j/info/a/0", "nonsense")
    server.end_meeting("/j/info/", found)
    assert client.get_prefix("/j/info") == found
    assert not client.put("/j/info/a/0", "nonsense")
    assert not client.delete("/j/info/b/1")
    assert client.put("/j/info/a/0", found["/j/info/a/0"])
    assert client.get_prefix("/j/info") == found


def test_megabytes_of_a_stranger_keep_no_node_out(
    store: tuple[KVServer, KVClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, client = store
    monkeypatch.setattr(kv_server, "MAX_STORED", 4 << 20)
    taken = [client.put(f"/j/{number}", "x" * (512 << 10)) for number in range(20)]
    assert not all(taken)
    for number in range(8):
        assert client.put(f"/j/pdtriage/{number}", "x" * (100 << 10))
    assert len(client.get_prefix("/j/pdtriage") or {}) == 8


def test_the_rendezvous_listens_where_the_job_is() -> None:
    server = _serve("127.0.0.3", 0)
    try:
        assert KVClient("127.0.0.3", server.port, 2).is_ready()
        assert not KVClient("127.0.0.1", server.port, 2).is_ready()
        with pytest.raises(OSError, match=str(server.port)):
            _serve("127.0.0.4", server.port)
    finally:
        server.close()
