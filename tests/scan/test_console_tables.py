"""Given what a launcher prints of a launch, when it is damaged, then it costs no time."""

from __future__ import annotations

import time

import pytest

from pdtriage.scan.console_tables import console_blocks

RULE = b"=" * 60
TABLE = b"\n".join(
    [
        b"    |        Distributed Envs                 Value                 |",
        b"    +" + b"-" * 60 + b"+",
        b"    |      PADDLE_TRAINER_ID                    0                  |\r",
        b"    |     PADDLE_TRAINERS_NUM                   2                  |",
        b"    |   PADDLE_CURRENT_ENDPOINT          127.0.0.1:6070            |",
        b"    +" + RULE + b"+",
    ]
)


def test_the_rows_of_a_table() -> None:
    [block] = console_blocks(TABLE)
    assert dict(block.values) == {
        "PADDLE_TRAINER_ID": "0",
        "PADDLE_TRAINERS_NUM": "2",
        "PADDLE_CURRENT_ENDPOINT": "127.0.0.1:6070",
    }


@pytest.mark.parametrize("blank", [b"\n", b" ", b"\t", b" \n", b"\r", b"_", b"a_", b"a  ", b"-"])
@pytest.mark.parametrize("before", [b"", b"a_b  ", b"a_b  c"])
def test_a_page_of_nothing_costs_no_time(before: bytes, blank: bytes) -> None:
    began = time.process_time()
    console_blocks(b"Distributed Envs  Value\n" + before + blank * 4000 + b"|x\n")
    assert time.process_time() - began < 2
