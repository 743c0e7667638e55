"""Which file is what: by its name where a launcher gave it one, else by how it begins."""

from __future__ import annotations

import re
from typing import Literal

from pdtriage.model import KINDS, RECORD_FOLDER, FileKind
from pdtriage.model.kinds import LOG_OF_LAUNCH, UNNAMED_JOB, LineSigns, OpeningSigns
from pdtriage.sources.find.rotation import NEWEST, Piece, without_rotation
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.lazy_regex import lazy_compile

_TAIL_HEADER = re.compile(rb"==> ([^\r\n]{1,1000}) <==\r?\n")
_MOST_LABELS = 64
ArchiveKind = Literal["zip", "tar", "headed", "labelled", "foreign"]
"""headed: one text with several logs, each below its name; labelled: each line names its rank, or
the host or pod it comes from."""


class Label(NamedTuple):
    """What stands before each line where the output of several processes was laid into one text."""

    pattern: re.Pattern[bytes]
    """Its first group is the rank, or the name of the log."""
    by_wrapper: bool = True
    """A program puts it before every line, those of others and empty ones included."""
    may_be_own: bool = False
    """A program may begin its own lines so: it does not label what Python prints of its end."""


LABELS = (
    Label(re.compile(rb"\[[Rr](?:ank|ANK) ?(\d{1,6})\]:?(?: |$)"), by_wrapper=False),
    Label(re.compile(rb"\[\d+,(\d{1,6})\]<std(?:err|out)>:")),  # mpirun
    Label(re.compile(rb"\[(\d{1,6})\]<std(?:err|out)>:")),  # horovodrun
    Label(re.compile(rb"\[pod/([\w.-]{1,200}-\d{1,6})/[\w.-]{1,200}\] ?")),  # kubectl
    Label(re.compile(rb"([A-Za-z][\w.-]{0,60}[-_]\d{1,6}) {1,20}\| ?"), may_be_own=True),  # compose
    Label(re.compile(rb"([a-z][\w.-]{0,60}[-_]?\d{1,6}): ?"), may_be_own=True),  # pdsh
    Label(re.compile(rb"\[default(\d{1,6})\]:")),  # torchrun
    Label(re.compile(rb"\[(\d{1,6})\] ?"), may_be_own=True),  # mpiexec
    Label(re.compile(rb" {0,5}(\d{1,6}): ?"), may_be_own=True),  # srun
)
_ANY_LABEL = re.compile(b"|".join(b"(?:%s)" % label.pattern.pattern for label in LABELS))


class NameFacts(NamedTuple):
    """What a file's name alone tells."""

    stem: str
    """The name without compression and rotation: pieces of one log share it."""
    piece: Piece
    kind: FileKind | None = None
    """Set if the name settles it, whatever the content."""
    index: int | None = None  # type: ignore[assignment]
    node: int | None = None
    """Of several whose logs lie in one folder and name it."""
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


def read_name(name: str, folder: str = "") -> NameFacts:
    """Read a file name; `folder` is the folder the file lies in, of which the last part counts."""
    bare, _, number = name.rpartition(".")
    kind = _BARE_NAMES.get(bare)
    if kind and number.isdecimal() and number.isascii() and len(number) <= _MOST_DIGITS:
        return NameFacts(name, NEWEST, kind, int(number))
    stem, packed = _without_compression(name)
    ours = folder.rpartition("/")[2].lower() == RECORD_FOLDER
    stem, piece = without_rotation(stem)
    for pattern, kind, only_in in _NAMES:
        if (not only_in or ours) and (match := pattern.fullmatch(stem)):
            told = match.groupdict()
            index, node = (
                None if told.get(number) is None else int(told[number])
                for number in ("index", "node")
            )
            return NameFacts(stem, piece, kind, index, node, packed=packed)
    launched = LOG_OF_LAUNCH.fullmatch(stem)
    if launched and launched["job"] == UNNAMED_JOB:
        return as_worker_log(NameFacts(stem, piece, packed=packed))
    captured = bool(_CAPTURED.fullmatch(stem))
    # Our own folder holds reports beside the record, and those speak of failures too.
    promising = captured or (not ours and bool(_PROMISING.fullmatch(stem)))
    return NameFacts(stem, piece, promising=promising, captured=captured, packed=packed)


def as_worker_log(told: NameFacts) -> NameFacts:
    """What a name tells that follows the pattern `<job>.<pod>.N.log`, if that is what it means."""
    launched = LOG_OF_LAUNCH.fullmatch(told.stem)
    return told._replace(kind="worker", index=int(launched["index"])) if launched else told


def process_of(name: str) -> tuple[str, int] | None:
    """What people call the logs of ranks, but for the number, and the number; None for others.

    A name like `rank_3.log` says so only among its likes.
    """
    match = _OF_A_PROCESS.fullmatch(name)
    if not match:
        return None
    return name[: match.start("index")] + name[match.end("index") :], int(match["index"])


def is_by_a_launcher(head: bytes) -> bool:
    """Whether a launcher wrote this beginning, not a process that it started."""
    return any(literal in head for literal in _OF_LAUNCHERS)


def recognise(name: str, head: bytes, folder: str = "", asked: bool = False) -> Recognised | None:
    """What a file is, from its name and its first 64 kB; None for what is no log.

    A file that was `asked` for by name is always something.
    """
    told = read_name(name, folder)
    if told.kind is not None:
        return Recognised(told.kind, told.index)
    if asked or told.promising:
        kind = kind_of_text(head, told.stem)
        if kind is not None:
            return Recognised(kind)
        if asked or (told.captured and is_text(head)):
            return Recognised("console")
    return None


def is_interesting(name: str, folder: str = "") -> bool:
    """Whether the name alone makes it worth opening: a log, perhaps a log, or an archive."""
    told = read_name(name, folder)
    return told.kind is not None or told.promising or archive_by_name(name) is not None


def archive_by_name(name: str) -> ArchiveKind | None:
    lowered = name.lower()
    if lowered.endswith(".zip"):
        return "zip"
    if lowered.endswith((".7z", ".rar")):
        return "foreign"
    return "tar" if _TAR.search(lowered) else None


def archive_by_content(packed: bytes, unpacked: bytes) -> ArchiveKind | None:
    """The archive that a file's first bytes show, as they are or with compression taken off."""
    if packed.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return "zip"
    if packed.startswith((b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07")):
        return "foreign"
    if _begins_tar(unpacked):
        return "tar"
    if begins_headed(unpacked):
        return "headed"
    return "labelled" if begins_labelled(unpacked) else None


def begins_labelled(head: bytes) -> bool:
    """Whether the first lines all name whose they are."""
    return label_of(head) is not None


def label_of(head: bytes) -> Label | None:
    """In which way the first lines of a text name whose they are, if all of them do."""
    if not _ANY_LABEL.match(head):
        return None
    lines = head.split(b"\n", _MOST_LABELS)[:_MOST_LABELS]
    whole = lines[:-1] if len(lines) > 1 else lines
    for label in LABELS if len(whole) > 1 else ():
        if all(map(label.pattern.match, whole)):
            return label
    return None


def begins_headed(head: bytes) -> bool:
    """Whether the name of a log stands above it, as `tail` prints it of several files."""
    found = _TAIL_HEADER.match(head)
    name = found[1].decode(errors="replace").rpartition("/")[2] if found else ""
    told = read_name(name, "")
    return bool(name) and (told.kind is not None or told.captured)


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


def is_text(head: bytes) -> bool:
    """Whether a file is text; stray bytes do not count, nor runs of NUL where a log was emptied."""
    body = head.replace(b"\0", b"")
    odd = len(body) - len(body.translate(None, _UNPRINTABLE))
    return odd * 50 <= len(body)


def kind_of_text(head: bytes, stem: str = "") -> FileKind | None:
    """The kind of log this is the beginning of, or None if nothing in it is known."""
    if not is_text(head):
        return None
    body = head.lstrip(b"\0\xef\xbb\xbf \t\r\n")
    for kind, row in reversed(KINDS.items()):  # a pod as JSON may hold what makes a backup_env
        if any(_begins(body, opening) for opening in row.openings):
            return kind
    for kind, row in KINDS.items():
        if row.lines is not None and _consists(body, row.lines):
            return kind
    if stem.lower().startswith(("syslog", "messages", "journal")):
        return "kernel" if b" kernel: " in body else None
    if b" kernel: " in body and any(words in body for words in _KERNEL_WORDS):
        return "kernel"
    if any(literal in body for literal in _LITERALS) or _TELLING.search(body):
        return "console"
    return None


def _begins(body: bytes, opening: OpeningSigns) -> bool:
    further = opening.further
    return bool(opening.pattern.match(body) and (further is None or further.search(body)))


def _consists(body: bytes, of: LineSigns) -> bool:
    lines = [line for line in body[:8192].splitlines()[:60] if line.strip()]
    matching = sum(1 for line in lines if of.pattern.match(line))
    return bool(lines) and matching / len(lines) > of.share and of.word in body


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
_UNPRINTABLE = bytes(set(range(1, 32)) - {0x07, 0x08, 0x09, 0x0A, 0x0C, 0x0D, 0x1B})
_OF_A_PROCESS = lazy_compile(
    r"(?:[\w.-]{0,80}[._])?(?:worker|trainer|(?:local_?)?rank|proc|process|gpu|card|device)"
    r"(?:[._-]?log)?[._-]?(?P<index>\d{1,4})(?:[._-]?log)?(?:\.(?:log|txt|out|err|stdout|stderr))?",
    re.IGNORECASE | re.ASCII,
)
_OF_LAUNCHERS: tuple[bytes, ...] = (
    # Both of Paddle's, and those of other people that start it.
    b"LAUNCH INFO ",
    b"LAUNCH WARNING ",
    b"LAUNCH ERROR ",
    b"ABORT!!!",
    b"launch_utils.py",
    b"terminate all the procs",
    b"launch train in ",
    b"launch proc_id:",
    b"Container failed",
    b"usage: launch.py",
    b"mpirun noticed",
    b"mpirun has exited",
    b"srun: error:",
)
_LITERALS: tuple[bytes, ...] = (
    *_OF_LAUNCHERS,
    # Launchers and scripts alike.
    b"Configuration Arguments",
    b"server not ready, wait ",
    # Ends of a process, in any of the languages involved.
    b"Traceback (most recent call last)",
    b": can't open file '",
    b"Error Message Summary",
    b"*** Aborted at ",
    b"*** Check failure stack trace",
    b"terminate called ",
    b"Segmentation fault",
    b"core dumped",
    b"Log line format: [IWEF]",
    # Communication libraries.
    b" NCCL INFO ",
    b" NCCL WARN ",
    b"][BKCL]",
    b"[HCCL]",
)
_KERNEL_WORDS = (
    b" kernel: NVRM: ",
    b"invoked oom-killer",
    b"Out of memory: Kill",
    b": segfault at ",
)
"""Of a journal in which other services say more than the kernel."""
_TELLING = lazy_compile(
    rb"\b[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,6} +\d+ [\w.+/-]{1,100}:\d+\]"
    rb"|\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d[^\n]{0,80}\b(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b"
    rb"|\b(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b[^\n]{0,40}\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d"
    rb"|\b[Ll](?:evel|vl)=\w+ msg="
    rb"|\[\d{1,9},\d{1,6}\]<std(?:err|out|diag)>:"
    rb"|(?i:\b(?:epoch|pass|iter|iters|iteration|step|batch)\b[^\n]{0,200}\b(?:loss|cost))"
    rb"|(?m:^[\w.]{0,100}(?:Error|Exception|Interrupt|Warning): )"
)
