"""Rewrites the table of measurements in README.md and README.zh.md from benchmarks/results.md.

    python scripts/readme_benchmarks.py

`make bench` writes the results and then calls this. What was not measured has no row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pdtriage.model import Language, Text

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results.md"
READMES: dict[str, Language] = {"README.md": "en", "README.zh.md": "zh"}
BLOCK = re.compile(r"(?<=<!-- benchmarks -->\n).*?(?=<!-- /benchmarks -->)", re.DOTALL)
SETS = {
    "a": Text("a dead job's log of {} MB", "崩溃的任务，单个 {} MB 的日志"),
    "b": Text("{} MB of a dead job, files of 1 MB", "崩溃的任务，{} MB，每个文件 1 MB"),
    "c": Text("{} MB of a dead job, files of 64 kB", "崩溃的任务，{} MB，每个文件 64 kB"),
    "d": Text("{} MB, every fifth line alarming", "{} MB，每五行有一行像报错"),
    "quiet-a": Text("one quiet log of {} MB", "正常任务的日志，单个 {} MB"),
    "quiet-b": Text("{} MB of quiet logs, files of 1 MB", "正常任务的日志，{} MB，每个文件 1 MB"),
    "quiet-c": Text("{} MB of quiet logs, files of 64 kB", "正常任务的日志，{} MB，每个文件 64 kB"),
    "quiet-d": Text(
        "{} MB, quiet but for every fifth line", "正常任务，但每五行有一行像报错，{} MB"
    ),
}


class Table(NamedTuple):
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def named(self) -> Iterator[dict[str, str]]:
        return (dict(zip(self.head, row, strict=True)) for row in self.rows)


class Line(NamedTuple):
    what: Text
    measured: Text


def current(name: str, results: str | None = None) -> str:
    """The file as it should be."""
    text = (ROOT / name).read_text(encoding="utf-8")
    if results is None:
        results = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    return BLOCK.sub(lambda _: block(results, READMES[name]), text)


def stale() -> list[str]:
    """Files whose table is not that of the results."""
    return [name for name in READMES if (ROOT / name).read_text(encoding="utf-8") != current(name)]


def block(results: str, language: Language) -> str:
    """The table and the machine it was measured on; empty where nothing was measured."""
    lines = summary(results)
    if not lines:
        return ""
    title = Text("## How fast it is", "## 速度").in_(language)
    head = Text("| measured | result |", "| 测量项目 | 结果 |").in_(language)
    rows = [f"| {it.what.in_(language)} | {it.measured.in_(language)} |" for it in lines]
    about = results.split("\n\n")[1] if results.startswith("# ") else ""
    how = Text(
        "`make bench` measures this ([how to read it](benchmarks/README.md)). Here: ",
        "由 `make bench` 测得（[如何解读](benchmarks/README.md)）。测试环境：",
    ).in_(language)
    return "\n".join([title, "", head, "|---|---|", *rows, "", f"{how}{about}", ""])


def summary(results: str) -> list[Line]:
    """The few figures that matter, in the order of the benchmarks."""
    return [
        line
        for table in tables(results)
        for begins, read in _READERS.items()
        if re.match(begins, table.head[0])
        for line in read(table)
    ]


def tables(text: str) -> list[Table]:
    groups = re.findall(r"(?:^\|.*\|\n)+", text, re.M)
    cut = [[_cells(row) for row in group.splitlines()] for group in groups]
    return [Table(rows[0], rows[2:]) for rows in cut]


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def _scan(table: Table) -> Iterator[Line]:
    """Against `rg` as it is fastest: with the literals alone."""
    for row in table.named():
        what = SETS[row["set"]]
        ratio, plain = row["to rg, literals"], row["not compiled, to literals"]
        patterns = row["to rg, patterns"]
        yield Line(
            Text(what.en.format(row["MB"]), what.zh.format(row["MB"])),
            Text(
                f"{row['pdtriage']}, {ratio} as fast as `rg -F` with the literals alone ({plain} "
                f"not compiled), {patterns} as fast as `rg` with the patterns, "
                f"{row['peak MB']} MB of memory",
                f"{row['pdtriage']}，速度为只搜固定字符串的 `rg -F` 的 {ratio}（未编译 {plain}），"
                f"为搜全部正则的 `rg` 的 {patterns}，内存 {row['peak MB']} MB",
            ),
        )


def _small(table: Table) -> Iterator[Line]:
    first, milliseconds, ratio = table.head
    for row in table.named():
        if row[first] in ("pdtriage analyze -f json", "pdtriage --version"):
            yield Line(
                Text(
                    f"`{row[first]}`, against a hello world of typer",
                    f"`{row[first]}`，与 typer 的 hello world 相比",
                ),
                Text(*[f"{row[milliseconds]} ms, {row[ratio]}"] * 2),
            )


def _bytes(table: Table) -> Iterator[Line]:
    if "exponent" not in table.head:
        return
    *_, last = table.named()
    yield Line(
        Text(f"growth to {last['MB']} MB", f"增长到 {last['MB']} MB"),
        Text(
            f"{last['pdtriage']}, exponent {last['exponent']}, {last['peak MB']} MB of memory",
            f"{last['pdtriage']}，增长指数 {last['exponent']}，内存 {last['peak MB']} MB",
        ),
    )


def _ranks(table: Table) -> Iterator[Line]:
    if "story" not in table.head:
        return
    judged = [row for row in table.named() if (row["story"], row["named by"]) == ("one", "rank")]
    right = sum(row["culprits"] == "right" for row in table.named())
    yield Line(
        Text(f"{judged[-1]['ranks']} ranks judged", f"判断 {judged[-1]['ranks']} 个 rank"),
        Text(
            f"{judged[-1]['all']}, exponent {judged[-1]['exponent']}; culprits right "
            f"{right} of {len(table.rows)}",
            f"{judged[-1]['all']}，增长指数 {judged[-1]['exponent']}；{len(table.rows)} 个任务中 "
            f"{right} 个找对",
        ),
    )


def _following(table: Table) -> Iterator[Line]:
    for row in table.rows:
        files, p50, p99, share, *tail = row
        yield Line(
            Text(f"following {files} logs, 50,000 lines/s", f"跟踪 {files} 个日志，每秒 5 万行"),
            Text(
                f"line to event {p50} (p99 {p99}), {share} of a core; `tail -F` {tail[2]}",
                f"从日志行到事件 {p50}（p99 {p99}），占单核 {share}；`tail -F` 占 {tail[2]}",
            ),
        )


def _blame(table: Table) -> Iterator[Line]:
    total = table.head[0].split()[0]
    named = {row[0]: row[1] for row in table.rows}
    others = [(name, right) for name, right in named.items() if name != "pdtriage"]
    english = ", ".join(f"{name}: {right}" for name, right in others)
    chinese = "，".join(f"{_RIVALS.get(name, name)} {right} 个" for name, right in others)
    yield Line(
        Text(f"right culprit in {total} recorded jobs", f"{total} 个录制的任务中找对根源"),
        Text(f"{named['pdtriage']}; {english}", f"{named['pdtriage']} 个；{chinese}"),
    )


_RIVALS = {
    "Paddle's launcher": "Paddle 启动器",
    "torchrun's rule": "torchrun 的规则",
    "last lines of rank 0": "看 rank 0 的最后几行",
    'grep "error"': "`grep error`",
}
_READERS: dict[str, Callable[[Table], Iterator[Line]]] = {
    r"set$": _scan,
    r"small folder": _small,
    r"MB$": _bytes,
    r"ranks$": _ranks,
    r"files,": _following,
    r"\d+ jobs with a known culprit": _blame,
}
"""By the first cell of a table's head."""


if __name__ == "__main__":
    for readme in stale():
        (ROOT / readme).write_text(current(readme), encoding="utf-8")
        print(f"rewrote {readme}")
