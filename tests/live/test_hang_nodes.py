"""Two nodes that stand still: each tells where its ranks are, and both name the culprit."""

from __future__ import annotations

import os

from pdtriage.analysis import pipeline

from ..ports import free_port
from .conftest import Desk
from .test_hang import MINUTES, STUCK, needs_py_spy


@needs_py_spy
def test_every_node_names_the_culprit_of_another(desk: Desk) -> None:
    desk.script(STUCK.replace("range(4 if rank == 1 else 6)", "range(6)"))
    os.mkfifo(desk.folder / "pipe")
    words = (
        *("run", "--hang_after=4", "--nproc_per_node=2", "--nnodes=2", "--job_secret=two-nodes"),
        f"--master=127.0.0.1:{free_port()}",
    )
    nodes = [desk.start(*words, f"--rank={n}", f"--log_dir=log{n}", "train.py") for n in (0, 1)]
    for node in nodes:
        node.await_line("rank 1 in `read_sample` (train.py:5)", MINUTES)
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
