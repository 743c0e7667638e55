"""The words of a command line as others may see them: in the run record, on a console."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.masking.secrets import masked_text


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
