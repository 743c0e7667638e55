"""The names a script may rely on, and that they cost nothing until they are used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pdtriage


@pytest.mark.parametrize("name", pdtriage.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(pdtriage, name) is not None


def test_a_mapper_has_two_public_names() -> None:
    assert pdtriage.mapper_of is pdtriage.mapping.mapper_of


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = pdtriage.nope


def test_importing_it_loads_nothing_else() -> None:
    code = "import sys, pdtriage; print([n for n in sys.modules if n.startswith('pdtriage.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
