"""Rewrites the samples in README.md and README.zh.md with what the tool really prints.

python scripts/readme_samples.py
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from pdtriage.analysis.pipeline import analyze
from pdtriage.model import Language
from pdtriage.report import Options, reporter_named

ROOT = Path(__file__).resolve().parent.parent
JOB = "tests/fixtures/scenarios/data-errno5-worker"
READMES: dict[str, Language] = {"README.md": "en", "README.zh.md": "zh"}
SAMPLE = re.compile(r"(?<=<!-- sample -->\n```text\n).*?(?=```\n<!-- /sample -->)", re.DOTALL)


def current(name: str) -> str:
    """The file as it should be."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return SAMPLE.sub(lambda _: _printed(READMES[name]), text)


def stale() -> list[str]:
    """Files that do not show what the tool prints."""
    return [name for name in READMES if (ROOT / name).read_text(encoding="utf-8") != current(name)]


def _printed(language: Language) -> str:
    stream = io.StringIO()
    report = analyze(ROOT / JOB / "log", ROOT / JOB / "console.log", language=language)
    reporter_named("text").write(report, stream, Options())
    return stream.getvalue()


if __name__ == "__main__":
    for readme in stale():
        (ROOT / readme).write_text(current(readme), encoding="utf-8")
        print(f"rewrote {readme}")
