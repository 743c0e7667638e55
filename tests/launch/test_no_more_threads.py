"""A machine that allows no more threads: what needs one says so, and nothing is left half open."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator

import pytest

from pdtriage.launch.elastic.generation import Keys
from pdtriage.launch.elastic.generation_rules import ElasticTerms
from pdtriage.launch.elastic.membership import Membership
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.options.parse import parse_flags
from pdtriage.launch.plan.cluster import from_ips
from pdtriage.launch.rendezvous.job_nodes import Nodes
from pdtriage.launch.rendezvous.kv import KVServer
from pdtriage.launch.supervise.event_loop import EventLoop
from pdtriage.launch.supervise.events import LaunchEvent, Noted
from pdtriage.support.errors import UserError

from ..etcd import RealEtcd
from ..ports import free_port

MORE_THAN_THERE_IS = (1 << 47) - 4096


@pytest.fixture
def no_more_threads() -> Iterator[None]:
    """The kernel refuses the next one for want of memory for its stack."""
    before = threading.stack_size(MORE_THAN_THERE_IS)
    yield
    threading.stack_size(before)


class Listener:
    beat_seconds = None

    def __init__(self) -> None:
        self.said: list[str] = []

    def notice(self, event: LaunchEvent) -> None:
        assert isinstance(event, Noted)
        self.said.append(event.text.en)

    def beat(self) -> None:
        """Nothing to do."""


@pytest.mark.usefixtures("no_more_threads")
def test_a_server_without_a_thread_leaves_its_port() -> None:
    port = free_port()
    with pytest.raises(OSError, match="unavailable") as refusal:
        KVServer(port, "127.0.0.1")
    assert refusal.value.errno == errno.EAGAIN
    threading.stack_size(0)
    KVServer(port, "127.0.0.1").close()


@pytest.mark.usefixtures("no_more_threads")
@pytest.mark.parametrize("node", ["127.0.0.1", "127.0.0.2"])
def test_a_job_goes_on_without_the_exchange(node: str) -> None:
    port = free_port()
    words = ["--ips=127.0.0.1,127.0.0.2", f"--host={node}", f"--facts-port={port}", "train.py"]
    flags, listener = parse_flags(words, {}), Listener()
    with EventLoop() as loop:
        nodes = Nodes(flags, {}, "pod", loop, listener)
        assert nodes.open_channel(from_ips(flags, 1, {})) is None
        nodes.close()
    assert any("cannot hear what the others tell" in text for text in listener.said)


@pytest.mark.usefixtures("no_more_threads")
def test_a_meeting_without_a_thread_is_refused() -> None:
    words = ["--nnodes=2", f"--master=127.0.0.1:{free_port()}", "train.py"]
    with EventLoop() as loop:
        nodes = Nodes(parse_flags(words, {}), {}, "pod", loop, Listener())
        with pytest.raises(
            UserError, match="could not be executed: Resource temporarily unavailable"
        ):
            nodes.gather(1, "cpu")


def test_an_elastic_node_without_a_thread_is_refused(etcd: RealEtcd) -> None:
    member = Membership(
        etcd.client(), Keys("j"), "pod", LaunchFlags(), ElasticTerms(1, 2), 10, lambda _: None
    )
    before = threading.stack_size(MORE_THAN_THERE_IS)
    try:
        with pytest.raises(
            UserError, match="could not be executed: Resource temporarily unavailable"
        ):
            member.start()
    finally:
        threading.stack_size(before)
    member.close()
