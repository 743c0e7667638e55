"""Log folders as launchers leave them, and the ways people pack them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from pdtriage.sources import SearchResult, Source
from pdtriage.support.zstd import zstd

Tree = Mapping[str, bytes]

TRACEBACK = (
    b'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\nOSError: x\n'
)

TWO_NODES: Tree = {
    "job/console.log": b"LAUNCH INFO 2024-01-01 00:00:00,000 -----------  Configuration  ---\n",
    "job/node0/log/workerlog.0": b"step 1\n" * 40_000 + TRACEBACK,
    "job/node0/log/workerlog.1": b"",
    "job/node0/log/envlog.0": b"HOME=/h\nPADDLE_TRAINER_ID=0\n",
    "job/node0/log/backup_env.0.json": b'{"PADDLE_TRAINER_ID": "0"}',
    "job/node0/log/default.abcdef.log": b"environ({'HOME': '/h'})\n[{'name': 'abcdef'}]\n",
    "job/node0/log/pdtriage/run-0001.jsonl": b'{"kind":"start"}\n',
    "job/node0/log/pdtriage/report.txt": TRACEBACK,
    "job/node1/log/workerlog.0": b"rank two\r\n",
    "job/node1/log/workerlog.0.1": b"older\n",
    "job/node1/log/endpoints.log": b"PADDLE_TRAINER_ENDPOINTS: \n10.0.0.1:6070",
    "job/node1/log/dmesg.txt": b"[  12.345678] Out of memory: Killed process 1 (python)\n",
    "job/train.py": b"raise OSError\n",
    "job/model.pdparams": b"\x80\x04\x95" + bytes(range(256)) * 8,
    "job/label.json": b'{"Error Message Summary": 1}',
    "job/classes.txt": b"cat\ndog\n",
}
LOGS_OF_TWO_NODES = 11


def write_tree(root: Path, tree: Tree) -> Path:
    for name, content in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def as_zip(tree: Tree, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in tree.items():
            archive.writestr(name, content)
    return file.getvalue()


def as_tar(tree: Tree) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, content in tree.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mtime = 1_700_000_000
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


def zst(content: bytes) -> bytes:
    return zstd().compress(content)


COMPRESSIONS: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zst,
}


def content(source: Source, size: int = 1 << 20) -> bytes:
    return b"".join(source.chunks(size))


def one(found: SearchResult) -> Source:
    (source,) = found.sources
    return source


def paths(found: SearchResult) -> list[str]:
    return [source.file.path for source in found.sources]


def told(found: SearchResult) -> str:
    return "\n".join(note.en for note in found.notes)
