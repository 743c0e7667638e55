"""A machine to look at: a small tree in place of /proc, /sys and /dev, healthy unless changed."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pdtriage.doctor import Context, Finding
from pdtriage.doctor.context import Wishes
from pdtriage.doctor.findings import FAMILIES, checks_of
from pdtriage.launch.options.parse import parse_flags

from ..etcd import RealEtcd, running_etcd

LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max processes             {processes:<20} {processes:<20} processes
Max open files            {files:<20} 1048576              files
"""
CHECKS = {check.id: check for check in checks_of(FAMILIES)}


class NoCards:
    def count(self, kind: str) -> int | None:  # noqa: ARG002 (the protocol's name)
        return None


@dataclass
class Cards:
    """Stands in for the drivers."""

    kind: str
    number: int

    def count(self, kind: str) -> int | None:
        return self.number if kind == self.kind else 0


@dataclass
class Machine:
    root: Path
    folder: Path

    def write(self, path: str, text: str) -> None:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def limits(self, *, files: str = "65536", processes: str = "unlimited") -> None:
        self.write("/proc/self/limits", LIMITS.format(files=files, processes=processes))

    def network(self, name: str, index: int, link: int) -> None:
        self.write(f"/sys/class/net/{name}/ifindex", f"{index}\n")
        self.write(f"/sys/class/net/{name}/iflink", f"{link}\n")

    def context(
        self,
        *argv: str,
        environ: Mapping[str, str] | None = None,
        probe: object = None,
        wishes: Wishes | None = None,
        clock: Callable[[], float] | None = None,
    ) -> Context:
        variables = {"PATH": "/usr/bin:/bin", **(environ or {})}
        flags = parse_flags(argv, variables, script_needed=False)
        if "log_dir" not in flags.given:
            flags = flags._replace(log_dir=str(self.folder / "log"))
        return Context(
            flags,
            variables,
            probe=probe or NoCards(),  # type: ignore[arg-type]
            root=str(self.root),
            wishes=wishes or Wishes(wait=0),
            **({"clock": clock} if clock else {}),
        )

    def look(self, check: str, *argv: str, **options: object) -> Finding:
        """What one check says; every sentence has to be there in both languages."""
        return judged(check, self.context(*argv, **options))  # type: ignore[arg-type]


def judged(check: str, context: Context) -> Finding:
    finding = CHECKS[check].look(context)
    assert finding.id == check
    assert finding.seen.en
    assert finding.seen.zh
    bad = finding.status in ("warning", "failed")
    assert bool(finding.advice.en) == bool(finding.advice.zh) == bad, "bad news come with advice"
    return finding


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path / "root", tmp_path)
    made.limits()
    made.write("/proc/meminfo", "MemTotal:       65536000 kB\n")
    made.write("/proc/self/cgroup", "0::/\n")
    (made.root / "dev" / "shm").mkdir(parents=True)
    return made


@pytest.fixture
def listener() -> Iterator[int]:
    """A port somebody listens on."""
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        yield taken.getsockname()[1]


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[RealEtcd]:
    with running_etcd(tmp_path) as place:
        yield place
