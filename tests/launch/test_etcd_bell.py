"""The watch on a real etcd: it rings for the keys asked for, also after etcd was away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pdtriage.launch.elastic import etcd_watch
from pdtriage.launch.elastic.etcd_watch import Bell
from pdtriage.launch.elastic.generation import Keys

from ..etcd import RealEtcd
from ..running import wait_until

KEYS = Keys("job")


class Rings(list[int]):
    def ring(self) -> None:
        self.append(len(self))

    def await_more(self, than: int) -> None:
        assert wait_until(lambda: len(self) > than, 10)


@pytest.fixture
def rings() -> Rings:
    return Rings()


@pytest.fixture
def bell(etcd: RealEtcd, rings: Rings) -> Iterator[Bell]:
    bell = Bell(etcd.client(), *KEYS.of_the_world(), rings.ring)
    bell.start()
    rings.await_more(0)
    yield bell
    bell.close()


def test_it_rings_for_members_and_generations_alone(
    etcd: RealEtcd, bell: Bell, rings: Rings
) -> None:
    client = etcd.client()
    for key in (KEYS.facts + "a", Keys("jobs").generation, KEYS.status):
        client.write({key: "of no concern"})
    client.write({KEYS.members + "a": "joined"})
    rings.await_more(1)
    client.write({KEYS.generation: "agreed"})
    rings.await_more(2)
    client.write({}, deletes=[KEYS.members + "a"])
    rings.await_more(3)

    assert len(rings) == 4
    assert bell.works


def test_it_works_again_after_etcd_was_away(etcd: RealEtcd, bell: Bell, rings: Rings) -> None:
    etcd.end()
    try:
        assert wait_until(lambda: not bell.works, 10)
    finally:
        etcd.start()
    assert wait_until(lambda: bell.works, 10)

    before = len(rings)
    etcd.client().write({KEYS.generation: "agreed"})
    rings.await_more(before)


def test_a_silent_stream_is_opened_anew(
    etcd: RealEtcd, rings: Rings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(etcd_watch, "_SILENCE", 0.3)
    bell = Bell(etcd.client(), *KEYS.of_the_world(), rings.ring)
    bell.start()
    rings.await_more(2)
    assert bell.works
    bell.close()
