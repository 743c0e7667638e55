"""A few of the hostile acts of `make torture`, in every `make test`."""

from __future__ import annotations

import pytest

from .strangers import meet


@pytest.mark.parametrize("secret", [True, False])
@pytest.mark.parametrize("failing", [True, False])
def test_strangers_who_were_there_first_change_nothing(*, secret: bool, failing: bool) -> None:
    harm, done, _ = meet(12, f"{secret}/{failing}", secret=secret, failing=failing)
    assert not harm, harm
    assert done.total() == 12
