"""What a value looks like: drawn by lot, or a name, a path, a date, a word of a sentence."""

from __future__ import annotations

import re

from pdtriage.support.lazy_regex import lazy_compile

CHUNK = 8
"""So many letters and digits without a break are in everything that was drawn by lot."""
SHORTEST = 10
PIECE = 2.2
"""Letters or digits in a row, on average: those of names are longer."""
_LONG_CHUNK = 20
_CHUNKS = lazy_compile(r"[A-Za-z0-9]{5,}")
_WORD_CHUNK = lazy_compile(r"(?:[A-Z]?[a-z]+[0-9]*|[0-9]+)\Z")
_PIECES = lazy_compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_NO_WORD = lazy_compile(r"[^aeiouy]{5}|[jq][^aeiou]|[aeiou]{4}", re.I)
_NUMBERS = lazy_compile(r"[0-9]+")
_VOWEL = lazy_compile(r"[aeiouy]", re.I)
_HEX = lazy_compile(r"(?:[0-9a-f]{16,}|[0-9A-F]{16,})\Z")
_ADDRESS_OR_TIME = lazy_compile(r"0x[0-9a-f]{1,16}\b|20[0-9]{6}T?[0-9]{0,6}Z?\b", re.I)
_UUID = lazy_compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.I)
_PATH = lazy_compile(r"(?:[A-Za-z]:|[~.]{0,2})[/\\][\w.@/\\+-]*\Z")
_NAME = lazy_compile(r"(?:[A-Za-z]+[0-9]{0,4}|[0-9]+)(?:[._/:-]+(?:[A-Za-z]+[0-9]{0,4}|[0-9]+))+\Z")
_DIGIT = _NUMBERS
_LETTER = lazy_compile(r"[A-Za-z]")
_LETTERS = lazy_compile(r"(?=[a-z]*[A-Z])(?=[A-Z]*[a-z])[A-Za-z]{8,}\Z")
_SPECIAL = lazy_compile(r"[!@#$%^&*+?~]")
_PLACEHOLDER = lazy_compile(
    r"(?:none|null|nil|undefined|true|false|yes|no|on|off|str|string|bytes|int|optional(?:\[.*)?|"
    r"any|\*+|\.\.\.|…|<[^>]*>?|\[[\w ]*\]?|\(\w*\)?|\$\{?\w+\}?|\$\(.*|%s|%\(\w+\)s|"
    r"\{\{?[\w. ]*\}*|x{3,}|your[_-].*|redacted|filtered|hidden|masked|changeme)\Z",
    re.I,
)
_NUMBER = lazy_compile(r"-?[0-9.]+%?\Z")
_CODE = lazy_compile(
    r"(?:(?:self|args|cls|cfg|config|conf|opts?|options|settings|os|kwargs|flags|params|hparams|"
    r"environ|getpass|json|yaml|base64|hashlib|request|ctx)[.\[(]"
    r"|(?:get|load|read|fetch|decrypt|input|str|bytes|quote|prompt|ask)\w{0,40}\("
    r"|[a-z_]\w{0,40}(?:\.[a-z_]\w{0,40}){1,4}\(|(?:raise|return|pass|yield|assert|await)\b)",
    re.I,
)
_PROSE = frozenset(
    {
        *("is", "was", "are", "has", "have", "had", "must", "should", "may", "can", "cannot"),
        *(
            "could",
            "will",
            "would",
            "not",
            "for",
            "from",
            "and",
            "or",
            "of",
            "to",
            "in",
            "on",
            "at",
        ),
        *("by", "the", "this", "that", "your", "been", "be", "required", "incorrect", "wrong"),
        *("invalid", "missing", "empty", "unset", "set", "given", "expired", "denied", "rejected"),
        *("failed", "mismatch", "error", "does", "doesn't", "did", "didn't", "too", "with"),
        *("without", "authentication", "auth", "only", "needed", "found", "expected", "unexpected"),
        *("unknown", "contains", "length", "default", "prompt", "field", "file", "hash", "type"),
        *("value", "strength", "policy", "reset", "changed", "incorrectly", "plain", "text"),
        *("string", "never", "verification", "check", "enter", "please", "same", "different"),
        *("permission", "updated", "unchanged", "unable", "bad", "sorry", "expiry", "information"),
        *("no", "cannot", "user", "unrecognized", "password", "credentials", "hidden"),
    }
)


def is_drawn(value: str, least: int = 12) -> bool:
    """Whether letters and digits of `value` change as only those of a lot do.

    `model.layers.31.mlp.weight`, `2026-11-17/part-00013` and `LayerNorm_2` are names.
    """
    if len(value) < least or _ADDRESS_OR_TIME.match(value):
        return False
    if _UUID.match(value):
        return True
    chunks = [chunk for chunk in _CHUNKS.findall(value[:400]) if not _WORD_CHUNK.match(chunk)]
    together = "".join(chunks)
    if len(together) < SHORTEST or max(map(len, chunks)) < CHUNK:
        return False
    if not _LETTER.search(together):
        return False
    if not _DIGIT.search(together):
        return any(len(chunk) >= _LONG_CHUNK and is_scrambled(chunk) for chunk in chunks)
    if any(_HEX.match(chunk) or _is_long_mix(chunk) for chunk in chunks):
        return True
    pieces = [piece for chunk in chunks for piece in _PIECES.findall(chunk)]
    in_words = sum(len(piece) for piece in pieces if _is_word(piece))
    letters = sum(len(piece) for piece in pieces if not piece.isdigit())
    return len(pieces) >= 4 and (2 * in_words < letters or len(together) <= PIECE * len(pieces))


def _is_long_mix(chunk: str) -> bool:
    return len(chunk) >= 16 and len(_NUMBERS.findall(chunk)) >= 3


def _is_word(piece: str) -> bool:
    """Whether it can be spoken; what begins in small letters goes on in them."""
    return (
        len(piece) >= 4
        and not piece.isupper()
        and bool(_VOWEL.search(piece))
        and not _NO_WORD.search(piece)
    )


def is_mixed(value: str, least: int = 6) -> bool:
    """Whether it may be a password: letters with digits or signs, or letters drawn by lot."""
    if len(value) < least or not _LETTER.search(value):
        return False
    if _DIGIT.search(value) or _SPECIAL.search(value):
        return not is_path(value)
    return is_scrambled(value)


def is_scrambled(value: str) -> bool:
    """Whether letters alone change between capitals and others as those of no name do."""
    if not _LETTERS.match(value):
        return False
    pieces = _PIECES.findall(value[:400])
    in_words = sum(len(piece) for piece in pieces if _is_word(piece))
    few = len(pieces) < 4
    return len(pieces) >= 3 and (not in_words if few else 2 * in_words < len(value))


def is_name(value: str) -> bool:
    """`layers.31.weight`, `user_12`: words and numbers with marks between them."""
    if is_address_or_time(value):
        return True
    return len(value) < 200 and bool(_NAME.match(value)) and not is_drawn(value, 10)


def is_path(value: str) -> bool:
    return bool(_PATH.match(value)) and not is_drawn(value)


def is_address_or_time(value: str) -> bool:
    return bool(_ADDRESS_OR_TIME.match(value))


def is_number(value: str) -> bool:
    return bool(_NUMBER.match(value.rstrip(",.;:)")))


def is_placeholder(value: str) -> bool:
    """Whether a value is empty, a type, a variable to be filled in, or what others have masked."""
    return bool(_PLACEHOLDER.match(value[:200].rstrip(",.;:)}") or value[:1]))


def is_code(value: str, name: str = "") -> bool:
    """A line of a traceback: `password=self.password`, `token=get_token()`."""
    bare = value.rstrip(",.;:)(]}").lower()
    return bare == name or bare.endswith(("." + name, "_" + name)) or bool(_CODE.match(value))


def is_prose(value: str) -> bool:
    """Whether a word goes on with the sentence: `password: required`."""
    return value.lower().strip(",.;:!?)") in _PROSE
