"""Small damage to honest bytes, the same for the same seed; for where atheris is not installed."""

from __future__ import annotations

import random

from tests.fuzz.targets import LONGEST

ODD = (
    *(b"\0", b"\n", b"\r", b"\x1b[31m", b"\xff", b"\xed\xa0\x80", "训".encode(), b"\xe2\x80\xae"),
    *(b"9" * 5000, b"-1", b"1e999", b"NaN", b"null", b"true", b"{}", b"[]", b"[" * 3000),
    *(b"{" * 50, b'"', b"'", b"\\", b"\\ud800", b"=", b":", b"%s", b"=" * 200, b" " * 2000),
)


def mutated(seeds: list[bytes], chance: random.Random) -> bytes:
    """One of the seeds, cut, repeated, overwritten, joined with another or with odd words."""
    raw = bytearray(chance.choice(seeds)[-LONGEST:])
    for _ in range(chance.choice((1, 1, 2, 4, 8, 16))):
        at = chance.randrange(len(raw) + 1)
        upto = min(len(raw), at + chance.choice((1, 2, 8, 64, 512)))
        match chance.randrange(6):
            case 0:
                raw[at:upto] = chance.choice(ODD)
            case 1:
                del raw[at:upto]
            case 2:
                raw[at:at] = raw[at:upto] * chance.choice((1, 2, 40))
            case 3:
                raw[at:upto] = chance.randbytes(upto - at)
            case 4:
                other = chance.choice(seeds)
                begin = chance.randrange(len(other) + 1)
                raw[at:upto] = other[begin : begin + 200]
            case _ if raw:
                raw[at - 1] ^= 1 << chance.randrange(8)
    return bytes(raw[: 4 * LONGEST])
