"""Fleet training as in Paddle's quick start, under our launcher and under Paddle's own."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import Launch, Launcher
from .test_ps_brpc import PYTHON as PADDLE_26
from .test_ps_brpc import why_not

PADDLE_33 = Path(sys.executable)
DYGRAPH, STATIC = "train_fleet_dygraph.py", "train_fleet_static.py"

pytestmark = pytest.mark.live
needs_26 = pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")
both_paddles = pytest.mark.parametrize(
    "python", [pytest.param(PADDLE_33, id="3.3"), pytest.param(PADDLE_26, id="2.6", marks=needs_26)]
)


@pytest.mark.parametrize(
    ("example", "python"),
    [
        pytest.param(DYGRAPH, PADDLE_33, id="dygraph"),
        pytest.param(STATIC, PADDLE_33, id="static"),
        pytest.param(DYGRAPH, PADDLE_26, id="dygraph-2.6", marks=needs_26),
    ],
)
def test_losses_are_those_of_paddles_launcher(
    launcher: Launcher, tmp_path: Path, example: str, python: Path
) -> None:
    ours, paddles = under_both(launcher, tmp_path, "--nproc_per_node=2", example, python=python)
    for rank in (0, 1):
        assert len(losses(ours.log(rank))) >= 6
        assert losses(ours.log(rank)) == losses(paddles.log(rank))
        assert f"trained {rank} of 2\n" in ours.log(rank)
    # One model, though every rank saw other pictures: the gradients were really shared.
    assert len({tuple(losses(ours.log(rank))) for rank in (0, 1)}) == 2
    assert len({weights(ours.log(rank)) for rank in (0, 1)}) == 1
    assert report_of(ours)["verdict"] == "succeeded"


def test_losses_on_four_ranks(launcher: Launcher, tmp_path: Path) -> None:
    """Without fleet, whose gloo groups of four often fail to meet, under Paddle's launcher too."""
    words = ("--nproc_per_node=4", "gloo_train.py", "4")
    ours, paddles = under_both(launcher, tmp_path, *words, python=PADDLE_33)
    for rank in range(4):
        assert len(losses(ours.log(rank))) == 4
        assert losses(ours.log(rank)) == losses(paddles.log(rank))
        assert f"trained {rank} of 4\n" in ours.log(rank)


@both_paddles
def test_who_fails_under_paddles_launcher_is_named(launcher: Launcher, python: Path) -> None:
    """Rank 0 aborts as soon as its peer is gone; Paddle 3.3 itself blames rank 0 for that."""
    flags = ("--launcher=paddle", f"--python={python}", "--nproc_per_node=2")
    for attempt in range(3):  # gloo groups may fail to meet: that is another failure
        folder = launcher.folder / f"log{attempt}"
        words = (*flags, DYGRAPH, "1", "1")
        launch = launcher.start(*words, log_dir=folder, module="pdtriage run").finish(120)
        if "OSError" in launch.log(1):
            break
    assert launch.code == 1, launch.err
    report = report_of(launch)
    assert report["verdict"] == "failed"
    (cause,) = report["root_causes"]
    assert (cause["category"], cause["ranks"]) == ("data.io", [1])
    assert [victim["rank"] for victim in report["victims"]] == [0]
    codes = {d.rank: (d.code, d.signal) for d in launch.record().deaths if d.role == "worker"}
    # It may hang at its exit until it is stopped; its launcher may have asked before anybody else.
    assert codes[1] in ((1, None), (None, 15), (None, None))
    assert codes[0] != (0, None), "it aborts, is stopped, or leaves with an error of its own"
    assert "FAILED: rank 1 of 2" in launch.err


def under_both(
    launcher: Launcher, folder: Path, *words: str, python: Path
) -> tuple[Launch, Launch]:
    """The same job as a user starts it with `pdtriage run`, and with Paddle's launcher."""
    ours = launcher.start(
        f"--python={python}", *words, log_dir=folder / "ours", module="pdtriage run"
    ).finish(120)
    paddles = launcher.start(
        *words, log_dir=folder / "paddle", module="paddle.distributed.launch", python=python
    ).finish(120)
    assert (ours.code, paddles.code) == (0, 0), ours.err + paddles.err
    return ours, paddles


def losses(log: str) -> list[str]:
    return re.findall(r"^.*\bloss:? \d.*$", log, re.MULTILINE)


def weights(log: str) -> str:
    (found,) = re.findall(r"^weights: (\S+)$", log, re.MULTILINE)
    return str(found)


def report_of(launch: Launch) -> dict[str, Any]:
    stored = (launch.log_dir / "pdtriage" / "report.json").read_text(encoding="utf-8")
    report: dict[str, Any] = json.loads(stored)
    return report
