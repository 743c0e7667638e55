"""The bar: on a terminal, after a second, and gone at the end."""

from __future__ import annotations

import io
from pathlib import Path

from pdtriage.analysis.pipeline import analyze
from pdtriage.commands.analyze import reading_bar
from tests.cli.conftest import FIXTURES


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_nobody_sees_a_bar_in_a_file() -> None:
    with reading_bar(io.StringIO()) as tick:
        assert tick is None


def test_it_waits_a_second_and_leaves_nothing_behind() -> None:
    terminal, clock = Terminal(), Clock()
    with reading_bar(terminal, clock) as tick:
        assert tick is not None
        clock.now = 0.9
        tick(1_000_000, 8_000_000)
        assert terminal.getvalue() == ""
        clock.now = 1.1
        tick(4_000_000, 8_000_000)
        assert "4.0/8.0 MB" in terminal.getvalue()
        clock.now = 1.15
        seen = len(terminal.getvalue())
        tick(5_000_000, 8_000_000)
        assert len(terminal.getvalue()) == seen
    assert terminal.getvalue().rstrip().endswith(("\x1b[2K", "\x1b[?25h"))


def test_reading_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    log = tmp_path / "workerlog.0"
    log.write_bytes(b"step 1 loss 0.5\n" * 200_000)
    analyze(tmp_path, tick=lambda done, whole: told.append((done, whole)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert {whole for _, whole in told} == {log.stat().st_size}
    assert len(told) >= 3
    assert analyze(FIXTURES / "run-success").verdict == "succeeded"
