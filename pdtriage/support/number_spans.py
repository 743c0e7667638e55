"""Many numbers in few words: `0-3, 5, 7`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MOST_SPANS = 16


def numbers(values: Iterable[int]) -> str:
    """`0-3, 5, 7` for 0, 1, 2, 3, 5, 7; the middle is left out where it would fill a page."""
    known = set(values)
    shown = spans(known)
    if len(shown) > MOST_SPANS:
        shown = [*shown[: MOST_SPANS - 2], "...", f"{shown[-1]} [{len(known)}]"]
    return ", ".join(shown)


def first_numbers(values: Sequence[int]) -> str:
    """`4-7`, or the first few one by one."""
    if len(values) > 1 and values[-1] - values[0] == len(values) - 1:
        return f"{values[0]}-{values[-1]}"
    return ", ".join(map(str, values[:8])) + (" …" if len(values) > 8 else "")


def spans(values: Iterable[int]) -> list[str]:
    """`0-3` and `5`, in their order; all of them."""
    found: list[list[int]] = []
    for value in sorted(set(values)):
        if found and value == found[-1][1] + 1:
            found[-1][1] = value
        else:
            found.append([value, value])
    return [_span(first, last) for first, last in found]


def _span(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}, {last}" if last == first + 1 else f"{first}-{last}"
