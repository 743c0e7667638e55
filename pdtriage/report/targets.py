"""What was asked for with `-f` and `-o`: which format goes where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pdtriage.model import Text
from pdtriage.report import FORMATS, reporter_for_file, reporter_named
from pdtriage.report.interface import Reporter
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple


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
        targets.insert(0, Target(_named(plain[0]), output))
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
    to_be = {folder.absolute() for folder in made}
    for path in filter(None, (target.path for target in targets)):
        if path.is_dir():
            raise UserError(
                Text(
                    f"{path} is a folder; give the name of a file",
                    f"{path} 是目录；请给出文件名",
                )
            )
        if not path.parent.is_dir() and path.parent.absolute() not in to_be:
            raise UserError(
                Text(
                    f"cannot write the report {path}: there is no folder {path.parent}",
                    f"无法写出报告 {path}：没有目录 {path.parent}",
                )
            )


def usual_format(environment: Mapping[str, str]) -> str:
    """What people and the CI system around them read."""
    return "github" if environment.get("GITHUB_ACTIONS") == "true" else "text"


def _to_file(word: str) -> Target:
    name, _, file = word.partition("=")
    if not file:
        raise UserError(
            Text(
                f"--format {word}: a file name is missing after =",
                f"--format {word}：= 后缺少文件名",
            )
        )
    return Target(_named(name), Path(file))


def _named(name: str) -> Reporter:
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
        if target.path.absolute() in seen:
            raise UserError(
                Text(
                    f"{target.path}: two reports cannot go to the same file",
                    f"{target.path}：两份报告不能写入同一个文件",
                )
            )
        seen.add(target.path.absolute())
