"""A handful of the real Paddle jobs of `make hangs`: whom `pdtriage run` names when they stand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.hang.jobs import JOBS, HangResult, play, play_cut_off, play_healthy

LIMIT = "8"
"""Seconds, whatever the rhythm: on a busy machine a learned one may be longer than gloo waits."""


def is_right(result: HangResult) -> bool:
    return result.right_rank and result.right_line


@pytest.mark.parametrize(
    "name", ["sigstop", "deadlocked-loader", "different-collectives", "missing-at-a-barrier"]
)
def test_the_rank_and_the_line_that_keep_the_others_waiting_are_named(
    name: str, tmp_path: Path
) -> None:
    result = play(JOBS[name], tmp_path, LIMIT)
    assert is_right(result), result.words


@pytest.mark.root
def test_a_node_that_lost_its_cable_is_named(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    result = play_cut_off(tmp_path, LIMIT)
    assert is_right(result), result.words


def test_a_healthy_job_of_uneven_rhythm_raises_no_alarm(tmp_path: Path) -> None:
    assert play_healthy(3, tmp_path) == ""
