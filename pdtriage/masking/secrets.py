"""Secrets out of a text: `masked_text` masks them and counts what it masked.

A value is masked when it has the shape of a known key or token, when it stands in a URL in front
of the host, when the name it is given to says that it is secret, or when a command, a call or a
sentence has a secret in its place. What only looks like it (`pad_token`, `missing key: layers.31`,
`PWD`) is left alone: a masked error line helps nobody. Dumps of a whole environment keep the values
of variables that are known to be harmless.
"""

from __future__ import annotations

from pdtriage.masking.commands import COMMANDS
from pdtriage.masking.names import NAMES
from pdtriage.masking.prose import PROSE
from pdtriage.masking.shapes import PRIVATE_KEYS, SHAPES
from pdtriage.masking.substitution import MASK, Rule
from pdtriage.masking.variables import mask_dumps

__all__ = ["MASK", "masked_text"]


def masked_text(text: str) -> tuple[str, int]:
    """`text` with its secrets masked, and their number. The number of lines stays."""
    count = 0

    def _mask(secret: str) -> str:
        nonlocal count
        count += 1
        return "\n".join(MASK if line.strip() else line for line in secret.split("\n"))

    folded = text.casefold()
    for words, substitute in _RULES:
        if any(word in folded for word in words):
            text = substitute(text, _mask)
    return text, count


_DUMPS: Rule = (("{", "="), mask_dumps)
_RULES: tuple[Rule, ...] = (*PRIVATE_KEYS, _DUMPS, *SHAPES, *COMMANDS, *NAMES, *PROSE)
"""In this order: what is surest comes first, and nothing is masked twice."""
