"""What to attach to a bug report: masked excerpts around the evidence, the report, versions.

    write_bundle(["log/"], Path("bundle.tar.zst"))

The logs in it keep their names, so that `pdtriage analyze bundle.tar.zst` answers as it did where
they came from. Nothing is in it whole that may hold secrets: environments are reduced to the
variables on the allow-list, everything else is masked.
"""

from __future__ import annotations

import io
import json
import platform
import re
import tarfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, cast

import pdtriage
from pdtriage.analysis.pipeline import job_at
from pdtriage.masking.secrets import masked_text
from pdtriage.model import KINDS, CardSample, EnvBlock, Language, LogFile, Report, Text
from pdtriage.report import Options, reporter_named
from pdtriage.report.words import VERDICTS
from pdtriage.scan.launcher_output import MOST_BYTES, side_facts
from pdtriage.scan.lines import readable_line, shorten
from pdtriage.sources import Source
from pdtriage.sources.chained import pieces_of
from pdtriage.support.errors import assert_never
from pdtriage.support.whole_files import whole_file
from pdtriage.support.zstd import zstd

OWN = "pdtriage"
MEGABYTE = 1 << 20
DEFAULT_MEGABYTES = 8
CLOSING_BYTES = 128 << 10
"""Kept free for the list of what was left out."""
MOST_TOLD = 400
ENDINGS = (".tar.zst", ".tzst", ".tar.gz", ".tgz", ".tar", ".zip")
_FORMATS = (("report.json", "json"), ("report.md", "markdown"), ("report.html", "html"))
LONGEST = 16_000


@dataclass(slots=True)
class Contents:
    """Members of the bundle within their budget, and a list of what did not get in."""

    room: int
    language: Language = "en"
    members: dict[str, bytes] = field(default_factory=dict)
    left_out: list[dict[str, object]] = field(default_factory=list)
    report: Report | None = None

    def add(self, name: str, content: bytes, of: LogFile | None = None) -> None:
        if len(content) > self.room:
            self.leave_out(
                of.path if of else name,
                len(content),
                Text("no room left in the bundle", "打包文件已满"),
            )
            return
        self.room -= len(content)
        self.members[_safe(name)] = content

    def leave_out(self, path: str, size: int | None, why: Text) -> None:
        self.left_out.append({"file": path, "bytes": size, "why": why.in_(self.language)})


def write_bundle(
    paths: Sequence[str | Path],
    output: Path,
    *,
    language: Language = "en",
    parsers: Sequence[Path] = (),
    most_bytes: int = DEFAULT_MEGABYTES * MEGABYTE,
    stdin: BinaryIO | None = None,
) -> Contents:
    """Analyse the logs at `paths` and pack what a stranger needs to understand the failure."""
    job = job_at(paths, parsers, stdin)
    report = job.report("last", language)
    sources = [piece for source in job.sources.values() for piece in pieces_of(source)]
    contents = Contents(most_bytes - CLOSING_BYTES, language, report=report)
    for name, kind in _FORMATS:
        contents.add(f"{OWN}/{name}", _render(report, kind))
    for source in sorted(sources, key=lambda source: _urgency(source, report)):
        _add_source(contents, source, report)
    contents.add(f"{OWN}/versions.json", _json(_versions()))
    contents.room += CLOSING_BYTES
    contents.add(f"{OWN}/left-out.json", _json(_listing(contents)))
    contents.add(f"{OWN}/README.md", _readme(report, contents).encode())
    _pack(contents, output)
    return contents


def _add_source(contents: Contents, source: Source, report: Report) -> None:
    file = source.file
    reading = KINDS[file.kind].reading
    if reading == "parse":
        contents.add(_logs(file), _reduce(file, source.read_small(MOST_BYTES)), file)
    elif reading == "record":
        text = source.read_small(MOST_BYTES).decode("utf-8", "replace")
        contents.add(f"{OWN}/records/{file.path}", masked_text(text)[0].encode(), file)
    elif reading == "skip":
        unread = Text("not a log that pdtriage reads", "不是 pdtriage 读取的日志")
        contents.leave_out(file.path, file.size, unread)
    elif reading == "scan":
        marks = [
            evidence.line
            for cause in report.root_causes
            for evidence in cause.evidence
            if evidence.file == file.path
        ]
        part = excerpt_of(source.chunks(), Windows(tuple(marks)))
        contents.add(_logs(file), part.content, file)
        if part.skipped:
            far = Text(
                f"{part.skipped} of {part.lines} lines, far from evidence",
                f"{part.lines} 行中的 {part.skipped} 行，远离证据",
            )
            contents.leave_out(file.path, file.size, far)
    else:
        assert_never(reading)


def _logs(file: LogFile) -> str:
    """Where a log lies in the bundle; what came through a pipe gets a name it is read by again."""
    piped = re.fullmatch(r"<([a-z]+)(?: (\d+))?>", file.path)
    if piped is None:
        return f"logs/{file.path}"
    return f"logs/console-{piped[1]}{piped[2] or ''}.log"


def _urgency(source: Source, report: Report) -> tuple[int, int, str]:
    """The culprit's logs first, then what names the ranks, then consoles, then the others."""
    blamed = {e.file for cause in report.root_causes for e in cause.evidence}
    file = source.file
    return (file.path not in blamed, KINDS[file.kind].bundled, file.path)


def _reduce(file: LogFile, raw: bytes) -> bytes:
    """A file of the same kind that holds nothing but what is on the allow-list."""
    if file.kind == "k8s":
        from pdtriage.scan.kubernetes import reduced_documents  # few folders have any

        return masked_text(reduced_documents(raw))[0].encode()
    facts = side_facts(file, raw)
    variables = [item for block in facts.environments for item in block.values.items()]
    match file.kind:
        case "endpoints":
            return ("PADDLE_TRAINER_ENDPOINTS: \n" + "\n".join(facts.endpoints)).encode()
        case "backup_env":
            return _json(dict(variables))
        case "pod":
            return _peers(facts.environments).encode()
        case "env":
            lines = [f"{name}={value}" for name, value in variables]
            return masked_text("\n".join(lines) + "\n")[0].encode()
        case (
            "worker" | "server" | "heter" | "coordinator" | "console" | "kernel" | "ras" as scanned
        ):
            raise ValueError(scanned)
        case "gpu":
            return _card_lines(facts.cards).encode()
        case "record" | "report" | "other" as kind:
            raise ValueError(kind)
        case never:
            return assert_never(never)


def _card_lines(samples: Sequence[CardSample]) -> str:
    """Samples of cards as lines, in the form of the log they come from."""
    lines = ["index,uuid,driver_version", ""]
    for time, card, busy, used, total in samples:
        when = datetime.fromtimestamp(time, timezone.utc).strftime("%Y/%m/%d %H:%M:%S")
        lines.append(f"{card},{busy},{total},{used},{total - used},{when}")
    return "\n".join([*lines, ""])


def _peers(blocks: Sequence[EnvBlock]) -> str:
    lines: dict[int, list[dict[str, str]]] = {}
    for block in blocks:
        values = {name: value for name, value in block.values.items() if name != "place"}
        lines.setdefault(block.line, []).append(values)
    return "".join(f"{peers}\n" for peers in lines.values())


def _render(report: Report, kind: str) -> bytes:
    stream = io.StringIO()
    reporter_named(kind).write(report, stream, Options())
    return stream.getvalue().encode("utf-8", "replace")


def _versions() -> dict[str, str]:
    return {
        "pdtriage": pdtriage.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def _readme(report: Report, contents: Contents) -> str:
    members, left = len(contents.members), len(contents.left_out)
    words = VERDICTS[report.verdict]
    said = Text(
        "`pdtriage analyze` reads this archive as it is. `pdtriage/report.html` is the report,\n"
        "`logs/` holds excerpts: the lines around the evidence, the beginning and the end of each\n"
        "file. Secrets are masked as `***`; environments keep only variables known to be harmless."
        f"\n\nVerdict: {words.en}. Members: {members}. Left out: {left} (see `left-out.json`).",
        "可直接用 `pdtriage analyze` 分析本压缩包。`pdtriage/report.html` 是报告，`logs/` 是\n"
        "摘录：证据附近的行，以及每个文件的开头和结尾。敏感信息显示为 `***`；环境变量只保留\n"
        "已知无害的。\n\n"
        f"结论：{words.zh}。共 {members} 个文件，省略 {left} 项（见 `left-out.json`）。",
    )
    title = Text(
        f"# Bundle of pdtriage {pdtriage.__version__}",
        f"# pdtriage {pdtriage.__version__} 打包文件",
    )
    return f"{title.in_(report.language)}\n\n{said.in_(report.language)}\n"


def _listing(contents: Contents) -> list[dict[str, object]]:
    more = len(contents.left_out) - MOST_TOLD
    if more <= 0:
        return contents.left_out
    rest = Text(f"{more} more", f"另有 {more} 项").in_(contents.language)
    unlisted = Text("not listed", "未列出").in_(contents.language)
    return [*contents.left_out[:MOST_TOLD], {"file": rest, "bytes": None, "why": unlisted}]


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "replace") + b"\n"


def _safe(name: str) -> str:
    """A relative name without a way up."""
    parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..", ".")]
    return "/".join(parts)


def _pack(contents: Contents, output: Path) -> None:
    if output.name.lower().endswith(".zip"):
        _pack_zip(contents, output)
        return
    with _open_archive(output) as stream, tarfile.open(fileobj=stream, mode="w|") as archive:
        for name, content in contents.members.items():
            member = tarfile.TarInfo(f"pdtriage-bundle/{name}")
            member.size = len(content)
            member.mode = 0o644
            archive.addfile(member, io.BytesIO(content))


def _pack_zip(contents: Contents, output: Path) -> None:
    """Packs the bundle as a zip, for systems that open nothing else; its files carry no time
    either."""
    import zipfile

    with whole_file(output) as raw, zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.members.items():
            member = zipfile.ZipInfo(f"pdtriage-bundle/{name}")
            member.external_attr = 0o644 << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content)


@contextmanager
def _open_archive(output: Path) -> Iterator[IO[bytes]]:
    """Compressed as the name says."""
    name = output.name.lower()
    with whole_file(output) as raw:
        if name.endswith(".tar"):
            yield raw
        elif name.endswith((".gz", ".tgz")):
            import gzip

            with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as packed:
                yield cast(IO[bytes], packed)
        else:
            with zstd().ZstdFile(raw, "w", level=10) as stream:
                yield cast(IO[bytes], stream)


@dataclass(frozen=True, slots=True)
class Windows:
    """Which lines are wanted: around marks, and at both ends of the file."""

    marks: tuple[int, ...] = ()
    before: int = 120
    after: int = 40
    head: int = 30
    tail: int = 60

    def wants(self, number: int) -> bool:
        if number <= self.head:
            return True
        return any(mark - self.before <= number <= mark + self.after for mark in self.marks)


@dataclass(frozen=True, slots=True)
class Excerpt:
    content: bytes
    lines: int
    skipped: int


def excerpt_of(pieces: Iterable[bytes], windows: Windows) -> Excerpt:
    """One pass, with no more in memory than what is kept."""
    kept: list[tuple[int, str]] = []
    tail: deque[tuple[int, str]] = deque(maxlen=windows.tail)
    number = 0
    for number, raw in enumerate(_lines(pieces), 1):
        line = (number, shorten(readable_line(raw)))
        if windows.wants(number):
            kept.append(line)
        else:
            tail.append(line)
    kept = sorted({**dict(kept), **dict(tail)}.items())
    text, last, skipped = [], 0, number - len(kept)
    for at, line_text in kept:
        if at > last + 1:
            text.append(f"[... {at - last - 1} lines left out ...]")
        text.append(line_text)
        last = at
    masked, _ = masked_text("\n".join(text) + "\n" if text else "")
    return Excerpt(masked.encode("utf-8", "replace"), number, skipped)


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Lines of at most `LONGEST` bytes; what is longer is cut, not kept in memory."""
    pending = b""
    for piece in pieces:
        *whole, rest = (pending + piece).split(b"\n")
        for line in whole:
            yield line[:LONGEST]
        pending = rest[:LONGEST]
    if pending:
        yield pending
