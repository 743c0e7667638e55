"""The key-value protocol and what may come over it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.rendezvous.announcements import cluster_of_peers, rank_peers
from pdtriage.launch.rendezvous.kv import MAX_VALUE, KVClient, KVServer
from pdtriage.support.errors import UserError


@pytest.fixture
def store() -> Iterator[tuple[KVServer, KVClient]]:
    server = KVServer(0, "127.0.0.1")
    yield server, KVClient("127.0.0.1", server.port, timeout=2)
    server.close()


def test_keys_are_stored_and_listed_by_prefix(store: tuple[KVServer, KVClient]) -> None:
    _, client = store
    assert client.is_ready()
    assert client.get_prefix("/job/notes") == {}
    assert client.put("/job/notes/b/-1", "二")
    assert client.put("/job/notes/a/-1", "1")
    assert client.put("/job/pdtriage/0", "other")
    assert client.get_prefix("/job/notes") == {"/job/notes/b/-1": "二", "/job/notes/a/-1": "1"}


def test_paddles_own_client_understands_our_server(store: tuple[KVServer, KVClient]) -> None:
    httpx = pytest.importorskip("httpx")
    server, client = store
    base = f"http://127.0.0.1:{server.port}"
    assert httpx.post(f"{base}/j/info/x/0", content="value").status_code == 200
    assert httpx.get(f"{base}/healthy").json() == {"/healthy": "ok"}
    assert client.get_prefix("/j/info") == {"/j/info/x/0": "value"}
    assert httpx.delete(f"{base}/j/info/x/0").status_code == 200
    assert httpx.get(f"{base}/j/info").status_code == 404


def test_too_much_is_refused(store: tuple[KVServer, KVClient]) -> None:
    _, client = store
    assert not client.put("/big", "x" * (MAX_VALUE + 1))
    assert not client.put("/" + "k" * 5000, "x")
    assert client.is_ready()


def test_garbage_on_the_wire_does_not_end_the_server(store: tuple[KVServer, KVClient]) -> None:
    server, client = store
    for garbage in (b"\x00\xff\x00\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b""):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(garbage)
    assert client.is_ready()


def test_an_unreachable_server_is_none_not_an_exception() -> None:
    client = KVClient("127.0.0.1", 1, timeout=0.5)
    assert client.get_prefix("/") is None
    assert not client.put("/a", "b")


def peer(host: str, *, rank: int = -1, replicas: int = 2, port: int = 7000) -> str:
    endpoints = ",".join(f"{host}:{port + 1 + i}" for i in range(replicas))
    candidate = f"{host}:{port}"
    return json.dumps(
        {
            "name": "pod",
            "rank": rank,
            "replicas": replicas,
            "dtype": "cpu",
            "candidate": candidate,
            "endpoints": endpoints,
        }
    )


def test_order_is_by_key_by_rank_or_by_address() -> None:
    a, b = peer("10.0.0.9"), peer("10.0.0.10")
    found = {"/j/info/zz/-1": a, "/j/info/aaaaaa/-1": b}
    peers, own = rank_peers(found, a, LaunchFlags(), 2)
    assert ([p["candidate"] for p in peers], own) == (["10.0.0.10:7000", "10.0.0.9:7000"], 1)
    peers, own = rank_peers(found, a, LaunchFlags(sort_ip=True), 2)
    assert own == 0
    found = {"/j/info/aa/1": a, "/j/info/bb/0": b}
    assert rank_peers(found, a, LaunchFlags(rank=1), 2)[1] == 1
    assert cluster_of_peers(peers, 0).master == "10.0.0.9:7000"


@pytest.mark.parametrize("ranks", [(0, 0), (0, 2), (0, -1)])
def test_ranks_must_be_each_once(ranks: tuple[int, int]) -> None:
    a, b = peer("10.0.0.1"), peer("10.0.0.2")
    found = {f"/j/info/a/{ranks[0]}": a, f"/j/info/b/{ranks[1]}": b}
    with pytest.raises(UserError, match="each once"):
        rank_peers(found, a, LaunchFlags(rank=0), 2)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"endpoints": 5, "candidate": "a:1"}', '{"endpoints": "a:1,b"}', "[" * 99999],
)
def test_nonsense_from_a_peer_is_refused(text: str) -> None:
    own = peer("10.0.0.1")
    with pytest.raises(UserError, match="cannot be understood"):
        rank_peers({"/j/info/a/-1": own, "/j/info/b/-1": text}, own, LaunchFlags(), 2)
