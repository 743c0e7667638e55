"""Two nodes that stand still: each tells where its ranks are, and both name the culprit."""

from __future__ import annotations

import os
import signal
import time

import pytest

from pdtriage.analysis import pipeline
from pdtriage.launch.rendezvous.peer_channel import SILENT_AFTER
from pdtriage.live.hang import StacksOfNodes
from pdtriage.model.logs import Frame
from pdtriage.model.stacks import ProcessStack, Standstill

from ..ports import free_port
from .conftest import Command, Desk
from .test_hang import MINUTES, STUCK, needs_py_spy


def stuck_on_two_nodes(desk: Desk) -> list[Command]:
    """Launchers of a job whose rank 1 stands still, which both have said."""
    desk.script(STUCK.replace("range(4 if rank == 1 else 6)", "range(6)"))
    os.mkfifo(desk.folder / "pipe")
    words = (
        *("run", "--hang_after=4", "--nproc_per_node=2", "--nnodes=2", "--job_secret=two-nodes"),
        f"--master=127.0.0.1:{free_port()}",
    )
    nodes = [desk.start(*words, f"--rank={n}", f"--log_dir=log{n}", "train.py") for n in (0, 1)]
    for node in nodes:
        node.await_line("rank 1 in `read_sample` (train.py:5)", MINUTES)
    return nodes


@needs_py_spy
def test_every_node_names_the_culprit_of_another(desk: Desk) -> None:
    nodes = stuck_on_two_nodes(desk)
    for node in nodes:
        node.stop()
    for number, node in enumerate(nodes):
        assert node.finish(MINUTES).code == 130
        assert "HUNG: rank 1 of 4" in node.said, number
        report = pipeline.analyze(desk.folder / f"log{number}")
        assert report.verdict == "hung"
        assert report.root_causes[0].ranks == (1,)
        assert report.standstill is not None
        assert {stack.rank for stack in report.standstill.stacks} == {0, 1, 2, 3}


def stack(rank: int, function: str, line: int) -> ProcessStack:
    return ProcessStack(40 + rank, rank=rank, frames=(Frame("train.py", line, function),))


@pytest.mark.parametrize("peer_first", [True, False])
def test_stacks_are_compared_whichever_node_takes_its_own_first(peer_first: bool) -> None:
    theirs = (stack(0, "wait", 9), stack(1, "read_sample", 5))
    own = Standstill(1.0, "hang", 4.0, 4.0, (stack(2, "wait", 9), stack(3, "wait", 9)))
    nodes = StacksOfNodes()
    if peer_first:
        assert nodes.take_peer(0, "10.0.0.1", theirs) is None
        said = nodes.take_own(own)
    else:
        assert nodes.take_own(own) is None
        said = nodes.take_peer(0, "10.0.0.1", theirs)
    assert said is not None
    assert "rank 1 in `read_sample` (train.py:5)" in said.en
    later = tuple(one._replace(quiet=30.0) for one in theirs)
    assert nodes.take_peer(0, "10.0.0.1", later) is None, "said twice"
    assert nodes.take_own(own._replace(moved_on=True, stacks=())) is None


@needs_py_spy
def test_a_node_that_had_no_time_to_answer_is_not_gone(desk: Desk) -> None:
    """Both launchers are held for a while, as on a machine that has no time for them."""
    nodes = stuck_on_two_nodes(desk)
    for order in (nodes, nodes[::-1]):
        for node in order:
            node.stop(signal.SIGSTOP)
        time.sleep(2 * SILENT_AFTER)
        for node in order:
            node.stop(signal.SIGCONT)
            time.sleep(0.3)
    for node in nodes:
        node.stop()
    for number, node in enumerate(nodes):
        assert node.finish(MINUTES).code == 130
        assert "HUNG: rank 1 of 4" in node.said, number
        assert "tail -n 20 127.0.0.1" not in node.said, "no file has the name of a host"
        assert "stopped answering" not in node.said
