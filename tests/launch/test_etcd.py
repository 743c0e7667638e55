"""The client of etcd: what it makes of a stranger, and transactions too long for etcd."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator

import pytest

from pdtriage.launch.elastic.etcd import Etcd, EtcdAwayError, EtcdStore

from ..etcd import RealEtcd


class Stranger(http.server.BaseHTTPRequestHandler):
    """Answers everything with 200 and JSON, and is no etcd."""

    answer: object = {"ok": True}

    def do_POST(self) -> None:
        body = json.dumps(self.answer).encode()
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Not on the terminal of the tests."""


@pytest.fixture
def port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.mark.parametrize(
    "answer",
    [
        {"ok": True},
        {"ID": {}, "result": [], "header": 7, "responses": [3]},
        {"ID": "x", "result": {"TTL": "x"}, "header": {"revision": []}},
        [],
    ],
    ids=["other", "shapes", "texts", "list"],
)
def test_what_is_no_etcd_counts_as_away(
    port: int, answer: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stranger, "answer", answer)
    etcd = Etcd("127.0.0.1", port, 2.0)
    calls: list[Callable[[], object]] = [
        lambda: etcd.grant(5),
        lambda: etcd.keep(5),
        lambda: etcd.read("/a/", "/b"),
        lambda: list(etcd.changes("/a", "/b", silence=2.0)),
    ]
    if "header" not in answer:  # type: ignore[operator]
        calls.append(lambda: etcd.write({"/a": "b"}))
    for call in calls:
        with pytest.raises(EtcdAwayError):
            call()
    place = EtcdStore(Etcd("127.0.0.1", port, 2.0))
    assert place.put("/a", "b") is False
    assert place.get_prefix("/a/") is None


def test_more_keys_than_a_transaction_may_name(etcd: RealEtcd) -> None:
    client = etcd.client()
    keys = [f"/many/{number:03d}" for number in range(150)]
    for some in (keys[:75], keys[75:]):
        assert client.write(dict.fromkeys(some, "here"))
    seen = client.read("/many/")
    unchanged = {key: entry.modified for key, entry in seen.entries.items()}
    older = {"/many/": seen.revision}
    assert client.write({"/agreed": "1"}, unchanged=unchanged, older=older)
    client.write({keys[-1]: "another one by now"})
    assert not client.write({"/agreed": "2"}, unchanged=unchanged, older=older)
    assert client.write({}, deletes=["/many/"])
    assert not client.read("/many/").entries
