"""The beginning of a new signature, to be filled in."""

from __future__ import annotations

import json
import re

from pdtriage.model import CATEGORIES

IDENTIFIER = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)+")
"""`family.kebab-case`."""
DEFAULT_SAMPLE = "RuntimeError: the frobnicator ran dry"

_TEMPLATE = """\
[[signature]]
id = {id}
category = {category}  # see docs/failures/
role = "cause"  # cause | symptom | victim | context | noise
literals = [{literal}]  # any of these makes a line a candidate
# pattern = '''...(?P<path>[^']+)'''  # exact confirmation; named groups become fields
# points = "peer"  # for a symptom: "peer" (another rank) or "earlier" (this rank, before)
# explains = ["comm.*"]  # what only follows from this one in the same rank
title = {{ en = "What happened, at most 70 columns", zh = "发生了什么，不超过 70 列" }}
meaning = {{ en = "Why software prints this.", zh = "软件为什么会打印这一行。" }}
confirm = {{ en = "A command that confirms it.", zh = "用来确认的命令。" }}
advice = [
  {{ en = "The best step first.", zh = "最有效的一步放在最前面。" }},
]
samples = [
  {sample},
  {second},  # better: another wording of it
]
misses = [
  "a line that looks like it and is not",
]
"""


def skeleton(name: str, sample: str | None = None) -> str:
    """TOML of a signature called `name`; `sample` is a log line it must recognise."""
    line = (sample or DEFAULT_SAMPLE).strip()
    second = re.sub(r"\d+", lambda number: str(int(number.group()) + 1), line)
    return _TEMPLATE.format(
        id=_quoted(name),
        category=_quoted(_category(name)),
        literal=_quoted(_literal(line)),
        sample=_quoted(line),
        second=_quoted(second),
    )


def _category(name: str) -> str:
    """The category a name begins with, as most do."""
    family = name.split(".")[0]
    alike = [known for known in CATEGORIES if known in (name, family)]
    alike += [known for known in CATEGORIES if known.startswith(family + ".")]
    return (alike or ["unknown"])[0]


def _literal(line: str) -> str:
    """The longest stretch without numbers, quotes and paths: what is likely to stay the same."""
    stretches = re.split(r"""[\d'"\[\]]+|/\S+""", line)
    return max((stretch.strip() for stretch in stretches), key=len) or line


def _quoted(text: str) -> str:
    """A TOML basic string; JSON's escapes are a subset of TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
