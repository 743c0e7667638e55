"""The same job gives the same logs, however it is packed."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pdtriage.sources import SearchResult, find
from tests.sources.builders import (
    COMPRESSIONS,
    LOGS_OF_TWO_NODES,
    TWO_NODES,
    Tree,
    as_tar,
    as_zip,
    content,
    write_tree,
)


def folder(root: Path) -> Path:
    return write_tree(root / "x", TWO_NODES)


def file(root: Path, name: str, archive: bytes) -> Path:
    (root / name).write_bytes(archive)
    return root / name


def each_packed(pack: Callable[[bytes], bytes], suffix: str) -> Tree:
    return {name + suffix: pack(text) for name, text in TWO_NODES.items()}


def backwards() -> Tree:
    return dict(reversed(list(TWO_NODES.items())))


PACKINGS: dict[str, Callable[[Path], Path]] = {
    "zip": lambda root: file(root, "x.zip", as_zip(TWO_NODES)),
    "zip stored": lambda root: file(root, "x.zip", as_zip(TWO_NODES, zipfile.ZIP_STORED)),
    "zip backwards": lambda root: file(root, "x.zip", as_zip(backwards())),
    "zip from windows": lambda root: file(
        root, "x.zip", as_zip({name.replace("/", "\\"): t for name, t in TWO_NODES.items()})
    ),
    "tar": lambda root: file(root, "x.tar", as_tar(TWO_NODES)),
    "tar.gz backwards": lambda root: file(root, "x.tgz", gzip.compress(as_tar(backwards()))),
    **{
        f"tar{suffix}": lambda root, s=suffix, p=pack: file(root, f"x.tar{s}", p(as_tar(TWO_NODES)))  # type: ignore[misc]
        for suffix, pack in COMPRESSIONS.items()
    },
    **{
        f"each file {suffix}": lambda root, s=suffix, p=pack: write_tree(  # type: ignore[misc]
            root / "x", each_packed(p, s)
        )
        for suffix, pack in COMPRESSIONS.items()
    },
    "gz files in a zip": lambda root: file(
        root, "x.zip", as_zip(each_packed(gzip.compress, ".gz"))
    ),
    "zst files in a tar.gz": lambda root: file(
        root, "x.tar.gz", gzip.compress(as_tar(each_packed(COMPRESSIONS[".zst"], ".zst")))
    ),
    "zip in a folder": lambda root: file(root / "x", "y.zip", as_zip(TWO_NODES)).parent,
    "tar.gz in a zip": lambda root: file(
        root, "x.zip", as_zip({"y.tar.gz": gzip.compress(as_tar(TWO_NODES))})
    ),
}


@pytest.mark.parametrize("packing", PACKINGS)
def test_the_same_logs(tmp_path: Path, packing: str) -> None:
    plain = logs(find([folder(tmp_path / "plain")]))
    (tmp_path / "packed" / "x").mkdir(parents=True)

    packed = find([PACKINGS[packing](tmp_path / "packed")])

    assert len(plain) == LOGS_OF_TWO_NODES
    assert logs(packed) == plain
    assert packed.notes == ()
    assert [s.notes() for s in packed.sources] == [()] * len(plain)


def logs(found: SearchResult) -> list[tuple[str, int | None, int, str, bytes]]:
    """What counts: kind, number, piece, folder from the job on, and every byte."""
    return [
        (
            s.file.kind,
            s.file.index,
            s.file.rotation,
            s.file.folder[s.file.folder.index("job") :],
            content(s),
        )
        for s in found.sources
    ]
