"""`pdtriage explain`: what an id of a report means, how to confirm it, how to fix it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pdtriage.commands.verbs import LANGUAGE, LanguageOption, Parsers, answer_language
from pdtriage.knowledge import Knowledge, load_knowledge
from pdtriage.model import Language, SignatureRole, Text
from pdtriage.support.command_line import Option
from pdtriage.support.errors import UserError
from pdtriage.support.text_width import pad, wrap

if TYPE_CHECKING:
    from pdtriage.knowledge import Signature
    from pdtriage.knowledge import categories as known

WIDTH = 80
NAMED = frozenset({"cause", "symptom"})
"""Roles that a report can name, and the catalogue counts."""
ROLES: dict[SignatureRole, Text] = {
    "cause": Text("cause", "根源"),
    "symptom": Text("symptom", "症状"),
    "victim": Text("victim", "受牵连"),
    "context": Text("context", "佐证"),
    "start": Text("start", "启动"),
    "progress": Text("progress", "进展"),
    "end": Text("end", "结束"),
    "noise": Text("noise", "无害"),
}

Name = Annotated[
    str,
    Option(
        (),
        metavar="ID",
        help=Text("A category or a signature, as in a report.", "报告中的类别或特征 id。"),
    ),
]


def explain(name: Name, lang: LanguageOption = None, parsers: Parsers = None) -> None:
    from pdtriage.knowledge import categories as known
    from pdtriage.knowledge import retry

    knowledge = knowledge_with(parsers)
    found = known.meaning_of(name, knowledge)
    if found is None:
        alike = known.similar(name, knowledge)
        hint = Text(
            f"did you mean {', '.join(alike)}?" if alike else "pdtriage parsers list shows all",
            f"是不是 {'、'.join(alike)}？" if alike else "用 pdtriage parsers list 查看全部",
        )
        raise UserError(Text(f"nothing is called {name}; {hint.en}", f"没有 {name}；{hint.zh}"))
    restart = retry.sentence(
        found.signature, found.category.id if found.category else "", knowledge
    )
    restarts = [restart] if restart is not None else []
    if found.signature is None and found.category is not None:
        restarts += retry.exceptions(found.category.id, knowledge)
    print(_page_of(found, restarts, answer_language(lang)))


def knowledge_with(parsers: Sequence[Path] | None) -> Knowledge:
    """What is known, with further folders; what is wrong with a part of it is said."""
    knowledge = load_knowledge(parsers or ())
    for problem in knowledge.problems:
        print(f"pdtriage: {problem.in_(LANGUAGE)}", file=sys.stderr)
    return knowledge


def _page_of(found: known.Explanation, restarts: Sequence[Text], language: Language) -> str:
    lines = [found.title.in_(language)]
    kind = [found.id]
    if found.signature is not None:
        role = found.signature.role
        shown = Text(role, f"{ROLES[role].zh}（{role}）").in_(language)
        kind += [shown, found.signature.category or ""]
    lines.append("  ".join(part for part in kind if part))
    if found.meaning:
        lines += ["", *wrap(found.meaning.in_(language), WIDTH)]
    if found.confirm:
        lines += _section(Text("How to confirm", "如何确认"), [found.confirm], language)
    lines += _section(Text("What to do", "怎么办"), found.advice, language)
    heading = Text(
        "Start again? (pdtriage run --restart-on auto)",
        "要不要重启？（pdtriage run --restart-on auto）",
    )
    lines += _section(heading, restarts, language)
    named = [s for s in found.signatures if s.role in NAMED]
    others = [s for s in found.signatures if s.role not in NAMED]
    lines += _signature_list(Text("Signatures", "特征"), named, language)
    lines += _signature_list(
        Text("Never named as the cause", "不会被当作原因的特征"), others, language
    )
    if found.signature is not None and found.signature.samples:
        lines += ["", Text("Looks like", "日志里的样子").in_(language)]
        lines += [f"  {line}" for line in found.signature.samples[0].strip().splitlines()]
    return "\n".join(lines)


def _signature_list(
    heading: Text, signatures: Sequence[Signature], language: Language
) -> list[str]:
    if not signatures:
        return []
    width = max(len(signature.id) for signature in signatures)
    rows = [f"  {pad(s.id, width)}  {s.title.in_(language)}" for s in signatures]
    return ["", heading.in_(language), *rows]


def _section(heading: Text, sentences: Sequence[Text], language: Language) -> list[str]:
    if not sentences:
        return []
    lines = ["", heading.in_(language)]
    for number, sentence in enumerate(sentences, 1):
        mark = f"  {number}. " if len(sentences) > 1 else "  "
        for row in wrap(sentence.in_(language), WIDTH - len(mark)):
            lines.append(mark + row)
            mark = " " * len(mark)
    return lines
