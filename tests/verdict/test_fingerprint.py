"""Given one failure seen twice, when fingerprinted, then equal; given another, then different."""

from __future__ import annotations

import pytest

from pdtriage.model import Frame
from pdtriage.verdict.fingerprint import fingerprint


def printed(text: str, frame: Frame | None = None, signature: str = "data.errno5") -> str:
    return fingerprint(signature, "data.io", text, frame)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Error at 0x7f00aa on 10.0.0.1:6070", "Error at 0x1 on 10.9.8.7:1"),
        ("OSError: [Errno 5] '/home/a/job1/x.jpg'", "OSError: [Errno 5] '/srv/b/x.jpg'"),
        ("W0101 10:00:00.000001  17 a.cc:9] lost", "W1231 23:59:59.999999  4242 a.cc:9] lost"),
        ("step 17: killed pid 4242", "step 90210: killed pid 7"),
    ],
)
def test_same_failure(one: str, other: str) -> None:
    assert printed(one) == printed(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("KeyError: 'mask'", "KeyError: 'label'"),
        ("cannot read a.jpg", "cannot write a.jpg"),
    ],
)
def test_other_failure(one: str, other: str) -> None:
    assert printed(one) != printed(other)


def test_the_checkout_does_not_matter_but_the_function_does() -> None:
    here = printed("x", Frame("/home/a/train.py", 10, "read"))
    assert here == printed("x", Frame("/ci/build/train.py", 12, "read"))
    assert here != printed("x", Frame("/home/a/train.py", 10, "write"))


def test_versioned() -> None:
    assert printed("x").startswith("1:")
