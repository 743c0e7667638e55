"""Real launches: `python -m pdtriage.launch` as a process, small scripts as trainers."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pdtriage.record.reader import read_records
from pdtriage.record.schema import RunRecord

from ..etcd import RealEtcd, running_etcd
from ..running import clean_environment, wait_until

SECRET = {"PDTRIAGE_JOB_SECRET": "of the jobs of these tests"}
"""Nodes that share none believe each other nothing: see test_hearsay.py."""
NO_SECRET = {"PDTRIAGE_JOB_SECRET": ""}
SCRIPTS = Path(__file__).parent / "scripts"


@dataclass
class Launch:
    """One `pdtriage run` as a user sees it."""

    process: subprocess.Popen[str]
    log_dir: Path
    out: str = ""
    err: str = ""

    @property
    def code(self) -> int | None:
        return self.process.returncode

    def finish(self, timeout: float = 120) -> Launch:
        self.out, self.err = self.process.communicate(timeout=timeout)
        return self

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def record(self) -> RunRecord:
        return read_records(self.log_dir)[-1]

    def log(self, local_rank: int = 0) -> str:
        path = self.log_dir / f"workerlog.{local_rank}"
        return path.read_text() if path.exists() else ""

    def wait_for_log(self, text: str, ranks: int = 1, seconds: float = 60) -> None:
        assert wait_until(lambda: all(text in self.log(i) for i in range(ranks)), seconds), (
            f"{text!r} never came: {[self.log(i) for i in range(ranks)]}"
        )


@dataclass
class Launcher:
    folder: Path
    started: list[Launch] = field(default_factory=list)

    def start(
        self,
        *arguments: str,
        log_dir: Path | None = None,
        env: dict[str, str] | None = None,
        module: str = "pdtriage.launch",
        python: Path = Path(sys.executable),
        **options: object,
    ) -> Launch:
        logs = self.folder / "log" if log_dir is None else log_dir
        process: subprocess.Popen[str] = subprocess.Popen(
            [python, "-m", *module.split(), "--log_dir", str(logs), *arguments],
            cwd=SCRIPTS,
            env=clean_environment() | SECRET | (env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,  # type: ignore[call-overload]
        )
        launch = Launch(process, logs)
        self.started.append(launch)
        return launch

    def run(self, *arguments: str, **options: object) -> Launch:
        return self.start(*arguments, **options).finish()  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealEtcd]:
    with running_etcd(tmp_path_factory.mktemp("etcd")) as place:
        yield place


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[Launcher]:
    launcher = Launcher(tmp_path)
    yield launcher
    for launch in launcher.started:
        if launch.process.poll() is None:
            launch.process.kill()
            launch.process.communicate(timeout=10)
