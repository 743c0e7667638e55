"""Files beside the logs of a job that nothing marks as logs: they are not read, but mentioned."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from pdtriage.model import KINDS
from pdtriage.sources.byte_stream import Disk
from pdtriage.sources.find.candidate import Candidate
from pdtriage.sources.find.sniff import is_text
from pdtriage.sources.source import Source
from pdtriage.support.lazy_regex import lazy_compile

MOST_LOOKED_AT = 32
HEAD = 4096
_NO_LOGS = lazy_compile(
    r"\..*|.*\.(?:py|pyc|sh|json|jsonl|ya?ml|toml|ini|cfg|conf|md|html?|xml|csv|tsv|pid|lock|proto"
    r"|pd\w+|pkl|pickle|npy|npz|pth?|onnx|bin|h5|ckpt|so|prof|pb|db|png|jpe?g|gif|pdf|ipynb)"
    r"|.*(?:tfevents|vdlrecords).*|readme|license|makefile|dockerfile|\w*requirements\w*\.txt"
    r"|notes?\.txt",
    re.IGNORECASE,
)


def unread_beside(candidates: Sequence[Candidate], sources: Iterable[Source]) -> Iterator[str]:
    """Those that lie in a folder with the log of a process, and hold text."""
    if not candidates:
        return
    folders = {source.file.folder for source in sources if KINDS[source.file.kind].role}
    looked_at = 0
    for candidate in candidates:
        beside = (candidate.folder or ".") in folders and not candidate.inside
        if not beside or _NO_LOGS.fullmatch(candidate.name) or looked_at >= MOST_LOOKED_AT:
            continue
        if isinstance(candidate.origin, Disk) and candidate.size:
            looked_at += 1
            if _is_text_file(candidate.origin.path):
                yield candidate.path


def _is_text_file(path: str) -> bool:
    try:
        with open(os.fspath(path), "rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return bool(head.strip(b"\0")) and is_text(head)
