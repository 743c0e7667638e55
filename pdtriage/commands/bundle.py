"""`pdtriage bundle`: what to attach to a bug report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pdtriage.commands.analyze import DEFAULT_PATHS, Paths
from pdtriage.commands.options import LanguageOption, Parsers
from pdtriage.commands.speech import LANGUAGE, RefusalError, nothing_found, said
from pdtriage.support import exit_codes

DEFAULT_OUTPUT = "pdtriage-bundle.tar.zst"
Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help=said(
            "Where to write: .tar.zst, .tar.gz or .tar.", "输出文件：.tar.zst、.tar.gz 或 .tar。"
        ),
    ),
]
MaxMegabytes = Annotated[
    int,
    typer.Option(
        "--max-mb",
        metavar="N",
        min=1,
        help=said("At most this much, before compression.", "压缩前最多这么多 MB。"),
    ),
]


def bundle(
    paths: Paths = None,
    output: Output = Path(DEFAULT_OUTPUT),
    max_mb: MaxMegabytes = 8,
    lang: LanguageOption = None,
    parsers: Parsers = None,
) -> None:
    from pdtriage.analysis.bundle import ENDINGS, MEGABYTE, write_bundle
    from pdtriage.analysis.pipeline import NothingToAnalyse
    from pdtriage.knowledge import KnowledgeError
    from pdtriage.support.extras import NotAvailableError

    if not output.name.lower().endswith(ENDINGS):
        allowed = ", ".join(ENDINGS)
        raise RefusalError(
            said(
                f"--output {output}: the name must end in one of {allowed}",
                f"--output {output}：文件名须以 {allowed} 之一结尾",
            ),
            exit_codes.USAGE,
        )
    language = lang.language if lang else LANGUAGE
    try:
        contents = write_bundle(
            list(paths) if paths else DEFAULT_PATHS,
            output,
            language=language,
            parsers=tuple(parsers or ()),
            most_bytes=max_mb * MEGABYTE,
            stdin=sys.stdin.buffer,
        )
    except NothingToAnalyse as nothing:
        raise nothing_found(nothing, language) from nothing
    except NotAvailableError as missing:
        raise RefusalError(missing.message.in_(language), exit_codes.USAGE) from missing
    except KnowledgeError as error:
        raise RefusalError(error.message.in_(language), exit_codes.USAGE) from error
    except OSError as error:
        raise RefusalError(
            said(f"cannot write the bundle: {error}", f"无法写出打包文件：{error}"),
            exit_codes.USAGE,
        ) from error
    size, count, left = output.stat().st_size, len(contents.members), len(contents.left_out)
    typer.echo(
        said(
            f"{output}: {count} files, {size:,} bytes, secrets masked; {left} left out or "
            "shortened (pdtriage/left-out.json). Look into it before you send it.",
            f"{output}：{count} 个文件，{size:,} 字节，敏感信息已遮盖；{left} 项被省略或截短"
            "（见 pdtriage/left-out.json）。发送前请自行检查。",
        )
    )
