"""What people are told when something cannot be done."""

from __future__ import annotations

import pytest

import pdtriage
from pdtriage.support import exit_codes
from pdtriage.support.errors import NotAvailableError, UserError, missing_package
from pdtriage.support.language import Text

WHY = Text("There is no flag --gpu.", "没有 --gpu 这个参数。")
REMEDY = Text("Did you mean --gpus?", "是不是 --gpus？")


def test_all_of_an_error_is_its_message_its_remedy_and_its_notes() -> None:
    note = Text("one file was damaged", "有一个文件已损坏")

    error = UserError(WHY, REMEDY, notes=[note, note])

    assert str(error) == WHY.en
    assert error.text.en == f"{WHY.en} {REMEDY.en}\n  {note.en}"
    assert error.text.zh == f"{WHY.zh}{REMEDY.zh}\n  {note.zh}"


def test_an_error_without_a_remedy_is_its_message() -> None:
    assert UserError(WHY).text == WHY


def test_an_error_carries_its_exit_code() -> None:
    assert UserError(WHY).exit_code == exit_codes.USAGE
    assert UserError(WHY, exit_code=exit_codes.NOTHING).exit_code == exit_codes.NOTHING
    assert pdtriage.NothingToAnalyse(WHY).exit_code == exit_codes.NOTHING


def test_those_who_use_the_package_catch_what_is_not_installed() -> None:
    with pytest.raises(pdtriage.NotAvailableError, match=r"pip install 'pdtriage\[s3\]'") as caught:
        raise missing_package("s3://bucket", "pdtriage[s3]")
    assert type(caught.value) is NotAvailableError
    assert isinstance(caught.value, UserError)
