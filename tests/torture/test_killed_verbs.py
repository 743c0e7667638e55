"""A kill at any moment, or a full disk, leaves the old files or none; the large number of kills is
`python -m tests.torture.killed_verbs`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pdtriage.support import cache
from tests.running import clean_environment
from tests.torture.killed_verbs import VERBS, half_files, play, surroundings_of


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is compiled once serves all."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("verb", ["analyze", "bundle", "run"])
def test_a_kill_leaves_no_half_file(verb: str, tmp_path: Path, kept: Path) -> None:
    assert play(verb, tmp_path, None, kept)
    assert any(tmp_path.glob("[rb].*")), "it writes something"
    for moment in (0.15, 0.3, 0.45):
        play(verb, tmp_path, moment, kept)
        assert [*half_files(tmp_path), *half_files(kept)] == []


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl here")
def test_a_collection_that_was_cut_short_says_so_and_can_be_replaced(
    tmp_path: Path, kept: Path
) -> None:
    with surroundings_of("collect", tmp_path) as around:
        for moment in (None, 0.3, 0.4, 0.5, 0.7, None):
            play("collect", tmp_path, moment, kept, around)
            assert [*half_files(tmp_path)] == []
    assert json.loads((tmp_path / "k8s/pdtriage-k8s.json").read_text())["complete"]


@pytest.mark.parametrize("verb", ["analyze", "bundle", "bundle gz", "parsers new"])
def test_a_full_disk_leaves_the_old_file(verb: str, tmp_path: Path, kept: Path) -> None:
    play(verb, tmp_path, None, kept)
    old = {path: path.read_bytes() for path in tmp_path.glob("*.*")}
    words = [sys.executable, "-m", "pdtriage", *VERBS[verb]]
    if verb == "parsers new":
        words[words.index("own.lease")] = "own.lease2"
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *words],  # in blocks of 512 bytes
        cwd=tmp_path,
        env={**clean_environment(), cache.FOLDER_VARIABLE: str(kept)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "File too large" in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.glob("*.*")} == old
    assert [*half_files(tmp_path), *half_files(kept)] == []
