"""docs/failures/, written from what the tool knows.

python -m pdtriage.analysis.authoring.catalogue docs/failures
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pdtriage.knowledge.categories import Category, categories
from pdtriage.knowledge.load import load_knowledge
from pdtriage.knowledge.retry import sentence
from pdtriage.knowledge.signature import Knowledge, Signature
from pdtriage.knowledge.slots import general, general_steps
from pdtriage.model import LANGUAGES, Language, SignatureRole, Text

GENERATED = "<!-- Written by `make docs` from parsers/; change it there. -->"
SAMPLE_LINES = 6
ROLES: Mapping[SignatureRole, Text] = {
    "cause": Text("explains itself", "自身就是原因"),
    "symptom": Text("follows from something else", "由别处引起"),
}
"""The roles with a place in the catalogue: what a report can name."""


def pages(knowledge: Knowledge) -> dict[str, str]:
    """Path below docs/failures/ to content, both languages."""
    written: dict[str, str] = {}
    for language in LANGUAGES:
        written[f"{language}/README.md"] = _index(knowledge, language)
        for category in categories().values():
            written[f"{language}/{category.id}.md"] = _page(category, knowledge, language)
    return written


def write_catalogue(knowledge: Knowledge, folder: Path) -> None:
    """Make `folder` hold exactly the catalogue."""
    wanted = pages(knowledge)
    for path in folder.rglob("*.md"):
        if path.relative_to(folder).as_posix() not in wanted:
            path.unlink()
    for name, content in wanted.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def _index(knowledge: Knowledge, language: Language) -> str:
    other: Language = "zh" if language == "en" else "en"
    heading = Text("What pdtriage recognises", "故障手册：pdtriage 能识别的失败").in_(language)
    switch = Text("[English](../en/README.md)", "[中文](../zh/README.md)").in_(other)
    columns = Text("| category | what happened | signatures |", "| 类别 | 发生了什么 | 特征数 |")
    lines = [GENERATED, "", f"# {heading}", "", switch, "", columns.in_(language), "|---|---|---:|"]
    for category in categories().values():
        count = len(_signatures_in(knowledge, category))
        title = category.title.in_(language)
        lines.append(f"| [`{category.id}`]({category.id}.md) | {title} | {count} |")
    return "\n".join(lines) + "\n"


def _page(category: Category, knowledge: Knowledge, language: Language) -> str:
    back = Text("[All categories](README.md)", "[全部类别](README.md)").in_(language)
    lines = [
        GENERATED,
        "",
        f"# {category.title.in_(language)} (`{category.id}`)",
        "",
        back,
        "",
        _prose(category.meaning, language),
        "",
        *_confirm(category.confirm, language),
        *_steps(category.advice, language),
        *_restart(sentence(None, category.id, knowledge), language),
    ]
    for signature in _signatures_in(knowledge, category):
        lines += _entry(signature, language)
        if signature.retry not in (None, category.retry):
            lines += _restart(sentence(signature, category.id, knowledge), language)
    return "\n".join(lines).rstrip() + "\n"


def _signatures_in(knowledge: Knowledge, category: Category) -> list[Signature]:
    """Causes before symptoms, otherwise in the order of the files."""
    order = list(ROLES)
    found = [
        signature
        for signature in knowledge.signatures.values()
        if signature.category == category.id and signature.role in ROLES
    ]
    return sorted(found, key=lambda signature: order.index(signature.role))


def _entry(signature: Signature, language: Language) -> list[str]:
    lines = [f"## {_prose(signature.title, language)}", ""]
    lines += [f"`{signature.id}`: {ROLES[signature.role].in_(language)}", ""]
    if signature.meaning:
        lines += [_prose(signature.meaning, language), ""]
    if signature.samples:
        lines += [*_fenced(signature.samples[0]), ""]
    if signature.confirm:
        lines += _confirm(general(signature.confirm), language)
    return lines + _steps(general_steps(signature), language)


def _confirm(text: Text, language: Language) -> list[str]:
    label = Text("**How to confirm:** ", "**如何确认**：").in_(language)
    return [label + _prose(text, language), ""]


def _steps(advice: Sequence[Text], language: Language) -> list[str]:
    if not advice:
        return []
    label = Text("**What to do**", "**怎么办**").in_(language)
    return [label, "", *(f"{n}. {_prose(step, language)}" for n, step in enumerate(advice, 1)), ""]


def _restart(text: Text | None, language: Language) -> list[str]:
    if text is None:
        return []
    label = Text("**Start again?** ", "**要不要重启**？").in_(language)
    return [label + text.in_(language), ""]


def _prose(text: Text, language: Language) -> str:
    """Shown as it is written: <job> is no HTML, and __version__ and *.so are no bold print."""
    parts = re.split(r"(`[^`]*`)", text.in_(language))
    return "".join(p if p.startswith("`") else _MARKS.sub(r"\\\g<0>", p) for p in parts)


_MARKS = re.compile(r"<(?=[a-zA-Z/!?])|\*|_(?=_)|(?<=_)_")


def _fenced(sample: str) -> list[str]:
    """A code block whose fence is longer than any run of backticks inside."""
    rows = sample.strip("\n").splitlines()
    if len(rows) > SAMPLE_LINES:
        rows = [*rows[: SAMPLE_LINES // 2], "...", *rows[-SAMPLE_LINES // 2 :]]
    longest = max((len(run) for run in re.findall("`+", sample)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *rows, fence]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m pdtriage.analysis.authoring.catalogue docs/failures")
    write_catalogue(load_knowledge(), Path(sys.argv[1]))
