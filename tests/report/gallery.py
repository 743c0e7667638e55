"""Pictures of every format at 4, 64 and 1024 ranks, for people to look at.

python -m tests.report.gallery FOLDER [--lang zh]

HTML in a real browser: light and dark, wide and 390 pixels, on screen and on paper. Other formats
as somebody sees them: Markdown as a page, what CI systems read as plain text, text in a real
terminal (tmux) of 80 and 160 columns, also without colours, on a terminal that can do nothing, and
through a pipe. Beside each page stands what a look at a small picture may miss: its bytes, whether
it is wider than the screen, and which texts are cut.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from itertools import product
from pathlib import Path
from time import sleep

from markdown_it import MarkdownIt

from pdtriage.model import Report
from pdtriage.report import Options
from tests.report import reports
from tests.report.browser import Browser, running
from tests.report.writing import written

SIZES = (4, 64, 1024)
WIDTHS = (1200, 390)
PLAIN = ("github", "gitlab", "junit", "sarif", "json")
TERMINALS = {
    "80": (80, ""),
    "160": (160, ""),
    "80-no-color": (80, "NO_COLOR=1 "),
    "80-dumb": (80, "TERM=dumb "),
}
_BROKEN = [
    "Traceback (most recent call last):",
    '  File "/opt/train/train.py", line 88, in <module>',
    "    main()",
    '  File "/opt/train/reader.py", line 31, in __getitem__',
    "    return decode(path.read_bytes())",
    "OSError: [Errno 5] Input/output error: '/mnt/ds/train/00017.jpg'",
]
_LOST = (
    "RuntimeError: [/paddle/third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by "
    "peer [10.0.0.2]:6170, pair_rank = {rank}"
)
_PAGE = "<!doctype html><meta charset=utf-8><body style='font:14px sans-serif;max-width:900px'>"
_CUT = """[...document.querySelectorAll('body *')].filter(e => e.children.length == 0 &&
e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && getComputedStyle(e).overflowX != 'visible'
&& getComputedStyle(e).overflowX != 'auto').slice(0, 5).map(e => e.textContent.slice(0, 60))"""


def reports_by_name() -> Iterator[tuple[str, Report]]:
    """One of every size, and two of other kinds."""
    for size in SIZES:
        report = reports.failed() if size == 4 else reports.with_course(reports.large(size))
        yield str(size), report
    yield "hung", reports.hung()
    yield "fine", reports.succeeded()


def draw_page(browser: Browser, page: Path, folder: Path, name: str) -> None:
    """All looks of one page, and what is wrong with it at each width."""
    for width, dark in product(WIDTHS, (False, True)):
        browser.open(page, width=width, dark=dark)
        browser.picture(folder / f"{name}-{width}-{'dark' if dark else 'light'}.png")
        if not dark:
            wide = browser.evaluate("document.documentElement.scrollWidth")
            high = browser.evaluate("document.documentElement.scrollHeight")
            cut = browser.evaluate(_CUT)
            over = f", WIDER THAN THE SCREEN: {wide}" if wide > width else ""
            print(f"{name} at {width}: {page.stat().st_size} bytes, {high} high{over}, cut {cut}")
    for dark in (False, True):
        browser.open(page, dark=dark)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        browser.ask("Emulation.setEmulatedMedia", media="print", features=[scheme])
        browser.picture(folder / f"{name}-print-{'dark' if dark else 'light'}.png")
    browser.ask("Emulation.setEmulatedMedia", media="", features=[])
    (folder / f"{name}.pdf").write_bytes(browser.printed())


def draw_plain(browser: Browser, folder: Path, name: str, text: str) -> None:
    page = folder / f"{name}.html"
    shown = text if len(text) < 20_000 else text[:20_000] + "\n…"
    page.write_text(f"{_PAGE}<pre style='white-space:pre-wrap'>{escape(shown)}", encoding="utf-8")
    browser.open(page, width=1000)
    browser.picture(folder / f"{name}.png")


def show_in_terminals(job: Path, folder: Path, name: str, language: str) -> None:
    """What stands on the screen of a real terminal, as text with its colours, and in a pipe."""
    words = [sys.executable, "-m", "pdtriage", "analyze", str(job), "--lang", language]
    for label, (columns, setting) in TERMINALS.items():
        tmux = ["tmux", "-L", f"gallery-{name}-{label}"]
        size = ["-x", str(columns), "-y", "70"]
        command = f"{setting}{shlex.join(words)}; echo; echo the end; sleep 600"
        subprocess.run([*tmux, "new-session", "-d", *size, command], check=True)
        screen = ""
        while "the end" not in screen:
            sleep(0.1)
            taken = subprocess.run([*tmux, "capture-pane", "-pe"], capture_output=True, check=True)
            screen = taken.stdout.decode()
        subprocess.run([*tmux, "kill-server"], check=False)
        (folder / f"{name}-terminal-{label}.txt").write_text(screen.rstrip(), encoding="utf-8")
    piped = subprocess.run(words, capture_output=True, check=False).stdout
    (folder / f"{name}-piped.txt").write_bytes(piped)


def write_job(folder: Path, ranks: int) -> Path:
    """Logs of a job in which one rank reads a broken file and the others lose it."""
    folder.mkdir()
    for rank in range(ranks):
        lines = [
            f"[2025-11-15 23:4{n // 60}:{n % 60:02}] step: {n}, loss: {9 / (n + 3):.4f}"
            for n in range(90)
        ]
        lines += _BROKEN if rank == ranks - 2 else [_LOST.format(rank=ranks - 2)]
        (folder / f"workerlog.{rank}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lang", default="en", choices=("en", "zh"))
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        with tempfile.TemporaryDirectory() as place:
            job = write_job(Path(place) / "log", size)
            show_in_terminals(job, asked.folder, str(size), asked.lang)
    with tempfile.TemporaryDirectory() as profile, running(Path(profile)) as browser:
        for name, report in reports_by_name():
            report = reports.in_chinese(report) if asked.lang == "zh" else report
            page = asked.folder / f"{name}-report.html"
            page.write_text(written(report, "html", Options()), encoding="utf-8")
            draw_page(browser, page, asked.folder, name)
            paper = asked.folder / f"{name}-markdown.html"
            shown = MarkdownIt("gfm-like", {"linkify": False}).render(written(report, "markdown"))
            paper.write_text(_PAGE + shown, encoding="utf-8")
            browser.open(paper, width=1000)
            browser.picture(asked.folder / f"{name}-markdown.png")
            for kind in PLAIN:
                draw_plain(browser, asked.folder, f"{name}-{kind}", written(report, kind))


if __name__ == "__main__":
    main()
