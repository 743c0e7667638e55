"""`pdtriage history`: what failed before, how often, and on whose machines."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated

from pdtriage.commands.analyze import Address, EngineOption, Output, ReaderChoice, reading_bar
from pdtriage.commands.verbs import HistoryOption, LanguageOption, Parsers, answer_language
from pdtriage.history.store import VARIABLE
from pdtriage.support import exit_codes
from pdtriage.support.command_line import Option
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text

MOST_SKIPPED = 10
"""Lines on what could not be read."""


class HistoryView(str, Enum):
    text = "text"
    json = "json"
    html = "html"


ViewOption = Annotated[
    HistoryView | None,
    Option(
        ("--format", "-f"),
        help=Text(
            "Output format. Default: as the name of FILE says, else text.",
            "输出格式。默认按 FILE 的文件名判断，否则为 text。",
        ),
    ),
]
Fingerprint = Annotated[
    str,
    Option(
        (),
        metavar="FINGERPRINT",
        help=Text("Of a failure, or how it begins.", "某种失败的指纹，或其开头。"),
    ),
]
Trees = Annotated[
    list[str],
    Option(
        (),
        metavar="PATH",
        help=Text(
            "Folders with the logs of many jobs, or archives of them.",
            "存放许多任务日志的文件夹，或其压缩包。",
        ),
    ),
]


def list_(
    history: HistoryOption = None,
    formats: ViewOption = None,
    output: Output = None,
    lang: LanguageOption = None,
) -> None:
    _write_view(history, formats, output, lang, "list")


def show(
    fingerprint: Fingerprint,
    history: HistoryOption = None,
    formats: ViewOption = None,
    output: Output = None,
    lang: LanguageOption = None,
) -> None:
    _write_view(history, formats, output, lang, "show", fingerprint)


def top(
    history: HistoryOption = None,
    formats: ViewOption = None,
    output: Output = None,
    lang: LanguageOption = None,
) -> None:
    _write_view(history, formats, output, lang, "top")


def import_(
    paths: Trees,
    history: HistoryOption = None,
    lang: LanguageOption = None,
    parsers: Parsers = None,
    engine: EngineOption = ReaderChoice.local,
    address: Address = None,
) -> int:
    from pdtriage.history.filling import fill
    from pdtriage.reading import mapper_of

    language = answer_language(lang)
    # a look at old logs leaves no memory of itself: nobody looks at them twice
    mapper = None if engine is ReaderChoice.local else mapper_of(engine.value, address, False)
    with reading_bar() as tick:
        filled = fill(_path(history), paths, language, tuple(parsers or ()), mapper, tick)
    for why in filled.skipped[:MOST_SKIPPED]:
        print(f"pdtriage: {why.in_(language)}", file=sys.stderr)
    left = len(filled.skipped) - MOST_SKIPPED
    if left > 0:
        print(Text(f"and {left} more", f"另有 {left} 处").in_(language), file=sys.stderr)
    summary = Text(
        f"{filled.jobs} jobs, {filled.runs} runs: {filled.new} new, "
        f"{filled.runs - filled.new} known; {len(filled.skipped)} places without logs",
        f"{filled.jobs} 个任务，{filled.runs} 次运行：新增 {filled.new}，"
        f"已有 {filled.runs - filled.new}；{len(filled.skipped)} 处没有日志",
    )
    print(summary.in_(language))
    return exit_codes.OK if filled.runs else exit_codes.NOTHING


def _write_view(
    history: str | None,
    view: HistoryView | None,
    output: Path | None,
    lang: LanguageOption,
    verb: str,
    fingerprint: str = "",
) -> None:
    from pdtriage.history import pages
    from pdtriage.history.groups import groups_of, ranking_of
    from pdtriage.history.html_page import history_page
    from pdtriage.history.store import open_history

    language = answer_language(lang)
    with open_history(_path(history)) as store:
        runs = store.runs()
    groups = groups_of(runs)
    if fingerprint:
        groups = [group for group in groups if _is_meant(group.fingerprint, fingerprint)]
        _refuse_doubt(fingerprint, [group.fingerprint for group in groups])
    ranking = ranking_of(runs)
    view = view or _view_of(output)
    if view is HistoryView.html:
        page = history_page(groups, ranking, runs, language)
    elif view is HistoryView.json:
        page = pages.history_json(groups, ranking if verb == "top" else None, runs, language)
    elif verb == "top":
        page = pages.top_text(ranking, language)
    elif verb == "show":
        page = pages.show_text(groups[0], language)
    else:
        page = pages.list_text(groups, runs, language)
    _write(page, output)


def _view_of(output: Path | None) -> HistoryView:
    endings = {".json": HistoryView.json, ".html": HistoryView.html, ".htm": HistoryView.html}
    return endings.get(output.suffix.lower(), HistoryView.text) if output else HistoryView.text


def _write(page: str, output: Path | None) -> None:
    from pdtriage.support.whole_files import whole_text

    if output is None:
        sys.stdout.write(page)
        return
    try:
        with whole_text(output) as stream:
            stream.write(page)
    except OSError as error:
        raise UserError(
            Text(f"cannot write {output}: {error}", f"无法写出 {output}：{error}")
        ) from error


def _is_meant(fingerprint: str, typed: str) -> bool:
    """Whether a fingerprint is the one typed, with or without its version before the colon."""
    return fingerprint.startswith(typed) or fingerprint.partition(":")[2].startswith(typed)


def _refuse_doubt(typed: str, meant: Sequence[str]) -> None:
    if not meant:
        raise UserError(
            Text(f"no failure has the fingerprint {typed}", f"没有指纹为 {typed} 的失败"),
            exit_code=exit_codes.NOTHING,
        )
    if len(meant) > 1:
        listed = ", ".join(meant[:5])
        raise UserError(
            Text(f"{typed} may mean {listed}", f"{typed} 有歧义，可能是 {listed}"),
        )


def _path(history: str | None) -> str:
    path = history or os.environ.get(VARIABLE, "")
    if not path:
        raise UserError(
            Text(
                f"which history? Give --history FILE, or set {VARIABLE}",
                f"哪一份历史记录？请给出 --history FILE，或设置 {VARIABLE}",
            )
        )
    return path
