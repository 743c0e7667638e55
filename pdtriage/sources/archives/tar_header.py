"""Tar headers read with less trust than the standard library has."""

from __future__ import annotations

import tarfile

from pdtriage.sources.archives.compressed import DamagedError

_MOST_EXTENSION = 1 << 20
_EXTENSIONS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


class Header(tarfile.TarInfo):
    """Junk in place of a header is damage, where tarfile takes it for a quiet end.

    An extension, which tarfile reads into memory whatever size it claims, has to be small.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Header:
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if not bytes(buf).strip(b"\0"):
                raise  # the end, marked with zeros or not at all
            raise DamagedError(str(error)) from error
        if header.type in _EXTENSIONS and header.size > _MOST_EXTENSION:
            raise DamagedError("extension too large")
        return header
