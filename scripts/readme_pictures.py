"""Makes the pictures of README.md and README.zh.md, docs/images/*, from a recorded real job.

    python scripts/readme_pictures.py            # the terminal: what it prints, as SVG
    python scripts/readme_pictures.py --report   # and the HTML report, for which chromium is needed

The terminal is a real one: `pdtriage` runs in a pseudo-terminal of 84 columns, and what it writes
is drawn as it stands there. The same job gives the same picture.
"""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fcntl import ioctl
from html import escape
from pathlib import Path
from termios import TIOCSWINSZ

from pdtriage.analysis.pipeline import analyze
from pdtriage.model import Language
from pdtriage.report import Options, reporter_named
from pdtriage.support.text_width import columns

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
JOB = ROOT / "tests" / "fixtures" / "scenarios" / "data-errno5-worker"
LANGUAGES: dict[Language, str] = {"en": "", "zh": ".zh"}
COMMAND = "pdtriage analyze log console.log"
COLUMNS, ROWS = 84, 60
WIDE, HIGH, EDGE, BAR = 8.4, 20, 18, 34
REPORT_WIDTH, REPORT_HEIGHT = 1200, 1560
TYPING, READING = 0.06, 0.05
"""Seconds between two letters that are typed, and between two lines that appear."""
_SGR = re.compile(r"\x1b\[([\d;]*)m")
_COLOURS = {"31": "red", "32": "green", "33": "yellow", "36": "cyan"}
STYLE = """
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",
"Noto Sans Mono CJK SC",monospace;fill:#d7dae0;white-space:pre}
.bold{font-weight:700;fill:#fff}.dim{fill:#8b93a1}.red{fill:#ff7b72}.green{fill:#7ee2a8}
.yellow{fill:#f2cc60}.cyan{fill:#7cc7ff}
g{animation:show .01s both}@keyframes show{from{opacity:0}to{opacity:1}}
@media(prefers-reduced-motion:reduce){g{animation:none}}
"""


def terminal(language: Language) -> str:
    """The drawing of a session: the command is typed, then the answer stands there."""
    printed = _session(language).replace("\r\n", "\n").rstrip("\n").split("\n")
    lines = [f"$ {COMMAND}", *printed]
    height = BAR + len(lines) * HIGH + EDGE
    rows = [
        f'<g style="animation-delay:{_delay(number):.2f}s">{_row(number, line)}</g>'
        for number, line in enumerate(lines)
    ]
    width = round(COLUMNS * WIDE + 2 * EDGE)
    lights = "".join(
        f'<circle cx="{EDGE + 4 + 18 * n}" cy="17" r="5.5" fill="{colour}"/>'
        for n, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n'
        f"<title>{escape(COMMAND)}</title>\n<style>{STYLE}</style>\n"
        f'<rect width="{width}" height="{height}" rx="10" fill="#15181e"/>{lights}\n'
        + "\n".join(rows)
        + "\n</svg>\n"
    )


def stale() -> list[str]:
    """Drawings of the terminal that are not what it prints."""
    return [
        path.name
        for language, path in _terminals()
        if not path.exists() or path.read_text(encoding="utf-8") != terminal(language)
    ]


def _terminals() -> Iterator[tuple[Language, Path]]:
    for language, mark in LANGUAGES.items():
        yield language, IMAGES / f"terminal{mark}.svg"


def _delay(number: int) -> float:
    return 0.3 if number == 0 else 0.3 + len(COMMAND) * TYPING + number * READING


def _session(language: Language) -> str:
    """What the command writes to a terminal in the folder of the job."""
    parent, child = pty.openpty()
    ioctl(child, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    environment |= {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
    words = [*COMMAND.split()[1:], "--lang", language, "--no-cache"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pdtriage", *words],
        cwd=JOB,
        env=environment,
        stdin=child,
        stdout=child,
        stderr=subprocess.DEVNULL,
    )
    os.close(child)
    written = b""
    while True:
        try:
            piece = os.read(parent, 1 << 16)
        except OSError:  # the other end is closed: how a pseudo-terminal says that it is over
            break
        if not piece:
            break
        written += piece
    os.close(parent)
    process.wait()
    return written.decode("utf-8")


def _row(number: int, line: str) -> str:
    """Every piece of one style at its own column, as wide as it is in a terminal."""
    y, column, style, drawn = BAR + (number + 1) * HIGH - 6, 0, "", []
    for place, piece in enumerate(_SGR.split(line)):
        if place % 2:
            style = _style(piece)
        elif piece:
            wide = columns(piece)
            if piece.strip():
                x, length = EDGE + column * WIDE, wide * WIDE
                drawn.append(
                    f'<text x="{x:.1f}" y="{y}" textLength="{length:.1f}"'
                    f"{f' class={chr(34)}{style}{chr(34)}' if style else ''}>"
                    f"{escape(piece)}</text>"
                )
            column += wide
    return "".join(drawn)


def _style(codes: str) -> str:
    words = {"1": "bold", "2": "dim", **_COLOURS}
    return " ".join(words[code] for code in codes.split(";") if code in words)


def draw_report(language: Language, file: Path) -> None:
    """The first screens of the HTML report, as a browser shows them."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        report = analyze(JOB / "log", JOB / "console.log", language=language)
        with page.open("w", encoding="utf-8") as stream:
            reporter_named("html").write(report, stream, Options())
        subprocess.run(
            [
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--user-data-dir={folder}/profile",
                f"--window-size={REPORT_WIDTH},{REPORT_HEIGHT}",
                f"--screenshot={file}",
                page.as_uri(),
            ],
            check=True,
            stderr=subprocess.DEVNULL,
        )


if __name__ == "__main__":
    for spoken, path in _terminals():
        path.write_text(terminal(spoken), encoding="utf-8")
    for spoken, mark in LANGUAGES.items() if "--report" in sys.argv else ():
        draw_report(spoken, IMAGES / f"report{mark}.png")
