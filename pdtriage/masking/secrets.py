"""Secrets out of a text: `masked_text` masks them and counts what it masked.

A value is masked when it has the shape of a known key or token, when it stands in a URL in front
of the host, when the name it is given to says that it is secret, or when a command, a call or a
sentence has a secret in its place. What only looks like it (`pad_token`, `missing key: layers.31`,
`PWD`) is left alone: a masked error line helps nobody. Dumps of a whole environment keep the values
of variables that are known to be harmless.

What a launch was given is masked word by word (`masked_arguments`, for the run record and a
console) or by its name (`masked_variable`, for the files beside the logs).
"""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.masking.commands import COMMANDS
from pdtriage.masking.names import NAMES
from pdtriage.masking.prose import PROSE
from pdtriage.masking.shapes import PRIVATE_KEYS, SHAPES
from pdtriage.masking.substitution import MASK, Rule
from pdtriage.masking.value import is_number, is_path, is_placeholder
from pdtriage.masking.variables import is_harmless, mask_dumps

__all__ = ["MASK", "masked_arguments", "masked_text", "masked_value", "masked_variable"]

_TELLING_WORDS = frozenset(
    {
        *("password", "passwd", "passphrase", "passcode", "pass", "pwd", "secret", "secrets"),
        *("token", "tokens", "credential", "credentials", "key", "apikey", "auth", "ak", "sk"),
        *("bduss", "cookie", "webhook"),
    }
)


def masked_text(text: str) -> tuple[str, int]:
    """`text` with its secrets masked, and their number. The number of lines stays."""
    count = 0

    def _mask(secret: str) -> str:
        nonlocal count
        count += 1
        return "\n".join(MASK if line.strip() else line for line in secret.split("\n"))

    folded = text.casefold()
    present = {word for word in _WORDS if word in folded}
    if present:
        for words, substitute in _RULES:
            if not present.isdisjoint(words):
                text = substitute(text, _mask)
    return text, count


def masked_arguments(words: Sequence[str]) -> tuple[str, ...]:
    """Word by word, and each with the one before it, which may be the flag that tells."""
    masked = [masked_text(word)[0] for word in words]
    for number in range(1, len(masked)):
        flag, value = masked[number - 1], masked[number]
        if flag.startswith("-") and "=" not in flag and not value.startswith("-"):
            pair = f"{flag} '{value}'" if "'" not in value else f'{flag} "{value}"'
            shown = masked_text(pair)[0]
            if shown != pair and shown.startswith(flag + " "):
                masked[number] = shown[len(flag) + 2 : -1]
    return tuple(masked)


def masked_value(name: str, value: object) -> object:
    """The value of a setting, masked; a value that is no text has nothing to hide."""
    if isinstance(value, str):
        shown = masked_text(f"--{name}='{value}'")[0]
        return (
            shown[len(name) + 4 : -1] if shown.startswith(f"--{name}='") else masked_text(value)[0]
        )
    if isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
        return type(value)(masked_arguments(value))
    return value


def masked_variable(name: str, value: str) -> str:
    """The value of a variable, masked; its name tells more surely than one in a sentence."""
    if is_harmless(name):
        return value
    if _TELLING_WORDS.isdisjoint(name.lower().split("_")):
        return masked_text(value)[0]
    plain = not value or is_number(value) or is_path(value) or is_placeholder(value)
    return value if plain else MASK


_DUMPS: Rule = (("{", "="), mask_dumps)
_RULES: tuple[Rule, ...] = (*PRIVATE_KEYS, _DUMPS, *SHAPES, *COMMANDS, *NAMES, *PROSE)
"""In this order: what is surest comes first, and nothing is masked twice."""
_WORDS = frozenset(word for words, _ in _RULES for word in words)
