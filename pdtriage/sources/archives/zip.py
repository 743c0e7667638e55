"""Zip archives: a member is a place in the file and a codec; listing them reads none of it."""

from __future__ import annotations

import io
import struct
import time
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

from pdtriage.sources.archives.compressed import Codec, DamagedError, TooMuchError
from pdtriage.sources.byte_stream import Checked, Cut, Layer, Memory, Origin, Unpacked, seekable
from pdtriage.sources.display_path import join_display, member_parts
from pdtriage.sources.find.candidates import Candidate
from pdtriage.sources.find.recognise import is_interesting
from pdtriage.sources.limits import Limits, Room
from pdtriage.sources.notes import Notes
from pdtriage.sources.remote.url import RemoteError
from pdtriage.support.fast_namedtuple import NamedTuple

CODECS: dict[int, Codec | None] = {0: None, 8: "deflate", 12: "bz2", 14: "lzma", 93: "zst"}
LOCAL = struct.Struct("<4s5H3L2H")
"""The header in front of a member: 30 bytes, then name and extra field."""
_MOST_DIRECTORY = 64 << 20


class ZipMember(NamedTuple):
    """One entry of a zip's directory."""

    name: str
    encrypted: bool
    method: int
    begins: int
    """Where its packed bytes begin in the archive."""
    packed: int
    unpacked: int | None
    crc: int | None
    modified: float | None


def zip_members(
    archive: Candidate, limits: Limits, notes: Notes, room: Room
) -> Iterator[Candidate]:
    """The members that may be logs, or archives of logs."""
    try:
        yield from _in_zip(archive, limits, notes, room)
    except RemoteError as error:
        notes.add(error.reason, archive.path)


def _in_zip(archive: Candidate, limits: Limits, notes: Notes, room: Room) -> Iterator[Candidate]:
    try:
        file, size = _open(archive, limits)
    except TooMuchError:
        notes.add("large", archive.path)
        return
    except RemoteError:
        raise
    except (DamagedError, OSError):
        notes.add("archive", archive.path)
        return
    with file:
        left = limits.most_of(size)
        for member in _members(file, size, archive.path, limits, notes, room):
            parts = member_parts(member.name)
            if not parts or not is_interesting(parts[-1], parts[-2] if len(parts) > 1 else ""):
                continue
            shown = join_display(archive.path, "/".join(parts))
            if member.encrypted:
                notes.add("encrypted", shown)
            elif member.method not in CODECS:
                notes.add("method", shown)
            else:
                wanted = member.packed if member.unpacked is None else member.unpacked
                given = room.take(wanted, left)
                if given < wanted:  # as of one stream: what comes before is read
                    notes.add("bomb", shown)
                    if not given:
                        return
                    member = member._replace(unpacked=given, crc=None)
                left -= given
                origin = _origin_of(archive, member, file, room)
                if origin is None:
                    notes.add("large", archive.path)
                    return
                yield _candidate(archive, member, parts, origin)


def zip_name(raw: bytes, utf8: bool) -> str:
    """A member's name; packers in China write GBK without saying so."""
    for encoding in ("utf-8",) if utf8 else ("utf-8", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("utf-8", "surrogateescape") if utf8 else raw.decode("cp437")


def zip_time(day: int, clock: int, extra: bytes) -> float | None:
    """Seconds since 1970 from the extended time stamp, else from the DOS one (local time)."""
    for tag, field in _fields(extra):
        if tag == 0x5455 and len(field) >= 5 and field[0] & 1:
            return float(int.from_bytes(field[1:5], "little", signed=True))
    moment = (
        (day >> 9) + 1980,
        (day >> 5) & 15,
        day & 31,
        clock >> 11,
        (clock >> 5) & 63,
        (clock & 31) * 2,
    )
    try:
        return time.mktime((*moment, 0, 0, -1)) if moment[1] and moment[2] else None
    except (ValueError, OverflowError):
        return None


def _fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(extra):
        tag, length = struct.unpack_from("<HH", extra, at)
        yield tag, extra[at + 4 : at + 4 + length]
        at += 4 + length


def _open(archive: Candidate, limits: Limits) -> tuple[BinaryIO, int]:
    """The archive as a file to seek in; one that is packed or part of another, from memory."""
    if place := seekable(archive.origin, archive.layers):
        file = cast(BinaryIO, place.open())
        return file, file.seek(0, io.SEEK_END)
    content = bytearray()
    for piece in Unpacked(archive.origin, archive.layers, limits).raw(1 << 20):
        content += piece
        if len(content) > limits.in_memory:
            raise TooMuchError
    return io.BytesIO(bytes(content)), len(content)


def _members(
    file: BinaryIO, size: int, path: str, limits: Limits, notes: Notes, room: Room
) -> Iterator[ZipMember]:
    members: Iterator[ZipMember]
    try:
        if _directory_size(file, size) > _MOST_DIRECTORY:
            notes.add("entries", path)
            return
        members = _members_listed(file, zipfile.ZipFile(file).infolist(), path, notes)
    except Exception:  # a broken directory makes zipfile raise anything from struct.error on
        notes.add("archive", path)
        members = _salvage(file, size, path, limits, notes, room)
    for count, member in enumerate(members):
        if count >= limits.entries:
            notes.add("entries", path)
            return
        yield member


def _directory_size(file: BinaryIO, size: int) -> int:
    """What the archive says its list of members takes, before anything is made of that list."""
    file.seek(max(0, size - (64 << 10) - 22))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        return 0
    told = int.from_bytes(tail[at + 12 : at + 16], "little")
    return 0 if told == 0xFFFFFFFF else told  # all ones: told elsewhere, for more than 4 GB


def _members_listed(
    file: BinaryIO, entries: list[zipfile.ZipInfo], path: str, notes: Notes
) -> Iterator[ZipMember]:
    for entry in entries:
        if entry.filename.endswith("/"):  # `is_dir` fails on a name that damage left empty
            continue
        begins = _content_begins(file, entry.header_offset)
        if begins is None:
            notes.add("archive", path)  # listed, but not there
            continue
        utf8 = bool(entry.flag_bits & 0x800)
        raw = entry.orig_filename.encode("utf-8" if utf8 else "cp437", "surrogateescape")
        year, month, day, hour, minute, second = entry.date_time
        yield ZipMember(
            name=zip_name(raw, utf8),
            encrypted=bool(entry.flag_bits & 1),
            method=entry.compress_type,
            begins=begins,
            packed=entry.compress_size,
            unpacked=entry.file_size,
            crc=entry.CRC,
            modified=zip_time(
                (year - 1980) << 9 | month << 5 | day,
                hour << 11 | minute << 5 | second // 2,
                entry.extra,
            ),
        )


def _content_begins(file: BinaryIO, header_at: int) -> int | None:
    try:
        file.seek(header_at)
        header = LOCAL.unpack(file.read(LOCAL.size))
    except (struct.error, OSError, ValueError):
        return None
    if header[0] != b"PK\x03\x04":
        return None
    return header_at + LOCAL.size + int(header[9]) + int(header[10])


def _origin_of(archive: Candidate, member: ZipMember, file: BinaryIO, room: Room) -> Origin | None:
    """Where the member's bytes are; held in memory if the archive is, None if that is full."""
    if not isinstance(file, io.BytesIO) and not isinstance(archive.origin, Memory):
        return archive.origin.part(member.begins, member.packed)
    if member.packed > room.left:
        return None
    file.seek(member.begins)
    held = Memory(file.read(member.packed))
    room.left -= len(held.content)
    return held


def _candidate(
    archive: Candidate, member: ZipMember, parts: tuple[str, ...], origin: Origin
) -> Candidate:
    codec = CODECS[member.method]
    layers: list[Layer] = [] if codec is None else [codec]
    if member.unpacked is not None:
        layers.append(Cut(0, member.unpacked))
    if member.crc is not None:
        layers.append(Checked(member.crc))
    return Candidate(
        name=parts[-1],
        folder=join_display(archive.path, "/".join(parts[:-1])) if parts[:-1] else archive.path,
        origin=origin,
        layers=tuple(layers),
        size=member.unpacked,
        modified=member.modified,
        inside=archive.inside + 1,
    )


def _salvage(
    file: BinaryIO, size: int, path: str, limits: Limits, notes: Notes, room: Room
) -> Iterator[ZipMember]:
    """The members of a zip whose list of them is lost, because the upload stopped.

    The headers in front of them are followed until one makes no sense, or until finding out where
    they end has unpacked as much as the archive may become.
    """
    at, left = 0, limits.most_of(size)
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
        is_bomb = False
        if not known and method == 8:
            most = min(left, room.unpacked)
            packed, given, ends = _deflated_length(file, begins, most)
            left -= room.take(given, most)
            is_bomb = given > most
            unpacked = most if is_bomb else given if ends else None
        elif not known:
            packed, unpacked = size - begins, None
        elif packed == 0xFFFFFFFF:
            unpacked, packed = _long_sizes(extra) or (unpacked, size - begins)
        whole = begins + packed <= size
        yield ZipMember(
            name=zip_name(name, bool(flags & 0x800)),
            encrypted=bool(flags & 1),
            method=method,
            begins=begins,
            packed=min(packed, max(0, size - begins)),
            unpacked=unpacked,
            crc=crc if known and whole else None,
            modified=zip_time(day, clock, extra),
        )
        if is_bomb:
            notes.add("bomb", path)
            return
        at = begins + packed if known else _next_header(file, begins + packed, size)


def _deflated_length(file: BinaryIO, begins: int, most: int) -> tuple[int, int, bool]:
    """How long a deflated member is whose header does not say so, packed and unpacked, and whether
    it ends there: it may be cut off, or is not followed any further than `most` bytes."""
    file.seek(begins)
    machine = zlib.decompressobj(-15)
    taken = given = 0
    try:
        while piece := file.read(64 << 10):
            taken += len(piece)
            while piece and not machine.eof:
                given += len(machine.decompress(piece, 1 << 20))
                if given > most:
                    return taken, given, False
                piece = machine.unconsumed_tail
            if machine.eof:
                return taken - len(machine.unused_data), given, True
    except zlib.error:
        pass  # what comes before the damage is the member
    return taken, given, False


def _long_sizes(extra: bytes) -> tuple[int, int] | None:
    for tag, field in _fields(extra):
        if tag == 1 and len(field) >= 16:
            unpacked, packed = struct.unpack_from("<QQ", field)
            return unpacked, packed
    return None


def _next_header(file: BinaryIO, at: int, size: int) -> int:
    """Behind the sizes that follow a member, with or without a mark, in 32 or 64 bits."""
    file.seek(min(at, size))
    skipped = file.read(28).find(b"PK\x03\x04")
    return size if skipped < 0 else at + skipped
