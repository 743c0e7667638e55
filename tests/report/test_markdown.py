"""Markdown as GitHub would read it: what is ours is marked up, what the log said is not."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from pdtriage.model import Text
from pdtriage.report.formats.markdown import as_markdown, block, cell, code, markdown_prose
from tests.report import reports
from tests.report.writing import all_written, written

MARKDOWN = MarkdownIt("gfm-like", {"linkify": False})


def test_the_first_lines_answer() -> None:
    lines = written(reports.failed(), "markdown").splitlines()
    assert lines[0] == "## FAILED: rank 1 of 4, host 192.168.0.12, gpu:1"
    assert lines[2] == "**DataLoader I/O error: reading a file failed with errno 5**"
    assert lines[4] == "`log/workerlog.1:312`"


def test_everything_a_reader_needs_is_there() -> None:
    text = written(reports.failed(), "markdown")
    for part in (
        "> 312  OSError: [Errno 5]",
        "`/opt/train/reader.py:31` (`__getitem__`)",
        "1. Read the file by hand",
        "**Victims**: ranks 2, 3 (stopped by the launcher); rank 0 (lost a peer)",
        "likely: ranks 0, 2 and 3 name rank 1",
        "| rank 1 | 1 | failed, exit 1 |",
        "log/workerlog.9 is empty",
        "1:0f3c9a7e5b21d4c8",
    ):
        assert part in text, part


def test_chinese() -> None:
    text = written(reports.in_chinese(reports.failed()), "markdown")
    assert text.startswith("## 失败：rank 1（共 4 个），主机 192.168.0.12")
    assert "**怎么办**" in text


def test_nothing_known() -> None:
    assert "the logs do not say how this run ended" in written(reports.empty(), "markdown")


def test_it_is_left_out_from_the_end_and_said() -> None:
    whole = as_markdown(reports.large())
    cut = as_markdown(reports.large(), most_bytes=3000)
    assert len(whole.encode()) > 3000 >= len(cut.encode())
    assert cut.startswith("## FAILED")
    assert "did not fit" in cut
    assert "did not fit" not in whole


def test_a_large_job_is_a_short_page() -> None:
    assert len(written(reports.large(), "markdown").encode()) < 20_000


def test_all_runs() -> None:
    text = all_written([reports.failed(), reports.succeeded()], "markdown")
    assert text.index("## FAILED") < text.index("---") < text.index("## SUCCEEDED")


@pytest.mark.parametrize(
    "text",
    [
        "[click](https://evil.example)",
        "![x](https://evil.example/x.png)",
        "<script>alert(1)</script>",
        "**bold** _it_ ~~no~~ # head",
        "1. list",
        "- list",
        "> quote",
        "a | b",
        "\\[x\\](y)",
        "&lt;b&gt; &amp;",
        "``` fence",
        "<https://evil.example>",
    ],
)
def test_prose_shows_what_was_said_and_no_more(text: str) -> None:
    html = MARKDOWN.render(markdown_prose(text))
    plain = html.replace("<p>", "").replace("</p>", "").replace("<code>", "").replace("</code>", "")
    assert "<" not in plain
    back = plain.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"')
    assert back.replace("&amp;", "&").strip() == text


def test_mentions_and_addresses_become_code() -> None:
    """GitHub links them after Markdown is done, so escaping them does not help."""
    assert markdown_prose("ask @bob about #12") == "ask `@bob` about `#12`"
    assert markdown_prose("see https://evil.example") == "see `https://evil.example`"


def test_code_and_blocks_outgrow_backticks_inside() -> None:
    assert MARKDOWN.render(code("a ``` b")) == "<p><code>a ``` b</code></p>\n"
    assert MARKDOWN.render(block(["```", "</code><b>"])) == (
        '<pre><code class="language-text">```\n&lt;/code&gt;&lt;b&gt;\n</code></pre>\n'
    )


def test_every_frame_of_a_stack_is_a_line() -> None:
    fences = [t.content for t in MarkdownIt().parse(written(reports.hung(), "markdown"))]
    stacks = [text for text in fences if "rank 1 (pid" in text]
    assert stacks
    assert all(line.count("(") == 1 for text in stacks for line in text.split("\n") if line)


def test_a_bar_does_not_end_a_cell() -> None:
    table = f"| a |\n|---|\n| {cell(markdown_prose('x | y'))} {cell(code('p | q'))} |"
    assert MARKDOWN.render(table).count("<td>") == 1


def test_masks_are_shown_as_they_are() -> None:
    report = reports.failed()._replace(notes=(Text("token *** seen", "token *** seen"),))
    assert "token \\*\\*\\* seen" in written(report, "markdown")
