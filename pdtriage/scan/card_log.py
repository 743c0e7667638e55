"""`<job>.gpu.log`: what the cards of a node did while its job ran, as the launcher asked them.

After two lists of cards and processes every line tells of one card: its number, how busy it is in
per cent, megabytes in all, in use and free, and the time of the machine's clock.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdtriage.model import CardSample
from pdtriage.scan.clock import days_to_month

MOST_SAMPLES = 60
"""Of each card."""
MOST_CARDS = 64
_LINE = re.compile(
    rb"^(\d{1,3}), ?(\d{1,3}), ?(\d{1,9})(?:\.\d+)?, ?(\d{1,9})(?:\.\d+)?, ?[\d.]{1,20}, ?"
    rb"(\d{4})[-/](\d\d)[-/](\d\d) (\d\d):(\d\d):(\d\d)",
    re.MULTILINE,
)


def card_samples(raw: bytes) -> tuple[CardSample, ...]:
    """A few samples of every card, spread over the log, among them the first, the last and the one
    with most memory in use."""
    cards: dict[int, list[CardSample]] = {}
    for found in _LINE.finditer(raw):
        card, busy, total, used, year, month, day, hour, minute, second = map(int, found.groups())
        if not (1 <= month <= 12 and 1 <= day <= 31 and busy <= 100):
            continue
        days = days_to_month(year, month) + day - 1
        time = float(((days * 24 + hour) * 60 + minute) * 60 + second)
        if card in cards or len(cards) < MOST_CARDS:
            cards.setdefault(card, []).append(CardSample(time, card, busy, used, total))
    return tuple(sorted(sample for own in cards.values() for sample in _spread(own)))


def _spread(samples: Sequence[CardSample]) -> list[CardSample]:
    if len(samples) <= MOST_SAMPLES:
        return list(samples)
    fullest = max(range(len(samples)), key=lambda place: samples[place].used_mb)
    last = len(samples) - 1
    kept = {last * place // (MOST_SAMPLES - 2) for place in range(MOST_SAMPLES - 1)} | {fullest}
    return [samples[place] for place in sorted(kept)]
