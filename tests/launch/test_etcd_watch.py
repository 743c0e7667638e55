"""The watch on a real etcd: it notices for the keys asked for, also after etcd was away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pdtriage.launch.elastic import etcd_watch
from pdtriage.launch.elastic.etcd_watch import KeyWatch
from pdtriage.launch.elastic.generation import Keys

from ..etcd import RealEtcd
from ..running import wait_until

KEYS = Keys("job")


class Notices(list[int]):
    def add(self) -> None:
        self.append(len(self))

    def await_more(self, than: int) -> None:
        assert wait_until(lambda: len(self) > than, 10)


@pytest.fixture
def notices() -> Notices:
    return Notices()


@pytest.fixture
def watch(etcd: RealEtcd, notices: Notices) -> Iterator[KeyWatch]:
    watch = KeyWatch(etcd.client(), *KEYS.of_the_world(), notices.add)
    watch.start()
    notices.await_more(0)
    yield watch
    watch.close()


def test_it_notifies_of_members_and_generations_alone(
    etcd: RealEtcd, watch: KeyWatch, notices: Notices
) -> None:
    client = etcd.client()
    for key in (KEYS.facts + "a", Keys("jobs").generation, KEYS.status):
        client.write({key: "of no concern"})
    client.write({KEYS.members + "a": "joined"})
    notices.await_more(1)
    client.write({KEYS.generation: "agreed"})
    notices.await_more(2)
    client.write({}, deletes=[KEYS.members + "a"])
    notices.await_more(3)

    assert len(notices) == 4
    assert watch.works


def test_it_works_again_after_etcd_was_away(
    etcd: RealEtcd, watch: KeyWatch, notices: Notices
) -> None:
    etcd.end()
    try:
        assert wait_until(lambda: not watch.works, 10)
    finally:
        etcd.start()
    assert wait_until(lambda: watch.works, 10)

    before = len(notices)
    etcd.client().write({KEYS.generation: "agreed"})
    notices.await_more(before)


def test_a_silent_stream_is_opened_anew(
    etcd: RealEtcd, notices: Notices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(etcd_watch, "_WATCH_SILENCE", 0.3)
    watch = KeyWatch(etcd.client(), *KEYS.of_the_world(), notices.add)
    watch.start()
    notices.await_more(2)
    assert watch.works
    watch.close()
