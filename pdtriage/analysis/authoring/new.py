"""The beginning of a new signature, to be filled in."""

from __future__ import annotations

import json
import re

from pdtriage.knowledge.signature import Signature
from pdtriage.model import CATEGORIES, Text

IDENTIFIER = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)+")
"""`family.kebab-case`."""
DEFAULT_SAMPLE = "RuntimeError: the frobnicator ran dry"
LITERAL_BYTES = 5
"""A shorter literal makes too many lines candidates."""
TITLE = Text("What happened, at most 70 columns", "发生了什么，不超过 70 列")
MEANING = Text("Why software prints this.", "软件为什么会打印这一行。")
CONFIRM = Text("A command that confirms it.", "用来确认的命令。")
ADVICE = Text("The best step first.", "最有效的一步放在最前面。")
MISS = "a line that looks like it and is not"

_TEMPLATE = """\
[[signature]]
id = {id}
category = {category}  # see docs/failures/
role = "cause"  # cause | symptom | victim | context | noise
literals = [{literal}]  # any of these makes a line a candidate
# pattern = '''...(?P<path>[^']+)'''  # exact confirmation; named groups become fields
# points = "peer"  # for a symptom: "peer" (another rank) or "earlier" (this rank, before)
# explains = ["comm.*"]  # what only follows from this one in the same rank
title = {title}
meaning = {meaning}
confirm = {confirm}
advice = [
  {advice},
]
samples = [
  {sample},
  {second},  # better: another wording of it
]
misses = [
  {miss},
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
        title=_both(TITLE),
        meaning=_both(MEANING),
        confirm=_both(CONFIRM),
        advice=_both(ADVICE),
        miss=_quoted(MISS),
    )


def parts_to_fill_in(signature: Signature) -> list[str]:
    """Parts of a signature that are still as the skeleton had them."""
    parts = (
        ("title", _stays(signature.title, TITLE)),
        ("meaning", _stays(signature.meaning, MEANING)),
        ("confirm", _stays(signature.confirm, CONFIRM)),
        ("advice", any(_stays(step, ADVICE) for step in signature.advice)),
        ("misses", MISS in signature.misses),
        ("samples", DEFAULT_SAMPLE in signature.samples),
    )
    return [name for name, stays in parts if stays]


def literal_of(line: str) -> str | None:
    """What of a sample is likely to stay the same; None where too little is."""
    found = _literal(line.strip())
    return found if len(found.encode()) >= LITERAL_BYTES else None


def _category(name: str) -> str:
    """The category a name begins with, as most do."""
    family = name.split(".")[0]
    alike = [known for known in CATEGORIES if known in (name, family)]
    alike += [known for known in CATEGORIES if known.startswith(family + ".")]
    return (alike or ["unknown"])[0]


def _literal(line: str) -> str:
    """The longest stretch without numbers, quotes and paths, which is likely to stay the same."""
    stretches = re.split(r"""[\d'"\[\]]+|/\S+""", line)
    return max((stretch.strip() for stretch in stretches), key=len) or line


def _both(text: Text) -> str:
    return f"{{ en = {_quoted(text.en)}, zh = {_quoted(text.zh)} }}"


def _stays(text: Text | None, skeleton_text: Text) -> bool:
    return text is not None and (text.en == skeleton_text.en or text.zh == skeleton_text.zh)


def _quoted(text: str) -> str:
    """A TOML basic string; JSON's escapes are a subset of TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
