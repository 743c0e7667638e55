"""The table of ranks on a terminal, drawn by rich: how far each one is, how fast, what it does."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pdtriage.hang.rank_states import STATE_WORDS, RankHistory, RankLine, RankLook, fold_lines
from pdtriage.model.kinds import process_name
from pdtriage.report.sanitise import inert
from pdtriage.support.language import Language, Text
from pdtriage.support.number_spans import numbers

if TYPE_CHECKING:
    from rich.console import Console

    from pdtriage.hang.kernel_view import RankVitals
    from pdtriage.live.log_follower import ProcessStatus
    from pdtriage.model.stacks import ProcessStack

MOST_LINES = 16
"""Ranks that have a line each; of more, those that do the same share one."""
LEAST_HEIGHT = 12
"""Rows of a terminal below which only the status line is shown."""
BUILD_EVERY = 1.0
"""Seconds; logs that scroll by draw it again as it is."""
MOST_WARNINGS, NEWEST_LINES = 3, 3
"""Lines; who keeps the others waiting stands at the end of a warning, so the newest has three."""
BAR = 6
WIDE = 100
"""Columns from which on there is room for words."""
_UNMOVED = ("silent", "stopped", "ended")
"""Whose speed of before says nothing any more."""
_PARTS = " ▏▎▍▌▋▊▉"
_COLOURS = {
    "training": "green",
    "evaluating": "cyan",
    "loading": "yellow",
    "waiting": "yellow",
    "disk": "yellow",
    "silent": "bold red",
    "stopped": "bold red",
    "starting": "dim",
    "ended": "dim",
}


class RankTable:
    """What stands above the status line while a job runs, where the terminal has room for it."""

    def __init__(
        self, looks: Callable[[], Sequence[RankLook]], language: Language, *, color: bool
    ) -> None:
        self._looks = looks
        self._language = language
        self._color = color
        self._history = RankHistory()
        self._warnings: list[tuple[str, str]] = []
        self._built: list[str] = []
        self._size = (0, 0)
        self._built_at = -BUILD_EVERY

    def warn(self, text: Text) -> None:
        """Keep it in sight below the table; from any thread."""
        moment = time.strftime("%H:%M:%S")
        self._warnings = [*self._warnings, (moment, inert(text.in_(self._language)))][
            -MOST_WARNINGS:
        ]

    def lines(self, width: int, height: int) -> list[str]:
        """The table, at most half a terminal high; empty where there is nothing to compare."""
        moment = time.monotonic()
        if moment - self._built_at >= BUILD_EVERY or self._size != (width, height):
            self._built_at, self._size = moment, (width, height)
            self._built = self._build(moment, width, height)
        return self._built

    def _build(self, moment: float, width: int, height: int) -> list[str]:
        if height < LEAST_HEIGHT:
            return []
        looks = self._looks()
        if len(looks) < 2:
            return []
        room = height // 2 - 1 - len(self._warnings)
        room -= NEWEST_LINES - 1 if self._warnings else 0
        lines = fold_lines(self._history.lines(moment, looks), MOST_LINES)
        return draw(
            lines, self._warnings, width, max(3, room), self._language, color=self._color
        ).splitlines()


def look_of(
    process: tuple[str, int | None],
    status: ProcessStatus | None,
    vitals: RankVitals | None,
    *,
    ended: str = "",
    stack: ProcessStack | None = None,
) -> RankLook:
    """One process, by its role and number, as its log and the kernel show it now."""
    role, number = process
    look = RankLook(process_name(role, number), number, role, ended=ended, stack=stack)
    if status is not None:
        step = None if status.step is None else (status.epoch or 0, status.step)
        quiet = max(0.0, time.monotonic() - status.wrote)
        look = look._replace(position=step, quiet=quiet, evaluating=status.evaluating)
    if vitals is not None:
        look = look._replace(
            kernel_state=vitals.state,
            memory=vitals.memory,
            cpu=vitals.cpu,
            helpers_cpu=vitals.helpers_cpu,
        )
    return look


def draw(
    lines: Sequence[RankLine],
    warnings: Sequence[tuple[str, str]],
    width: int,
    room: int,
    language: Language,
    *,
    color: bool,
) -> str:
    """The table in at most `room` rows, and the warnings below it."""
    from rich.table import Table
    from rich.text import Text as RichText

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    epochs = len({line.position[0] for line in lines if line.position}) > 1
    for column, side in _COLUMNS:
        title = _EPOCHS if epochs and column is _STEPS else column
        table.add_column(title.in_(language), justify=side, no_wrap=True, overflow="ellipsis")  # type: ignore[arg-type]
    fastest = max((line.rate or 0.0 for line in lines), default=0.0)
    shown = lines if len(lines) <= room - 1 else lines[: room - 2]
    for line in shown:
        cells = _cells(line, fastest, epochs, width, language)
        table.add_row(*map(RichText, cells[:-1]), RichText(cells[-1], _COLOURS[line.state]))
    console = _console(width, color)
    console.print(table)
    if hidden := len(lines) - len(shown):
        more = Text(f"… and {hidden} more lines, further on", f"…… 另有 {hidden} 行，进度更靠前")
        console.print(RichText(more.in_(language), "dim"))
    for when, text in warnings[:-1]:
        console.print(
            RichText(f"! {when} {text}", "yellow"), no_wrap=True, overflow="ellipsis", crop=True
        )
    for when, text in warnings[-1:]:
        words = RichText(f"! {when} {text}", "yellow").wrap(console, width - 1)
        if len(words) > NEWEST_LINES:
            words[NEWEST_LINES - 1].append(" …")
            words[NEWEST_LINES - 1].truncate(width - 1, overflow="ellipsis")
        for row in words[:NEWEST_LINES]:
            row.rstrip()
            console.print(row, no_wrap=True, crop=True)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


_STEPS, _EPOCHS = Text("step", "步"), Text("epoch:step", "轮:步")
_COLUMNS = (
    (Text("rank", "rank"), "left"),
    (_STEPS, "right"),
    (Text("steps/s", "步/秒"), "left"),
    (Text("memory", "内存"), "right"),
    (Text("last line", "最近输出"), "right"),
    (Text("state", "状态"), "left"),
)


def _cells(
    line: RankLine, fastest: float, epochs: bool, width: int, language: Language
) -> tuple[str, ...]:
    return (
        _name(line, width),
        _step(line, epochs),
        _rate(None if line.state in _UNMOVED else line.rate, fastest),
        _size(line.memory) if line.memory else "-",
        _age(line.quiet) if line.state != "ended" else "-",
        _state(line, language),
    )


def _name(line: RankLine, width: int) -> str:
    if not line.several:
        return line.name
    role = line.name.partition(" ")[0]
    spans = f"{role}s {numbers(line.numbers)}"
    most = 36 if width >= WIDE else 18
    return spans if len(spans) <= most else f"{len(line.numbers)} {role}s"


def _step(line: RankLine, epochs: bool) -> str:
    if line.position is None:
        return "-"
    epoch, step = line.position
    return f"{epoch}:{step}" if epochs else str(step)


def _rate(rate: float | None, fastest: float) -> str:
    if rate is None:
        return "-"
    eighths = round(8 * BAR * rate / fastest) if fastest else 0
    bar = "█" * (eighths // 8) + (_PARTS[eighths % 8] if eighths % 8 else "")
    return f"{bar:{BAR}} {rate:.3g}" if rate < 100 else f"{bar:{BAR}} {rate:.0f}"


def _size(amount: int) -> str:
    if amount < 1 << 30:
        return f"{amount >> 20} MB"
    return f"{amount / (1 << 30):.1f} GB"


def _age(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(seconds // 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _state(line: RankLine, language: Language) -> str:
    word = STATE_WORDS[line.state].in_(language)
    if not line.detail:
        return word
    if line.state == "waiting":
        return Text(f"waiting in {line.detail}", f"等待 {line.detail}").in_(language)
    return f"{word}: {line.detail}"


def _console(width: int, color: bool) -> Console:
    from rich.console import Console

    return Console(
        file=io.StringIO(),
        width=width - 1,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
