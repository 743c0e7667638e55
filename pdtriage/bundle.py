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
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, cast

import zstandard

import pdtriage
from pdtriage.events.sidefiles import MOST_BYTES, side_facts
from pdtriage.excerpts import Windows, excerpt_of
from pdtriage.model import EnvBlock, Language, LogFile, Report
from pdtriage.pipeline import SIDE_KINDS, analyze
from pdtriage.report import Options, reporter_named
from pdtriage.report.secrets import masked_text
from pdtriage.sources import Source, find

OWN = "pdtriage"
MEGABYTE = 1 << 20
DEFAULT_MEGABYTES = 8
CLOSING_BYTES = 128 << 10
"""Kept free for the list of what was left out."""
MOST_TOLD = 400
_FORMATS = (("report.json", "json"), ("report.md", "markdown"), ("report.html", "html"))


@dataclass(slots=True)
class Contents:
    """Members of the bundle within their budget, and a list of what did not get in."""

    room: int
    members: dict[str, bytes] = field(default_factory=dict)
    left_out: list[dict[str, object]] = field(default_factory=list)

    def add(self, name: str, content: bytes, of: LogFile | None = None) -> None:
        if len(content) > self.room:
            self.leave_out(of.path if of else name, len(content), "no room left in the bundle")
            return
        self.room -= len(content)
        self.members[_safe(name)] = content

    def leave_out(self, path: str, size: int | None, why: str) -> None:
        self.left_out.append({"file": path, "bytes": size, "why": why})


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
    with _kept(stdin if "-" in paths else None) as stdin:
        report = analyze(*paths, language=language, parsers=parsers, stdin=stdin)
        if stdin is not None:
            stdin.seek(0)
        sources = find(list(paths) or ["log"], stdin).sources
    contents = Contents(most_bytes - CLOSING_BYTES)
    for name, kind in _FORMATS:
        contents.add(f"{OWN}/{name}", _rendered(report, kind))
    for source in sorted(sources, key=lambda source: _urgency(source, report)):
        _add_source(contents, source, report)
    contents.add(f"{OWN}/versions.json", _json(_versions()))
    contents.room += CLOSING_BYTES
    contents.add(f"{OWN}/left-out.json", _json(_told(contents.left_out)))
    contents.add(f"{OWN}/README.md", _readme(report, contents).encode())
    _pack(contents, output)
    return contents


@contextmanager
def _kept(stdin: BinaryIO | None) -> Iterator[BinaryIO | None]:
    """Standard input in a form that can be read twice."""
    if stdin is None:
        yield None
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(stdin, copy)
        copy.seek(0)
        yield cast(BinaryIO, copy)


def _add_source(contents: Contents, source: Source, report: Report) -> None:
    file = source.file
    if file.kind in SIDE_KINDS:
        contents.add(f"logs/{file.path}", _reduced(file, source.read_small(MOST_BYTES)), file)
    elif file.kind == "record":
        text = source.read_small(MOST_BYTES).decode("utf-8", "replace")
        contents.add(f"{OWN}/records/{file.path}", masked_text(text)[0].encode(), file)
    elif file.kind in ("gpu", "other"):
        contents.leave_out(file.path, file.size, "not a log that pdtriage reads")
    else:
        marks = [
            evidence.line
            for cause in report.root_causes
            for evidence in cause.evidence
            if evidence.file == file.path
        ]
        part = excerpt_of(source.chunks(), Windows(tuple(marks)))
        contents.add(f"logs/{file.path}", part.content, file)
        if part.skipped:
            contents.leave_out(
                file.path, file.size, f"{part.skipped} of {part.lines} lines, far from evidence"
            )


def _urgency(source: Source, report: Report) -> tuple[int, int, str]:
    """The culprit's logs first, then what names the ranks, then consoles, then the others."""
    blamed = {e.file for cause in report.root_causes for e in cause.evidence}
    file = source.file
    kinds = ("record", "env", "backup_env", "pod", "endpoints", "console", "kernel")
    rank = kinds.index(file.kind) if file.kind in kinds else len(kinds)
    return (file.path not in blamed, rank, file.path)


def _reduced(file: LogFile, raw: bytes) -> bytes:
    """The same kind of file with nothing in it but what is on the allow-list."""
    facts = side_facts(file, raw)
    if file.kind == "endpoints":
        return ("PADDLE_TRAINER_ENDPOINTS: \n" + "\n".join(facts.endpoints)).encode()
    if file.kind == "backup_env":
        return _json({k: v for block in facts.environments for k, v in block.values.items()})
    if file.kind == "pod":
        return _peers(facts.environments).encode()
    lines = [f"{name}={v}" for block in facts.environments for name, v in block.values.items()]
    return masked_text("\n".join(lines) + "\n")[0].encode()


def _peers(blocks: Sequence[EnvBlock]) -> str:
    lines: dict[int, list[dict[str, str]]] = {}
    for block in blocks:
        values = {name: value for name, value in block.values.items() if name != "place"}
        lines.setdefault(block.line, []).append(values)
    return "".join(f"{peers}\n" for peers in lines.values())


def _rendered(report: Report, kind: str) -> bytes:
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
    lines = [
        f"# Bundle of pdtriage {pdtriage.__version__}",
        "",
        "`pdtriage analyze` reads this archive as it is. `pdtriage/report.html` is the report,",
        "`logs/` holds excerpts: the lines around the evidence, the beginning and the end of each",
        "file. Secrets are masked as `***`; environments keep only variables known to be harmless.",
        "",
        f"Verdict: {report.verdict}. Members: {len(contents.members)}. "
        f"Left out: {len(contents.left_out)} (see `left-out.json`).",
        "",
    ]
    return "\n".join(lines)


def _told(left_out: list[dict[str, object]]) -> list[dict[str, object]]:
    more = len(left_out) - MOST_TOLD
    if more <= 0:
        return left_out
    return [*left_out[:MOST_TOLD], {"file": f"{more} more", "bytes": None, "why": "not listed"}]


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "replace") + b"\n"


def _safe(name: str) -> str:
    """A relative name without a way up."""
    parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..", ".")]
    return "/".join(parts)


def _pack(contents: Contents, output: Path) -> None:
    with _opened(output) as stream, tarfile.open(fileobj=stream, mode="w|") as archive:
        for name, content in contents.members.items():
            member = tarfile.TarInfo(f"pdtriage-bundle/{name}")
            member.size = len(content)
            member.mode = 0o644
            archive.addfile(member, io.BytesIO(content))


@contextmanager
def _opened(output: Path) -> Iterator[IO[bytes]]:
    """Compressed as the name says: `.tar`, `.tar.gz`, else zstd."""
    with output.open("wb") as raw:
        if output.name.endswith(".tar"):
            yield raw
        elif output.name.endswith((".gz", ".tgz")):
            import gzip

            with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as packed:
                yield cast(IO[bytes], packed)
        else:
            with zstandard.ZstdCompressor(level=10).stream_writer(raw, closefd=False) as stream:
                yield cast(IO[bytes], stream)
