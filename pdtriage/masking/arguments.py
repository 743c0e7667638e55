"""What a launch was given, as others may see it: the words of its command line in the run record
and on a console, its variables in the files beside the logs."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.masking.secrets import MASK, masked_text
from pdtriage.masking.value import is_number, is_path, is_placeholder
from pdtriage.masking.variables import is_harmless

_TELLING_WORDS = frozenset(
    {
        *("password", "passwd", "passphrase", "passcode", "pass", "pwd", "secret", "secrets"),
        *("token", "tokens", "credential", "credentials", "key", "apikey", "auth", "ak", "sk"),
        *("bduss", "cookie", "webhook"),
    }
)


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
    """Of a setting; a value that is no text has nothing to hide."""
    if isinstance(value, str):
        shown = masked_text(f"--{name}='{value}'")[0]
        return (
            shown[len(name) + 4 : -1] if shown.startswith(f"--{name}='") else masked_text(value)[0]
        )
    if isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
        return type(value)(masked_arguments(value))
    return value


def masked_variable(name: str, value: str) -> str:
    """Of an environment, where a name tells more surely than in a sentence."""
    if is_harmless(name):
        return value
    if _TELLING_WORDS.isdisjoint(name.lower().split("_")):
        return masked_text(value)[0]
    plain = not value or is_number(value) or is_path(value) or is_placeholder(value)
    return value if plain else MASK
