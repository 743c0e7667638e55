"""Which file is what: by its name where a launcher gave it one, else by how it begins."""

from __future__ import annotations

import re
from typing import Literal

from pdtriage.model import KINDS, RECORD_FOLDER, FileKind
from pdtriage.sources.find.rotation import NEWEST, Piece, without_rotation
from pdtriage.sources.find.sniff import is_text, kind_of_text
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.lazy_regex import lazy_compile

ArchiveKind = Literal["zip", "tar", "foreign"]


class Named(NamedTuple):
    """What a file's name alone tells."""

    stem: str
    """The name without compression and rotation: pieces of one log share it."""
    piece: Piece
    kind: FileKind | None = None
    """Set if the name settles it, whatever the content."""
    index: int | None = None  # type: ignore[assignment]
    promising: bool = False
    """Worth a look at the content."""
    captured: bool = False
    """A name people give to captured output: any text in it is meant."""
    packed: bool = False
    """The name says it is compressed."""


class Recognised(NamedTuple):
    """What a file is."""

    kind: FileKind
    index: int | None = None  # type: ignore[assignment]


def named(name: str, folder: str = "") -> Named:
    """Read a file name; `folder` is the folder the file lies in, of which the last part counts."""
    bare, _, number = name.rpartition(".")
    kind = _BARE_NAMES.get(bare)
    if kind and number.isdecimal() and number.isascii() and len(number) <= _MOST_DIGITS:
        return Named(name, NEWEST, kind, int(number))
    stem, packed = _without_compression(name)
    ours = folder.rpartition("/")[2].lower() == RECORD_FOLDER
    stem, piece = without_rotation(stem)
    for pattern, kind, only_in in _NAMES:
        if (not only_in or ours) and (match := pattern.fullmatch(stem)):
            index = match.groupdict().get("index")
            return Named(stem, piece, kind, None if index is None else int(index), packed=packed)
    captured = bool(_CAPTURED.fullmatch(stem))
    # Our own folder holds reports beside the record, and those speak of failures too.
    promising = captured or (not ours and bool(_PROMISING.fullmatch(stem)))
    return Named(stem, piece, promising=promising, captured=captured, packed=packed)


def recognise(name: str, head: bytes, folder: str = "", asked: bool = False) -> Recognised | None:
    """What a file is, from its name and its first 64 kB; None for what is no log.

    A file that was `asked` for by name is always something.
    """
    told = named(name, folder)
    if told.kind is not None:
        return Recognised(told.kind, told.index)
    if asked or told.promising:
        kind = kind_of_text(head, told.stem)
        if kind is not None:
            return Recognised(kind)
        if asked or (told.captured and is_text(head)):
            return Recognised("console")
    return None


def interesting(name: str, folder: str = "") -> bool:
    """Whether the name alone makes it worth opening: a log, perhaps a log, or an archive."""
    told = named(name, folder)
    return told.kind is not None or told.promising or archive_by_name(name) is not None


def archive_by_name(name: str) -> ArchiveKind | None:
    lowered = name.lower()
    if lowered.endswith(".zip"):
        return "zip"
    if lowered.endswith((".7z", ".rar")):
        return "foreign"
    return "tar" if _TAR.search(lowered) else None


def archive_by_content(packed: bytes, unpacked: bytes) -> ArchiveKind | None:
    """From the beginning of a file as it lies there, and with its compression taken off."""
    if packed.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return "zip"
    if packed.startswith((b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07")):
        return "foreign"
    return "tar" if _begins_tar(unpacked) else None


def _begins_tar(head: bytes) -> bool:
    if head[257:262] == b"ustar":
        return True
    if len(head) < 512 or not head[0]:
        return False
    try:
        written = int(head[148:156].strip(b" \0") or b"x", 8)  # tar of before 1988: checksum only
    except ValueError:
        return False
    return written == sum(head[:148]) + sum(head[156:512]) + 8 * ord(" ")


def _without_compression(name: str) -> tuple[str, bool]:
    match = _COMPRESSION.search(name)
    return (name[: match.start()], True) if match else (name, False)


_BARE_NAMES = {row.bare: kind for kind, row in KINDS.items() if row.bare}
_NAMES = [(row.name, kind, row.folder) for kind, row in KINDS.items() if row.name is not None]
_MOST_DIGITS = 9
_COMPRESSION = lazy_compile(r"\.(?:gz|bz2|xz|zst|zstd)$", re.IGNORECASE)
_TAR = lazy_compile(r"\.(?:tar(?:\.(?:gz|bz2|xz|zst|zstd))?|tgz|tbz2?|txz|tzst)$")
_CAPTURED = lazy_compile(
    r"(?:console|nohup|stdout|stderr|screenlog)(?:[_-][\w-]*)?(?:\.(?:log|txt|out|err|\d+))?"
    r"|slurm-\d[\w-]*\.(?:out|err)|trace|job\.log"
    r"|[\w.-]+-(?:worker|ps|heter)-\d{1,6}(?:[._-]prev(?:ious)?)?\.log",  # kubectl logs POD
    re.IGNORECASE,
)
_PROMISING = lazy_compile(
    r".*\.(?:log|txt|out|err|stdout|stderr|[oe]\d+)"
    r"|.*[._]log\.(?:INFO|WARNING|ERROR|FATAL)\.[\d.-]+|.*\.(?:INFO|WARNING|ERROR|FATAL)"
    r"|(?:train|trainer|run|output|log|logs|job|launch|worker|syslog|messages|journal)[\w-]*"
    r"|[\w.-]*(?:pods?|events?|paddlejobs?|k8s|kube|describe)[\w.-]*\.(?:json|describe)"
    r"|[\w.-]+-(?:worker|ps|heter|master)-\d{1,6}\.(?:json|describe)",
    re.IGNORECASE,
)
