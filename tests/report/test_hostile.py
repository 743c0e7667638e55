"""A log written by a stranger is inert text in every format: a test for each pair."""

from __future__ import annotations

import io
import json
import re
import tarfile
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from pdtriage.analysis.pipeline import analyze
from pdtriage.model import (
    Attempts,
    Baseline,
    Brief,
    Difference,
    Evidence,
    Frame,
    Moment,
    Report,
    Restart,
    Standstill,
    Text,
)
from pdtriage.report import FORMATS, Options
from tests.report import reports
from tests.report.test_ci_formats import commands
from tests.report.writing import all_written, written

MARK = "xyzzy"
HOSTILE = {
    "colours": f"\x1b[31m{MARK}\x1b[2J\x1b[H",
    "title": f"\x1b]0;{MARK}\x07\x1b]8;;http://evil.example\x1b\\{MARK}",
    "clipboard": f"\x1b]52;c;ZXZpbA==\x07{MARK}",
    "c1": f"\x9b31m\x9d0;x\x9c{MARK}\x85",
    "bell": f"\x07\x08\x0c\x0b\x7f{MARK}",
    "html": f"<b onclick=x>{MARK}</b><img src=x onerror=y><iframe src=//evil.example>",
    "script": f"</script></style></textarea><script>{MARK}</script>",
    "attribute": f"\"' onmouseover='{MARK}' x=\"",
    "entity": f"&lt;script&gt;{MARK}&amp;&#x3c;",
    "command": f"::error file=a,line=1::{MARK}",
    "mask": f"::add-mask::{MARK}",
    "old-command": f"##[error]{MARK} ##vso[task.setvariable] ##teamcity[x]",
    "stop": f"::stop-commands::{MARK}",
    "newline-command": f"x\n::error::{MARK}\r\n::set-output name=a::b",
    "percent": f"%0A::error::{MARK}%0D%25",
    "xml-controls": f"\x00\x01\x02\x1f\ufffe\uffff{MARK}\ud800",
    "cdata": f"]]>{MARK}<![CDATA[<!DOCTYPE x [<!ENTITY a 'b'>]>",
    "link": f"[{MARK}](javascript:alert(1)) ![x](https://evil.example/x.png)",
    "reference": f"[{MARK}]: https://evil.example\n\n[{MARK}] <https://evil.example> @everyone #1",
    "fence": f"```\n</details>\n# {MARK}\n~~~",
    "table": f"a | {MARK} | b\n|---|\n\\|",
    "rtl": f"\u202egnp.{MARK}\u2066\u200f\u061c\u2069",
    "invisible": f"\u200b\u2060\ufeff{MARK}\U000e0041",
    "placeholder": f"{{0}} {MARK} [x](1) \\",
    "long": MARK + "A" * 1990,
    "long-words": MARK + " word" * 390,
    "many-lines": MARK + "\n" * 1990,
    "many-ticks": "`" * 1990 + MARK,
}
# An event keeps at most 2,000 characters of a line; whole logs with longer ones come below.
NAMES = ("text", "json", "markdown", "github", "gitlab", "junit", "sarif", "html")
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
MARKDOWN = MarkdownIt("gfm-like", {"html": True, "linkify": False})
OUR_MARKDOWN_TAGS = {
    *("h2", "h3", "p", "strong", "em", "code", "pre", "ol", "ul", "li", "hr"),
    *("table", "thead", "tbody", "tr", "th", "td", "details", "summary", "sub"),
}


def test_every_format_is_here() -> None:
    assert set(NAMES) == set(FORMATS)


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("name", NAMES)
def test_inert(name: str, kind: str, tmp_path: Path) -> None:
    report = _everywhere(HOSTILE[kind])
    summary = tmp_path / "summary.md"
    for text in (
        written(report, name, Options(summary=summary)),
        all_written([report, report], name),
    ):
        assert not UNSEEN.search(text)
        assert len(text) < 600_000
        assert MARK in text
        CHECKS[name](text)
    if name == "github":
        _markdown(summary.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_inert_from_a_log_to_the_end(name: str, hostile_job: Report) -> None:
    """Through the whole pipeline: lines of 10 MB, and all kinds around the evidence."""
    assert hostile_job.root_causes[0].signature == "data.errno5"
    text = written(hostile_job, name)
    assert not UNSEEN.search(text)
    assert len(text) < 400_000
    CHECKS[name](text)


@pytest.mark.parametrize("name", NAMES)
def test_inert_from_a_bomb_and_a_climbing_archive(name: str, archived_job: Report) -> None:
    assert archived_job.root_causes[0].signature == "data.errno5"
    CHECKS[name](written(archived_job, name))


def _text(text: str) -> None:
    for line in text.split("\n"):
        assert not line.strip().startswith("::"), line
        assert not re.search(r"##\w*\[", line), line


def _json(text: str) -> None:
    json.loads(text)
    _text(text)


def _markdown(text: str) -> None:
    _text(text)
    tags = Tags(MARKDOWN.render(text))
    assert {tag for tag, _ in tags.found} <= OUR_MARKDOWN_TAGS
    for _, attributes in tags.found:
        assert not set(attributes) - {"class", "start", "style"}


def _github(text: str) -> None:
    obeyed = commands(text)
    assert 1 <= len(obeyed) <= 10
    for line in obeyed:
        assert re.match(r"::(error|notice) (file=[^,:]*,line=\d+,)?title=[^,:]*::", line), line
    assert text.count("::stop-commands::") >= 1


def _junit(text: str) -> None:
    _text(text)
    tags = {element.tag for element in ElementTree.fromstring(text).iter()}
    assert tags <= {
        *("testsuites", "testsuite", "testcase", "properties", "property"),
        *("failure", "error", "skipped"),
    }


def _html(text: str) -> None:
    _text(text)
    found = Tags(text).found
    assert sum(tag == "script" for tag, _ in found) == 1
    for tag, attributes in found:
        assert tag not in ("img", "iframe", "object", "embed", "link", "base", "form"), tag
        for name in attributes:
            assert not name.startswith("on"), (tag, name)
            assert name not in ("style", "src"), (tag, name)


CHECKS: dict[str, Callable[[str], None]] = {
    "text": _text,
    "json": _json,
    "gitlab": _json,
    "sarif": _json,
    "markdown": _markdown,
    "github": _github,
    "junit": _junit,
    "html": _html,
}


class Tags(HTMLParser):
    """All tags of a page with the names of their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, list[str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, [name for name, _ in attrs]))


def _everywhere(evil: str) -> Report:
    """A report that says it in every place a log can reach."""
    both = Text(evil, evil)
    evidence = Evidence(evil, 7, 0, evil, (evil, evil), (evil,))
    cause = reports.io_error()._replace(
        signature=evil[:300],
        title=both,
        host=evil,
        device=evil,
        why=(both,),
        evidence=(evidence, evidence),
        frame=Frame(evil, 3, evil),
        fields={"path": evil, evil[:50]: evil},
        advice=(both, Text(f"`{evil}`", f"`{evil}`")),
    )
    report = reports.failed()
    brief = Brief(both, evil[:50], evil[:50], "worker", 1, (1,), evil, evil[:50])
    again = report.runs[-1]._replace(cause=brief, restart=Restart(True, both))
    return report._replace(
        runs=(again, again._replace(index=again.index + 1, attempt=1)),
        run=again.index + 1,
        attempts=Attempts(1, (again.index, again.index + 1), 2, 2, True, both),
        job=report.job._replace(id=evil),
        root_causes=(cause, cause._replace(rank=None, ranks=(), local_rank=2)),
        victims=tuple(victim._replace(host=evil, rank=None) for victim in report.victims),
        ranks=tuple(
            row._replace(
                host=evil, device=evil, moments=(Moment(9.0, 1, evil, both),) * (row.rank == 1)
            )
            for row in report.ranks
        ),
        timeline=(Moment(1.0, 1, evil, both), Moment(None, None, "error", both, "launcher")),
        notes=(both,),
        baseline=Baseline(1, evil),
        differences=(Difference("printed", both, evil, evil, evil),),
        standstill=_standing_still(evil),
    )


def _standing_still(evil: str) -> Standstill:
    """Stacks with the text in every frame; rank 1 and a worker of it keep rank 0 waiting."""
    taken = reports.hung().standstill
    assert taken is not None
    stacks = (
        stack._replace(frames=(*stack.frames, Frame(evil, 3, evil))) if stack.rank == 1 else stack
        for stack in taken.stacks
    )
    return taken._replace(stacks=tuple(stacks), notes=(Text(evil, evil),))


@pytest.fixture(scope="module")
def hostile_job(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("job") / "log"
    folder.mkdir()
    evil = [text.encode("utf-8", "surrogatepass") for text in HOSTILE.values()]
    error = b"OSError: [Errno 5] Input/output error: '"
    lines = [b"step 1", *evil, b"B" * 10_000_000, b"Traceback (most recent call last):"]
    lines += [b'  File "::error::/[x](y).py", line 3, in <script>', *evil]
    lines += [error + HOSTILE["html"].encode() + HOSTILE["colours"].encode() + b"'"]
    lines += [error + evil[9] + b"'", *evil, b"::error::after"]
    # what ends it, or it would have been survived
    lines += [b"Traceback (most recent call last):", b'  File "/a.py", line 3, in <module>']
    lines += [error + evil[9] + b"'"]
    (folder / "workerlog.0").write_bytes(b"step 1\n")
    (folder / "workerlog.1").write_bytes(b"\n".join(lines) + b"\n")
    return analyze(folder)


@pytest.fixture(scope="module")
def archived_job(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("archives") / "a" / "b"
    folder.mkdir(parents=True)
    failure = b"Traceback (most recent call last):\nOSError: [Errno 5] Input/output error\n"
    target = folder / "job"
    target.mkdir()
    with zipfile.ZipFile(target / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("log/workerlog.0", b"\0" * 4_000_000)
        archive.writestr("../../evil/workerlog.1", failure)
    with tarfile.open(target / "climb.tar", "w") as tar:
        for name in ("../../evil/workerlog.2", "/evil/workerlog.3"):
            member = tarfile.TarInfo(name)
            member.size = len(failure)
            tar.addfile(member, io.BytesIO(failure))
    (target / "workerlog.0").write_bytes(failure)
    report = analyze(target)
    assert not list(folder.parent.parent.rglob("evil"))
    return report
