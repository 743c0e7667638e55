"""A zip whose list of members is lost, because the upload stopped: its members, front to back."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from pdtriage.sources.archives.zip import LOCAL, ZipMember, zip_name, zip_time


def salvaged(file: BinaryIO, size: int) -> Iterator[ZipMember]:
    """Follow the headers in front of the members until one makes no sense."""
    at = 0
    while at + LOCAL.size <= size:
        file.seek(at)
        (
            mark, _, flags, method, clock, day, crc, packed, unpacked, name_length, extra_length,
        ) = LOCAL.unpack(file.read(LOCAL.size))  # fmt: skip
        if mark != b"PK\x03\x04":
            return
        name = file.read(name_length)
        extra = file.read(extra_length)
        begins = at + LOCAL.size + name_length + extra_length
        known = not flags & 8
        if not known:
            packed = _deflated_length(file, begins) if method == 8 else size - begins
        elif packed == 0xFFFFFFFF:
            unpacked, packed = _long_sizes(extra) or (unpacked, size - begins)
        whole = begins + packed <= size
        yield ZipMember(
            name=zip_name(name, bool(flags & 0x800)),
            encrypted=bool(flags & 1),
            method=method,
            begins=begins,
            packed=min(packed, max(0, size - begins)),
            unpacked=unpacked if known else None,
            crc=crc if known and whole else None,
            modified=zip_time(day, clock, extra),
        )
        at = begins + packed if known else _next_header(file, begins + packed, size)


def _deflated_length(file: BinaryIO, begins: int) -> int:
    """How long a deflated member is whose header does not say so; to the end if it is cut off."""
    import zlib

    file.seek(begins)
    machine = zlib.decompressobj(-15)
    taken = 0
    try:
        while piece := file.read(64 << 10):
            taken += len(piece)
            while piece and not machine.eof:
                machine.decompress(piece, 1 << 20)
                piece = machine.unconsumed_tail
            if machine.eof:
                return taken - len(machine.unused_data)
    except zlib.error:
        pass  # what comes before the damage is the member
    return taken


def _long_sizes(extra: bytes) -> tuple[int, int] | None:
    at = 0
    while at + 20 <= len(extra):
        tag, length = struct.unpack_from("<HH", extra, at)
        if tag == 1 and length >= 16:
            unpacked, packed = struct.unpack_from("<QQ", extra, at + 4)
            return unpacked, packed
        at += 4 + length
    return None


def _next_header(file: BinaryIO, at: int, size: int) -> int:
    """Behind the sizes that follow a member, with or without a mark, in 32 or 64 bits."""
    file.seek(min(at, size))
    skipped = file.read(28).find(b"PK\x03\x04")
    return size if skipped < 0 else at + skipped
