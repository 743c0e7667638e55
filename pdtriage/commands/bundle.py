"""`pdtriage bundle`: what to attach to a bug report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from pdtriage.commands.aftermath import aftermath_of
from pdtriage.commands.analyze import DEFAULT_PATHS, Paths
from pdtriage.commands.verbs import LanguageOption, NotifyOption, Parsers, answer_language
from pdtriage.support.command_line import Option
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text

DEFAULT_OUTPUT = "pdtriage-bundle.tar.zst"
Output = Annotated[
    Path,
    Option(
        ("--output", "-o"),
        metavar="FILE",
        help=Text(
            "Where to write: .tar.zst, .tar.gz, .tar or .zip.",
            "输出文件：.tar.zst、.tar.gz、.tar 或 .zip。",
        ),
    ),
]
MaxMegabytes = Annotated[
    int,
    Option(
        ("--max-mb",),
        metavar="N",
        min=1,
        help=Text("At most this much, before compression.", "压缩前最多这么多 MB。"),
    ),
]


def bundle(
    paths: Paths = None,
    output: Output = Path(DEFAULT_OUTPUT),
    max_mb: MaxMegabytes = 8,
    lang: LanguageOption = None,
    parsers: Parsers = None,
    notify: NotifyOption = None,
) -> None:
    from pdtriage.analysis.bundle import ENDINGS, MEGABYTE, write_bundle

    if not output.name.lower().endswith(ENDINGS):
        allowed = ", ".join(ENDINGS)
        raise UserError(
            Text(
                f"--output {output}: the name must end in one of {allowed}",
                f"--output {output}：文件名须以 {allowed} 之一结尾",
            )
        )
    language = answer_language(lang)
    aftermath = aftermath_of(None, notify)
    try:
        contents = write_bundle(
            list(paths) if paths else DEFAULT_PATHS,
            output,
            language=language,
            parsers=tuple(parsers or ()),
            most_bytes=max_mb * MEGABYTE,
            stdin=sys.stdin.buffer,
        )
    except OSError as error:
        raise UserError(
            Text(f"cannot write the bundle: {error}", f"无法写出打包文件：{error}")
        ) from error
    size, count, left = output.stat().st_size, len(contents.members), len(contents.left_out)
    summary = Text(
        f"{output}: {count} files, {size:,} bytes, secrets masked; {left} left out or "
        "shortened (pdtriage/left-out.json). Look into it before you send it.",
        f"{output}：{count} 个文件，{size:,} 字节，敏感信息已遮盖；{left} 项被省略或截短"
        "（见 pdtriage/left-out.json）。发送前请自行检查。",
    )
    print(summary.in_(language))
    if contents.report is not None:
        aftermath.tell(contents.report, [str(output)])
