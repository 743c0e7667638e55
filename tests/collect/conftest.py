"""A real kubectl before a stand-in API server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from pdtriage.__main__ import main
from pdtriage.collect.gather import Collection, gather, write_manifest
from pdtriage.collect.kubectl import Kubectl, kubectl_on_path
from pdtriage.collect.paddle_job import select
from tests.cli.conftest import Answer
from tests.collect.standin import Cluster, standing_in

needs_kubectl = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="no kubectl here (Debian: kubernetes-client)"
)


class Collected(NamedTuple):
    folder: Path
    made: Collection


Serve = Callable[[Cluster], None]
Collect = Callable[..., Collected]
Obey = Callable[..., Answer]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Makes kubectl, in this process and below it, talk to the stand-in."""
    home = tmp_path / "home"
    home.mkdir()
    with ExitStack() as stack:

        def _serve(cluster: Cluster) -> None:
            for name, value in stack.enter_context(standing_in(cluster, home)).items():
                monkeypatch.setenv(name, value)

        yield _serve


@pytest.fixture
def collect(serve: Serve, tmp_path: Path) -> Collect:
    """The job `train` of a cluster into a folder, as the command does it."""

    def _collect(
        cluster: Cluster, *options: str, patience: float = 30.0, parallel: int = 8
    ) -> Collected:
        serve(cluster)
        kubectl = Kubectl(kubectl_on_path(), patience=patience)
        selection = select(kubectl, "train", None)
        folder = tmp_path / "k8s-train"
        made = gather(selection, kubectl, folder, options, parallel)
        write_manifest(made, {"job": "train"}, selection.pods)
        return Collected(folder, made)

    return _collect


@pytest.fixture
def obey(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Obey:
    """`pdtriage collect k8s …` in an empty folder, without a process of its own."""
    monkeypatch.chdir(tmp_path)

    def _obey(*words: str) -> Answer:
        with pytest.raises(SystemExit) as ended:
            main(["collect", "k8s", *words, "--lang", "en"])
        told = capsys.readouterr()
        return Answer(int(ended.value.code or 0), told.out, told.err)

    return _obey
