"""No text keeps the masking busy: ten times as much of it takes about ten times as long."""

from __future__ import annotations

import time

import pytest

from pdtriage.masking import commands, names, prose, shapes, value, variables
from pdtriage.masking.redact import masked_text
from tests.masking.grammar import planted_texts
from tests.masking.harmless import harmless_texts

SMALL, LARGE = 1_600, 16_000
MOST = 40
"""Times as long for ten times as much; what is quadratic takes a hundred times as long."""
PIECES = [
    *(
        "a",
        "0",
        " ",
        "\n",
        "\t",
        "'",
        '"',
        "\\",
        "\\'",
        "=",
        ":",
        ".",
        "-",
        "_",
        "/",
        "@",
        "(",
        "{",
    ),
    *(
        "{'a':'b',",
        "{'a':'",
        "'a': 'b' ",
        "A=1\n",
        "A=",
        "key=",
        "key: ",
        "token ",
        "password",
        "token",
    ),
    *(
        "password=",
        "password: ",
        "password ",
        "password='",
        "--password ",
        "--token\t",
        "密码",
        "密码：",
    ),
    *(
        "密钥 ",
        "令牌(",
        "eyJ-",
        "eyJ",
        "eyJa.",
        "sk-",
        "sk-a-",
        "xoxb-",
        "SG.",
        "a://",
        "a://a:",
        "a:b@",
    ),
    *(
        "…",
        "sk-…",
        "?key=",
        "&sig=",
        "bearer ",
        "cookie: a",
        "authorization: ",
        "root:a@tcp",
        "ugi=a,",
    ),
    *(
        "wandb ",
        "wandb login ",
        "curl -u ",
        "curl -ua:",
        "sshpass -p",
        "mysql -p",
        "mysql ",
        "redis-cli ",
    ),
    *(
        "mongo -p",
        "docker login ",
        "docker ",
        "login a password ",
        "echo a | ",
        "echo ",
        "mc alias set ",
    ),
    *(
        "oss2.Auth(",
        "oss2.Auth('a',",
        "a.b.c.",
        "x.login(",
        "auth=(",
        "environ['A']='",
        "AUTH ",
        "pass:",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----\n",
        "-----BEGIN ",
        "A" * 64 + "\n",
        "Ab1" * 21 + "c\n",
        "name: a_token\n",
    ),
    *(
        "<name>a_token</name>",
        "<token>",
        "('token', '",
        "setenv A_TOKEN ",
        "dingtalk ",
        "/hook/",
        "SEC0",
    ),
    *(
        "identified by '",
        "a:5432:",
        "requirepass ",
        "--user a:",
        "--from-literal=a=",
        "aA0",
        "a1",
        "a,",
    ),
]
HEADS = ["", "password=", "key: 密码：wandb mysql "]


@pytest.mark.parametrize("piece", PIECES, ids=repr)
def test_repetition_costs_no_more_than_its_length(piece: str) -> None:
    for head in HEADS:
        for tail in ("", "…@"):
            text = head + piece * (LARGE // len(piece)) + tail
            if _seconds(text) > 0.25:  # far from what linear time takes
                less = head + piece * (SMALL // len(piece)) + tail
                assert _seconds(text) < MOST * max(_seconds(less), 0.001), (head, piece, tail)


def test_every_planted_text_may_be_repeated() -> None:
    for text in (*planted_texts(7, 80), *harmless_texts(7, 40)):
        for between in ("", " ", "\n"):
            several = (text.text + between) * (LARGE // 2 // len(text.text))
            if _seconds(several) > 0.5:
                less = (text.text + between) * (SMALL // 2 // len(text.text))
                assert _seconds(several) < MOST * max(_seconds(less), 0.001), text


def test_no_pattern_has_a_repetition_inside_of_one_without_a_bound() -> None:
    """Of what is ambiguous; those listed here take a mark that ends each turn."""
    rooms = (commands, names, prose, shapes, value, variables)
    patterns = [
        pattern
        for room in rooms
        for pattern in vars(room).values()
        if type(pattern).__name__ == "_LazyPattern"
    ]
    assert len(patterns) > 40
    for pattern in patterns:
        assert ")+)+" not in pattern._given[0]
        assert ")*)*" not in pattern._given[0]


def _seconds(text: str) -> float:
    began = time.process_time()
    masked_text(text)
    return time.process_time() - began
