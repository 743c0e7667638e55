"""Lines of fixed width, Chinese included."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pdtriage.support.text_width import columns, cut, cut_list, pad, wrap


def test_a_chinese_character_takes_two_columns() -> None:
    assert columns("rank 1 失败") == 11
    assert columns("e\u0301") == 1
    assert pad("失败", 6) == "失败  "


def test_cut_shows_that_it_cut() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefg", 6) == "abc..."
    assert columns(cut("失败失败失败", 9)) <= 9


def test_a_list_is_cut_between_what_it_lists() -> None:
    assert cut_list("ranks 0, 3, 12", 14) == "ranks 0, 3, 12"
    assert cut_list("ranks 0, 3, 12, 24", 14) == "ranks 0, ..."
    assert cut_list("ranks 0, 3, 12, 24", 15) == "ranks 0, 3, ..."
    assert cut_list("nothing listed here", 10) == "nothing..."


def test_words_stay_whole_and_long_ones_are_broken() -> None:
    assert wrap("one two three", 8) == ["one two", "three"]
    assert wrap("/a/very/long/path", 8) == ["/a/very/", "long/pat", "h"]
    assert wrap("see /a/very/long/path, then go", 8, paths=True) == [
        "see",
        "/a/very/long/path,",
        "then go",
    ]
    assert wrap("查看 `df -h`；errno 5 来自存储", 12) == [
        "查看",
        "`df -h`；",
        "errno 5 来自",
        "存储",
    ]
    assert wrap("x" * 20, 8, paths=True) == ["x" * 8, "x" * 8, "xxxx"]


def test_chinese_punctuation_does_not_begin_a_line() -> None:
    lines = wrap("读取数据失败，请检查挂载。然后重试。", 12)
    assert all(line[0] not in "，。" for line in lines)
    assert "".join(lines) == "读取数据失败，请检查挂载。然后重试。"


def test_indentation_of_code_is_kept() -> None:
    assert wrap("    return f.read()", 40) == ["    return f.read()"]


def test_most_lines() -> None:
    assert wrap("aa bb cc dd ee", 5, most=2) == ["aa bb", "cc..."]
    assert wrap("", 10) == [""]


@given(st.text(), st.integers(4, 100))
def test_nothing_is_wider_than_asked_and_nothing_is_lost(text: str, width: int) -> None:
    text = text.replace("`", "'")  # commands stay whole
    lines = wrap(text, width)
    assert all(columns(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(st.text(), st.integers(4, 60), st.integers(1, 3))
def test_at_most(text: str, width: int, most: int) -> None:
    lines = wrap(text.replace("`", "'"), width, most)
    assert len(lines) <= most
    assert all(columns(line) <= width for line in lines)


def test_where_no_room_is_left_nothing_is_lost() -> None:
    assert "".join(wrap("a word", -3)).replace(" ", "") == "aword"
