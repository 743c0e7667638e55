"""Given a short log in which nothing alarming stands, when it is read the quick way, then its facts
are those that `FileScanner` tells."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdtriage.knowledge import load_knowledge
from pdtriage.model import FileFacts, LogFile
from pdtriage.scan import Engine, FileScanner, scan
from pdtriage.scan import scan_file as scanning
from pdtriage.scan.scan_file import begin_scan
from pdtriage.sources import find

from .builders import MODIFIED, engine

SCENARIOS = Path(__file__).parents[1] / "fixtures/scenarios"
STEP = b"[2023-11-14 22:13:25,266] [    INFO] - loss: 2.5, learning_rate: 0.1, global_step: %d"
LOG = SCENARIOS / "data-errno5-worker/log/workerlog.1"
LINES = (
    b"I1114 22:13:20.114021  8805 tcp_utils.cc:181] The server starts to listen",
    b"I1114 22:13:21.114021  8806 tcp_utils.cc:181] Another process",
    STEP,
    STEP.replace(b"-11-", b"-13-"),
    b"[1,3]<stdout>:" + STEP,
    b"epoch 0:  22%|##   | %d/5000 [00:41<01:10, 0.14it/s]\r",
    b"epoch 0:  22%|##   | 10/5000 [00:41<01:10]\repoch 0:  22%|##   | %d/5000 [00:41<01:10]",
    b"epoch: 3, step: %d, loss: 1e-5",
    "训练日志：第 0 轮，第 %d 步".encode(),
    b"reader: nothing of interest",
    b"\x1b[31mcoloured\x1b[0m epoch 1 step %d loss 0.5",
    b"\xff\xfe cannot be decoded, step: %d",
    b"x" * 9_000,
    b"",
)


def in_full(file: LogFile, text: bytes) -> FileFacts:
    scanner = FileScanner(file, engine())
    scanner.feed(text)
    return scanner.facts()


def made(choices: list[tuple[bytes, int]], times: int) -> bytes:
    return b"\n".join(line.replace(b"%d", b"%d" % step) for line, step in choices) * times


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(LINES), st.integers(0, 99_999)), max_size=40),
    st.integers(1, 12),
    st.booleans(),
)
def test_any_quiet_log(choices: list[tuple[bytes, int]], times: int, ends: bool) -> None:
    text = made(choices, times) + b"\n" * ends
    file = LogFile("workerlog.0", "worker", "", 0, size=len(text), modified=MODIFIED)
    assert not engine().detector.find(text)
    assert scan(file, [text], engine()) == in_full(file, text)


@pytest.mark.parametrize(
    ("steps", "at_a_glance"),
    [(range(2_000), True), ([*range(500, 2_000), *range(300)], False), (range(0), False)],
    ids=["rising", "falling back", "none"],
)
def test_what_a_glance_tells_is_not_looked_for(
    steps: Sequence[int], at_a_glance: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = b"".join(STEP % step + b"\n" for step in steps)
    text = said or b"nothing of interest\n" * 1_000
    file = LogFile("workerlog.0", "worker", "", 0, size=len(text), modified=MODIFIED)
    expected = in_full(file, text)
    asked: list[object] = []
    sample = scanning.sample
    monkeypatch.setattr(scanning, "sample", lambda *all: asked.append(all) or sample(*all))
    assert scan(file, [text], engine()) == expected
    assert [step.step for step in expected.progress[-1:]] == [*steps][-1:]
    assert bool(asked) is not at_a_glance


def test_every_quiet_log_of_the_scenarios() -> None:
    seen = 0
    for source in find([SCENARIOS]).sources:
        text = b"".join(source.chunks())
        if source.file.kind != "worker" or engine().detector.find(text):
            continue
        seen += 1
        assert scan(source.file, [text], engine()) == in_full(source.file, text), source.file.path
    assert seen > 1


def test_files_may_be_begun_before_any_is_told() -> None:
    sources = [s for s in find([SCENARIOS]).sources if s.file.kind in ("worker", "console")][:60]
    tell = [begin_scan(source.file, source.chunks(), engine()) for source in sources]
    told = [one() for one in tell]
    assert told == [scan(source.file, source.chunks(), engine()) for source in sources]


def test_a_line_with_and_without_a_prefix_of_its_log() -> None:
    """The second log is of a wrapper, which the first one only quotes: not the same places."""
    wrapped = b"[1,3]<stdout>:" + STEP % 1234
    quoting = [b"nothing of interest"] * 40 + [wrapped]
    fresh = Engine(load_knowledge())
    for lines in (quoting, [wrapped] * 40):
        text = b"\n".join(lines)
        file = LogFile("workerlog.0", "worker", "", 0, size=len(text), modified=MODIFIED)
        last = scan(file, [text], fresh).progress[-1]
        assert (last.step, last.loss) == (1234, 2.5)


def test_what_a_glance_has_read_does_not_tell_how_the_first_line_is_read() -> None:
    """It fits two counters, and the last lines fit one of them."""
    first = b"global step 100, epoch: 1, batch: 99, loss: 0.5\n"
    last = b"epoch: 0 step: 11 loss: 0.52\nepoch: 0 step: 12 loss: 0.52\n"
    text = first + b"nothing of interest here\n" * 500 + last
    file = LogFile("workerlog.0", "worker", "", 0, size=len(text), modified=MODIFIED)
    facts = scan(file, [text], engine())
    assert facts == in_full(file, text)
    assert facts.progress[0].step == 100


def test_where_steps_have_no_time_glog_behind_the_first_tells_it() -> None:
    text = b"step: 1, loss: 1.0\nI1101 10:00:00.000001  77 a.cc:1] x\n" + b"".join(
        b"step: %d, loss: 1.0\n" % step for step in range(2, 900)
    )
    file = LogFile("workerlog.0", "worker", "", 0, size=len(text), modified=MODIFIED)
    facts = scan(file, [text], engine())
    assert facts == in_full(file, text)
    assert [(stamp.line, stamp.pid) for stamp in facts.stamps] == [(2, 77)]


def test_steps_without_a_time_do_not_hide_the_time_of_a_later_one() -> None:
    text = b"step: 1, loss: 1.0\n" * 4 + b"[2023-11-14 22:13:20,000] step: 5, loss: 1.0\n"
    file = LogFile("workerlog.0", "worker", "", 0, size=len(text), modified=MODIFIED)
    assert scan(file, [text], engine()).progress[-1].time == MODIFIED


@pytest.mark.parametrize("size", [1, 50, 1000, 1 << 20])
def test_a_log_scanned_ahead_has_the_same_facts(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()
    monkeypatch.setattr(scanning, "WORTH_A_THREAD", 0)
    monkeypatch.setattr(scanning, "PIECE", 0)

    def chunks() -> Iterator[bytes]:
        threads.add(threading.get_ident())
        yield from (raw[start : start + size] for start in range(0, len(raw), size))

    raw = LOG.read_bytes()
    file = LogFile("workerlog.1", "worker", "", 1, size=len(raw))
    told: list[int] = []
    expected: FileFacts = scan(file, [raw], engine())
    assert repr(scan(file, chunks(), engine(), told.append)) == repr(expected)
    assert sum(told) == len(raw)
    assert threads != {threading.get_ident()}
