"""Where reports go: standard output with what the terminal can show, and files."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TextIO

from pdtriage.model import Report, Text
from pdtriage.report import FORMATS, Options, Reporter, reporter_for_file, reporter_named
from pdtriage.report.repository import repository_around
from pdtriage.sources.remote.url import public_url
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.gc_pause import gc_paused
from pdtriage.support.whole_files import whole_text

Color = Literal["auto", "always", "never"]
FILE_WIDTH = 80


@gc_paused()
def deliver(
    targets: Sequence[Target],
    reports: Sequence[Report],
    *,
    all_runs: bool = False,
    color: Color = "auto",
    quiet: bool = False,
    asked: str = "",
) -> None:
    """Write `reports` (one, or all runs of a folder) to every target, files first.

    What is printed comes last: a reader of the terminal finds the files already there.
    """
    for target in sorted(targets, key=lambda target: target.path is None):
        if target.path is None:
            shown = surroundings(width_of(sys.stdout), _is_colored(sys.stdout, color), quiet, asked)
            _write(target.reporter, reports, all_runs, sys.stdout, shown)
            continue
        with whole_text(target.path) as stream:
            stored = surroundings(FILE_WIDTH, _is_colored(stream, color), quiet, asked)
            _write(target.reporter, reports, all_runs, stream, stored)


def _write(
    reporter: Reporter,
    reports: Sequence[Report],
    all_runs: bool,
    stream: TextIO,
    options: Options,
) -> None:
    if all_runs:
        reporter.write_all(reports, stream, options)
    else:
        reporter.write(reports[0], stream, options)
    stream.flush()


def surroundings(width: int, color: bool, quiet: bool = False, asked: str = "") -> Options:
    """What to show, with the repository and the summary that CI systems tell of."""
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    return Options(
        width=width,
        color=color,
        quiet=quiet,
        asked=asked,
        repository=repository_around(_here(), os.environ),
        summary=Path(summary) if summary else None,
    )


def _here() -> Path:
    """The working folder; one that was removed has nothing around it."""
    try:
        return Path.cwd()
    except OSError:
        return Path(os.sep)


def paths_to_retype(paths: Sequence[str]) -> str:
    """The paths as they have to be typed for another look at the same logs."""
    if [os.path.normpath(path) for path in paths] == ["log"]:
        return ""
    return shlex.join(public_url(path) for path in paths)


def width_of(stream: TextIO) -> int:
    """COLUMNS, as people set it for a pager; else that of the terminal the stream is."""
    told = os.environ.get("COLUMNS", "")
    if told.isascii() and told.isdecimal() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(stream.fileno()).columns or FILE_WIDTH
    except (OSError, ValueError):
        return FILE_WIDTH


def _is_colored(stream: TextIO, color: Color) -> bool:
    if color != "auto":
        return color == "always"
    return (
        stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb"
    )


class Target(NamedTuple):
    """One report to write: a format, and a file or (None) standard output."""

    reporter: Reporter
    path: Path | None = None


def targets_of(
    formats: Sequence[str], output: Path | None, environment: Mapping[str, str]
) -> list[Target]:
    """`-f FORMAT` goes to `output` or the terminal, `-f FORMAT=FILE` to a file of its own.

    The terminal gets something to read unless `output` takes its place: the format without a file,
    else annotations where GitHub runs us, else text.
    """
    plain = [word for word in formats if "=" not in word]
    if len(plain) > 1:
        raise UserError(
            Text(
                f"--format {' and '.join(plain)}: only one can go to the same place; "
                f"give the others a file: --format {plain[1]}=FILE",
                f"--format {'、'.join(plain)}：同一处只能输出一种；"
                f"其余的请指定文件：--format {plain[1]}=FILE",
            )
        )
    targets = [_to_file(word) for word in formats if "=" in word]
    if plain:
        targets.insert(0, Target(_reporter_named(plain[0]), output))
    elif output is not None:
        targets.insert(0, Target(reporter_for_file(output) or reporter_named("text"), output))
    else:
        targets.insert(0, Target(reporter_named(usual_format(environment))))
    _refuse_same_file(targets)
    return targets


def targets_named(files: str) -> list[Target]:
    """Files separated by commas, each in the format of its name or as FORMAT=FILE."""
    targets = []
    for word in filter(None, files.split(",")):
        name, _, file = word.partition("=")
        if word in FORMATS:
            raise UserError(
                Text(f"{word} needs a file: {word}=FILE", f"{word} 需要文件：{word}=FILE")
            )
        if file and name in FORMATS:
            targets.append(Target(reporter_named(name), Path(file)))
        else:
            targets.append(
                Target(reporter_for_file(Path(word)) or reporter_named("text"), Path(word))
            )
    return targets


def refuse_unwritable(targets: Sequence[Target], made: Sequence[Path] = ()) -> None:
    """What would be noticed only when the work is done; `made` are folders that will exist."""
    to_be = {_absolute(folder) for folder in made}
    for path in filter(None, (target.path for target in targets)):
        if path.is_dir():
            raise UserError(
                Text(
                    f"{path} is a folder; give the name of a file",
                    f"{path} 是目录；请给出文件名",
                )
            )
        if not path.parent.is_dir() and _absolute(path.parent) not in to_be:
            raise UserError(
                Text(
                    f"cannot write the report {path}: there is no folder {path.parent}",
                    f"无法写出报告 {path}：没有目录 {path.parent}",
                )
            )


def usual_format(environment: Mapping[str, str]) -> str:
    """What people and the CI system around them read."""
    return "github" if environment.get("GITHUB_ACTIONS") == "true" else "text"


def _absolute(path: Path) -> Path:
    try:
        return path.absolute()
    except OSError:  # in a working folder that was removed; nothing can be written there
        return path


def _to_file(word: str) -> Target:
    name, _, file = word.partition("=")
    if not file:
        raise UserError(
            Text(
                f"--format {word}: a file name is missing after =",
                f"--format {word}：= 后缺少文件名",
            )
        )
    return Target(_reporter_named(name), Path(file))


def _reporter_named(name: str) -> Reporter:
    if name in FORMATS:
        return reporter_named(name)
    raise UserError(
        Text(
            f"--format {name}: there is no such format; choose {', '.join(FORMATS)}",
            f"--format {name}：没有这种格式；可选 {'、'.join(FORMATS)}",
        )
    )


def _refuse_same_file(targets: Sequence[Target]) -> None:
    seen: set[Path] = set()
    for target in targets:
        if target.path is None:
            continue
        if _absolute(target.path) in seen:
            raise UserError(
                Text(
                    f"{target.path}: two reports cannot go to the same file",
                    f"{target.path}：两份报告不能写入同一个文件",
                )
            )
        seen.add(_absolute(target.path))
