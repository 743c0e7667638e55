"""The help of the verbs that take the launcher's flags."""

from __future__ import annotations

import pytest

from pdtriage.commands.doctor import _help as doctors
from pdtriage.launch.options.usage import help_text
from pdtriage.support.language import Language
from pdtriage.support.text_width import columns


@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_fits_a_terminal_of_80_columns(language: Language) -> None:
    for line in (*help_text(language).splitlines(), *doctors(language).splitlines()):
        assert columns(line) <= 80, line
