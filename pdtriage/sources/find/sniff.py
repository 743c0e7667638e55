"""What the first 64 kB of a text say about its writer."""

from __future__ import annotations

from pdtriage.model import KINDS, FileKind
from pdtriage.model.kinds import Lines, Opening
from pdtriage.support.lazy_regex import lazy_compile


def is_text(head: bytes) -> bool:
    """Logs may hold stray bytes, and runs of NUL where a file was emptied while it was written."""
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
    if any(literal in body for literal in _LITERALS) or _TELLING.search(body):
        return "console"
    return None


def _begins(body: bytes, opening: Opening) -> bool:
    further = opening.further
    return bool(opening.pattern.match(body) and (further is None or further.search(body)))


def _consists(body: bytes, of: Lines) -> bool:
    lines = [line for line in body[:8192].splitlines()[:60] if line.strip()]
    matching = sum(1 for line in lines if of.pattern.match(line))
    return bool(lines) and matching / len(lines) > of.share and of.word in body


_UNPRINTABLE = bytes(set(range(1, 32)) - {0x07, 0x08, 0x09, 0x0A, 0x0C, 0x0D, 0x1B})
_LITERALS: tuple[bytes, ...] = (
    # Both launchers, and those of other people that start Paddle.
    b"LAUNCH INFO ",
    b"LAUNCH WARNING ",
    b"LAUNCH ERROR ",
    b"Configuration Arguments",
    b"ABORT!!!",
    b"launch_utils.py",
    b"terminate all the procs",
    b"launch train in ",
    b"launch proc_id:",
    b"Container failed",
    b"usage: launch.py",
    b"server not ready, wait ",
    b"mpirun noticed",
    b"mpirun has exited",
    b"srun: error:",
    # Ends of a process, in any of the languages involved.
    b"Traceback (most recent call last)",
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
_TELLING = lazy_compile(
    rb"\b[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,6} +\d+ [\w.+/-]{1,100}:\d+\]"
    rb"|\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d[^\n]{0,80}\b(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b"
    rb"|\b(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b[^\n]{0,40}\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d"
    rb"|\b[Ll](?:evel|vl)=\w+ msg="
    rb"|\[\d{1,9},\d{1,6}\]<std(?:err|out|diag)>:"
    rb"|(?i:\b(?:epoch|pass|iter|iters|iteration|step|batch)\b[^\n]{0,200}\b(?:loss|cost))"
    rb"|(?m:^[\w.]{0,100}(?:Error|Exception|Interrupt|Warning): )"
)
