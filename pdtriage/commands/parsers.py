"""`pdtriage parsers`: what the tool knows, whether it is sound, and how to add to it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pdtriage.commands.explain import knowledge_with
from pdtriage.commands.verbs import LANGUAGE, LanguageOption, Parsers, answer_language
from pdtriage.knowledge import Signature
from pdtriage.model import CATEGORIES, Language
from pdtriage.support import exit_codes
from pdtriage.support.command_line import Option
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text
from pdtriage.support.text_width import pad
from pdtriage.support.whole_files import whole_file

Name = Annotated[str, Option((), metavar="ID", help=Text("Id of a signature.", "特征的 id。"))]
CategoryOption = Annotated[
    str | None,
    Option(
        ("--category",),
        metavar="ID",
        help=Text("Only those of one category.", "只列出某一类别。"),
    ),
]
Healthy = Annotated[
    list[Path] | None,
    Option(
        ("--healthy",),
        metavar="PATH",
        help=Text(
            "Logs of jobs that went well: no signature may claim a line of them.",
            "正常任务的日志：任何特征都不应匹配其中的行。",
        ),
    ),
]
Sample = Annotated[
    str | None,
    Option(
        ("--sample",),
        metavar="LINE",
        help=Text("A log line it must recognise.", "必须识别的一行日志。"),
    ),
]
Output = Annotated[
    Path | None,
    Option(
        ("--output", "-o"),
        metavar="FILE",
        help=Text("Append to FILE instead of printing.", "追加到 FILE，而不是打印。"),
    ),
]


def list_(
    category: CategoryOption = None, lang: LanguageOption = None, parsers: Parsers = None
) -> None:
    if category is not None and category not in CATEGORIES:
        raise UserError(
            Text(
                f"no category is called {category}; choose {', '.join(CATEGORIES)}",
                f"没有类别 {category}；可选 {'、'.join(CATEGORIES)}",
            )
        )
    language = answer_language(lang)
    signatures = [
        signature
        for signature in knowledge_with(parsers).signatures.values()
        if category is None or signature.category == category
    ]
    widths = [
        max((len(cell) for cell in column), default=0)
        for column in zip(*(_cells(signature) for signature in signatures), strict=True)
    ]
    for signature in signatures:
        cells = zip(_cells(signature), widths, strict=True)
        row = "  ".join(pad(cell, width) for cell, width in cells)
        print(f"{row}  {signature.title.in_(language)}")


def show(name: Name, lang: LanguageOption = None, parsers: Parsers = None) -> None:
    from pdtriage.knowledge.categories import similar

    knowledge = knowledge_with(parsers)
    signature = knowledge.signatures.get(name)
    if signature is None:
        alike = ", ".join(
            found for found in similar(name, knowledge) if found in knowledge.signatures
        )
        raise UserError(
            Text(
                f"no signature is called {name}" + (f"; did you mean {alike}?" if alike else ""),
                f"没有名为 {name} 的特征" + (f"；是不是 {alike}？" if alike else ""),
            )
        )
    print(_details(signature, answer_language(lang)))


def check(healthy: Healthy = None, lang: LanguageOption = None, parsers: Parsers = None) -> int:
    from pdtriage.analysis.authoring import check as checking
    from pdtriage.knowledge.load import shipped_folder

    language = answer_language(lang)
    knowledge = knowledge_with(parsers)
    folders = [shipped_folder(), *(parsers or ())]
    problems = checking.check(knowledge, tuple(healthy or ()), folders)
    for problem in problems:
        print(f"{problem.where}: {problem.message.in_(language)}")
    total = len(knowledge.signatures)
    summary = Text(
        f"{total} signatures, {len(problems)} problem{'s' if len(problems) != 1 else ''}",
        f"{total} 个特征，{len(problems)} 个问题",
    )
    print(summary.in_(language))
    return exit_codes.FAILED if problems else exit_codes.OK


def new(name: Name, sample: Sample = None, output: Output = None) -> None:
    from pdtriage.analysis.authoring.new import IDENTIFIER, literal_of, skeleton

    if not IDENTIFIER.fullmatch(name):
        raise UserError(
            Text(
                f"{name}: an id is family.words-with-dashes, such as data.stale-mount",
                f"{name}：id 的形式为 family.words-with-dashes，例如 data.stale-mount",
            )
        )
    _refuse_known(name, output)
    if sample is not None and literal_of(sample) is None:
        raise UserError(
            Text(
                f"{sample!r}: too short to recognise; give a whole log line",
                f"{sample!r}：太短，无法识别；请给出完整的一行日志",
            )
        )
    text = skeleton(name, sample)
    if output is None:
        print(text, end="")
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        before = output.read_bytes() if output.is_file() else b""
        with whole_file(output) as file:
            file.write(before + (b"\n" if before else b"") + text.encode())
    except OSError as error:
        raise UserError(Text(str(error), str(error))) from error
    added = Text(
        f"added to {output}; fill it in, then run: pdtriage parsers check --parsers {output}",
        f"已写入 {output}；填好后运行：pdtriage parsers check --parsers {output}",
    )
    print(added.in_(LANGUAGE))


def _refuse_known(name: str, output: Path | None) -> None:
    """Shipped, in the folders of the environment, or in the file it would be added to."""
    own = [output] if output is not None and output.exists() else []
    if name not in knowledge_with(own).signatures:
        return
    show = f"pdtriage parsers show {name}"
    if name not in knowledge_with([]).signatures:
        show += f" --parsers {output}"
    raise UserError(Text(f"{name} exists already: {show}", f"{name} 已存在：{show}"))


def _cells(signature: Signature) -> tuple[str, str, str]:
    return signature.id, signature.role, signature.category or "-"


def _details(signature: Signature, language: Language) -> str:
    rows = [
        ("id", signature.id),
        ("file", f"{signature.family}.toml"),
        ("role", signature.role),
        ("category", signature.category),
        ("title", signature.title.in_(language)),
        ("", signature.full_title.in_(language) if signature.full_title else ""),
        *(("literal", literal) for literal in signature.literals),
        ("pattern", signature.pattern),
        ("stack", signature.stack),
        ("kinds", ", ".join(signature.kinds)),
        ("points", signature.points),
        ("explains", ", ".join(signature.explains)),
        ("generic", "yes" if signature.generic else ""),
        ("final", "yes" if signature.final else ""),
        ("repeats", str(signature.repeats) if signature.repeats > 1 else ""),
        *(("sample", sample) for sample in signature.samples),
        *(("miss", miss) for miss in signature.misses),
    ]
    lines = []
    for label, value in rows:
        for number, line in enumerate((value or "").strip().splitlines()):
            lines.append(f"{label if number == 0 else '':<9} {line}")
    return "\n".join(lines)
