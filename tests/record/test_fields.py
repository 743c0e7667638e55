"""JSON of strangers is limited and cleaned before anybody looks at it."""

from __future__ import annotations

import json

import pytest

from pdtriage.record.fields import MAX_MESSAGE, decode_message


def test_messages_are_cleaned() -> None:
    told = {
        "text": "red \x1b[31m and \u202e back\r",
        "deep": [[[[[[[[[[1]]]]]]]]]],
        "many": list(range(10_000)),
        "long": "x" * 100,
        "huge": 10**30,
        "k" * 999: True,
    }
    cleaned = decode_message(json.dumps(told))
    assert cleaned is not None
    assert "\x1b" not in str(cleaned)
    assert "\u202e" not in str(cleaned)
    assert cleaned["huge"] is None
    assert len(cleaned["many"]) == 512  # type: ignore[arg-type]
    assert max(len(key) for key in cleaned) == 200
    assert "1" not in str(cleaned["deep"])


@pytest.mark.parametrize("text", ["", "7", "[]", "{", '"x"', "[" * 50_000, "x" * (2 * MAX_MESSAGE)])
def test_what_is_no_message_is_dropped(text: str) -> None:
    assert decode_message(text) is None
