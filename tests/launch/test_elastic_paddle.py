"""A node under Paddle's own launcher takes part in an elastic job of ours, and is killed."""

from __future__ import annotations

import importlib.util
import signal
from collections.abc import Iterator

import pytest

from ..etcd import RealEtcd
from .conftest import Launcher
from .elastic import ElasticJob, check_worlds, sizes

pytestmark = pytest.mark.live


@pytest.fixture
def job(launcher: Launcher, etcd: RealEtcd) -> Iterator[ElasticJob]:
    if importlib.util.find_spec("etcd3") is None:
        pytest.skip("Paddle's client of etcd is not there (PyPI: etcd3)")
    several = ElasticJob(launcher, etcd, size="1:3", timeout=5)
    yield several
    # A launcher of Paddle's that is killed leaves its trainer behind.
    several.finish()


def test_it_joins_and_is_killed(job: ElasticJob) -> None:
    ours = [job.add(), job.add()]
    job.await_world(2, seconds=30)
    theirs = job.add_paddle()
    job.await_world(3, seconds=60)
    theirs.signal(signal.SIGKILL)
    theirs.finish()
    job.await_world(2, *ours, seconds=60)
    job.finish()
    assert [node.finish().code for node in ours] == [0, 0], ours[0].err[-2000:]
    check_worlds(*ours)
    for node in ours:
        assert sizes(node)[-3:] == [2, 3, 2]
