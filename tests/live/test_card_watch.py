"""What the driver tells of cards while a job runs; NVML is a stand-in here."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdtriage.analysis import pipeline
from pdtriage.analysis.cards import card_event_text
from pdtriage.launch.plan.nvml import Nvml
from pdtriage.live import card_watch
from pdtriage.live.card_watch import is_alarming, troubles
from pdtriage.model import CardEvent

from .conftest import Desk

MINUTES = 120.0
STAND_IN_LIBRARY = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
typedef struct { void *card; unsigned long long kind, number; unsigned a, b; } event_t;
static char path[4096];
static char *file(const char *what, long card) {
  snprintf(path, sizeof path, "%s/%s%ld", getenv("STAND_IN_CARDS"), what, card); return path; }
static long number(const char *what, long card) {
  FILE *f = fopen(file(what, card), "r"); long n = 0;
  if (f) { if (fscanf(f, "%ld", &n) != 1) n = 0; fclose(f); } return n; }
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 4; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **card) {
  *card = (void*)(long)(index + 100); return 0; }
int nvmlDeviceGetMemoryInfo(void *card, void *m) { return number("lost", (long)card - 100); }
int nvmlDeviceGetTotalEccErrors(void *card, int a, int b, unsigned long long *n) {
  *n = number("ecc", (long)card - 100); return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void *card, unsigned long long *n) {
  *n = number("slow", (long)card - 100); return 0; }
int nvmlEventSetCreate(void **set) { *set = (void*)1; return 0; }
int nvmlDeviceRegisterEvents(void *card, unsigned long long kind, void *set) {
  return kind == 8 ? 0 : 2; }
int nvmlEventSetWait_v2(void *set, event_t *e, unsigned patience) {
  for (unsigned waited = 0; waited < patience; waited += 20) {
    for (long card = 0; card < 4; card++) {
      long xid = number("xid", card);
      if (xid) {
        unlink(file("xid", card));
        e->card = (void*)(card + 100); e->kind = 8; e->number = xid; return 0; } }
    usleep(20000); }
  return 10; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nvml")
    source = folder / "stand_in.c"
    source.write_text(STAND_IN_LIBRARY)
    try:
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-w", "-o", folder / "libnvidia-ml.so.1", source], check=True
        )
    except OSError:
        pytest.skip("there is no C compiler")
    return folder / "libnvidia-ml.so.1"


@pytest.fixture
def cards(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, str, int] | None]:
    """Whatever happens to cards 3 and 1 by what lies in `tmp_path`; a look takes a moment."""
    monkeypatch.setenv("STAND_IN_CARDS", str(tmp_path))
    monkeypatch.setattr(card_watch, "LOOK_EVERY", 0.05)
    return troubles(Nvml(ctypes.CDLL(str(library))), ["gpu:3", "gpu:1"])


def told(
    cards: Iterator[tuple[str, str, int] | None], looks: int = 8
) -> list[tuple[str, str, int]]:
    found = []
    while looks:
        came = next(cards)
        looks -= came is None
        found += [came] if came is not None else []
    return found


def test_an_error_a_lost_card_and_memory_errors_are_told_once(
    cards: Iterator[tuple[str, str, int] | None], tmp_path: Path
) -> None:
    (tmp_path / "ecc3").write_text("2")
    (tmp_path / "xid2").write_text("31")  # no card of this job
    assert told(cards) == []
    (tmp_path / "xid3").write_text("79")
    (tmp_path / "ecc3").write_text("5")
    (tmp_path / "lost1").write_text("15")
    assert sorted(told(cards)) == [("gpu:1", "lost", 0), ("gpu:3", "ecc", 3), ("gpu:3", "xid", 79)]
    assert told(cards) == []


def test_a_card_that_is_slowed_down_for_a_moment_or_to_save_power_is_no_news(
    cards: Iterator[tuple[str, str, int] | None], tmp_path: Path
) -> None:
    (tmp_path / "slow3").write_text(str(0x04))
    (tmp_path / "slow1").write_text(str(0x20))
    assert told(cards, 2) == []
    (tmp_path / "slow1").write_text("0")
    assert told(cards) == []
    (tmp_path / "slow1").write_text(str(0x24))
    assert told(cards) == [("gpu:1", "slowed", 0x20)]


def test_a_card_that_reports_all_the_time_is_not_reported_all_the_time(
    cards: Iterator[tuple[str, str, int] | None], tmp_path: Path
) -> None:
    found = []
    for _ in range(3 * card_watch.MOST_OF_A_KIND):
        (tmp_path / "xid3").write_text("31")
        found += told(cards, 2)
    assert found == [("gpu:3", "xid", 31)] * card_watch.MOST_OF_A_KIND


def test_what_comes_with_every_killed_program_is_no_alarm() -> None:
    assert not is_alarming(CardEvent(0.0, "gpu:3", "xid", 45))
    assert is_alarming(CardEvent(0.0, "gpu:3", "xid", 79))
    assert is_alarming(CardEvent(0.0, "gpu:3", "lost"))
    text = card_event_text(CardEvent(0.0, "gpu:3", "xid", 79))
    assert (text.en, text.zh) == (
        "card 3: Xid 79, the card fell off the bus",
        "卡 3：Xid 79，显卡从总线上掉线",
    )


def test_an_error_while_the_job_runs_is_a_warning_and_on_the_timeline(
    desk: Desk, library: Path
) -> None:
    """The GPU wheel is a stand-in as well; everything else is real."""
    site = desk.folder / "site" / "paddlepaddle_gpu-3.3.1.dist-info"
    site.mkdir(parents=True)
    python = desk.folder / "python"
    python.write_text(
        f'#!/bin/sh\n[ "$1" = -c ] && exec echo {site.parent}\nexec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    desk.script(
        """
        print("epoch: 0, step: 1, loss: 0.5", flush=True)
        while not os.path.exists("go"):
            time.sleep(0.05)
        sys.exit(3 if rank == 0 else 0)
        """
    )
    run = desk.start(
        *("run", "--python", python, "--gpus=3,1", "train.py"),
        LD_LIBRARY_PATH=str(library.parent),
        STAND_IN_CARDS=str(desk.folder),
        PATH=f"{desk.folder}:{os.environ['PATH']}",
    )
    run.await_line("Watching Pod", MINUTES)
    (desk.folder / "xid3").write_text("79")
    run.await_line("card 3: Xid 79, the card fell off the bus", MINUTES)
    (desk.folder / "go").touch()
    assert run.finish(MINUTES).code == 3
    report = pipeline.analyze(desk.folder / "log")
    assert [(m.rank, m.text.en) for m in report.timeline if "Xid" in m.text.en] == [
        (0, "card 3: Xid 79, the card fell off the bus")
    ]
