"""Rewrites the tables of docs/zh/ that say what the tool itself says in Chinese.

    python scripts/chinese_pages.py

Arguments and flags are those of docs/cli.md, in the words of the help in Chinese; exit
codes and rules of the verdict are those of their own tables.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from pdtriage.support import exit_codes
from pdtriage.verdict.rules import RULES

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "zh"
_BLOCK = re.compile(r"(<!-- (\w+): ([^\n]{1,40}) -->\n)(.*?)(<!-- /\2 -->)", re.DOTALL)
_FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z_-]*")
_ROW = re.compile(r"^ {2}(\S.*?)(?:\n {6,}| {2,})(\S.*(?:\n {6,}\S.*)*)$", re.M)
_WRAP = re.compile(r"(\S)\n +(\S)")
_PAUSES = frozenset("，。；：、（）“”")
_DEFAULT = re.compile(r" ?\[(?:默认|必填)[^\]]*\]$")


def current(path: Path) -> str:
    """The page as it should be."""
    page = path.read_text(encoding="utf-8")
    return _BLOCK.sub(lambda m: m[1] + _TABLES[m[2]](m[3]) + m[5], page)


def stale() -> list[str]:
    """Pages whose tables are not what the tool says."""
    return [
        path.name
        for path in sorted(PAGES.glob("*.md"))
        if path.read_text(encoding="utf-8") != current(path)
    ]


def _arguments(which: str) -> str:
    """`VERB`, or `VERB/2` for the second table of its section."""
    verb, _, number = which.partition("/")
    section = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    section = section.split(f"## `pdtriage {verb}`\n", 1)[1].split("\n## ", 1)[0]
    tables = re.findall(r"(?:^\|.*\|\n)+", section, re.M)
    rows = tables[int(number or 1) - 1].splitlines()[2:]
    meanings = _help_of(verb)
    names = [row[2:].split(" | ")[0] for row in rows]
    head = ["| 参数 | 含义 |", "|---|---|"]
    return "\n".join([*head, *(f"| {name} | {_meaning(name, meanings)} |" for name in names), ""])


def _meaning(names: str, meanings: dict[str, str]) -> str:
    words = _FLAG.findall(names) or [names.strip("`").replace("\\", "").strip("[]")]
    known = [meanings[word] for word in words if word in meanings]
    if not known:
        raise LookupError(f"the help tells nothing of {names}")
    return known[0]


def _help_of(verb: str) -> dict[str, str]:
    """By flag, or by the name of an argument."""
    told = subprocess.run(
        [sys.executable, "-m", "pdtriage", *verb.split(), "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "1000", "TERMINAL_WIDTH": "1000", "LC_ALL": "zh_CN.UTF-8"},
    ).stdout
    meanings: dict[str, str] = {}
    for name, meaning in _ROW.findall(told):
        said = _DEFAULT.sub("", _unwrapped(meaning)).replace("|", "\\|")
        for word in _FLAG.findall(name) or [name.strip("[]")]:
            meanings.setdefault(word, said)
    return meanings


def _unwrapped(meaning: str) -> str:
    """On one line: where a side of a line break is Latin, it stands for a space."""

    def joint(match: re.Match[str]) -> str:
        before, after = match.groups()
        latin = before.isascii() or after.isascii()
        return before + (" " if latin and not {before, after} & _PAUSES else "") + after

    return _WRAP.sub(joint, meaning.strip())


def _exit_codes(command: str) -> str:
    rows = [f"| `{code}` | {text.zh} |" for verb, code, text in exit_codes.TABLE if verb == command]
    return "\n".join(["| 退出码 | 含义 |", "|---|---|", *rows, ""])


def _rules(_which: str) -> str:
    rows = [f"| `{rule.name}` | {rule.about.zh} |" for rule in RULES]
    return "\n".join(["| 规则 | 依据 |", "|---|---|", *rows, ""])


_TABLES: dict[str, Callable[[str], str]] = {
    "arguments": _arguments,
    "codes": _exit_codes,
    "rules": _rules,
}


if __name__ == "__main__":
    for name in stale():
        (PAGES / name).write_text(current(PAGES / name), encoding="utf-8")
        print(f"rewrote docs/zh/{name}")
