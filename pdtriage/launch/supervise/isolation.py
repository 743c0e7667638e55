"""A mistake in the view or in the analysis must not cost anybody a training run."""

from __future__ import annotations

import sys
from collections.abc import Callable

from pdtriage.launch.supervise.events import LaunchEvent, Noted, Observer
from pdtriage.launch.supervise.outcome import (
    Analyst,
    AnswerWait,
    Conclusion,
    ExitOrderAnalyst,
    NotJudged,
)
from pdtriage.record.schema import PeerFacts, RunRecord
from pdtriage.support.errors import debugging
from pdtriage.support.language import Text, language_of


class IsolatedObserver:
    """Passes on to `observer` until it raises; says so once, then goes on without it."""

    def __init__(self, observer: Observer) -> None:
        self._observer: Observer | None = observer
        self.beat_seconds = observer.beat_seconds

    def notice(self, event: LaunchEvent) -> None:
        if self._observer is not None:
            self._try(lambda observer: observer.notice(event))

    def beat(self) -> None:
        if self._observer is not None:
            self._try(lambda observer: observer.beat())

    def _try(self, action: Callable[[Observer], None]) -> None:
        assert self._observer is not None
        try:
            action(self._observer)
        except Exception as error:
            self._observer = None
            self.beat_seconds = None
            text = Text(
                f"pdtriage: the view failed ({_label(error)}) and is switched off; the job goes on",
                f"pdtriage：显示出错（{_label(error)}），已关闭；任务继续运行",
            )
            print(text.in_(language_of()), file=sys.stderr)
            _show_where()


class IsolatedAnalyst:
    """Judges by exit order when `analyst` raises, and says so."""

    def __init__(self, analyst: Analyst, observer: Observer) -> None:
        self._analyst = analyst
        self._observer = observer
        self._plain = ExitOrderAnalyst()

    def facts(self, record: RunRecord, tell: Callable[[PeerFacts], None]) -> None:
        try:
            self._analyst.facts(record, tell)
        except Exception as error:
            self._report(error)
            self._plain.facts(record, tell)

    def conclude(self, record: RunRecord, wait: AnswerWait) -> Conclusion:
        try:
            return self._analyst.conclude(record, wait)
        except NotJudged as refusal:
            self._observer.notice(Noted(refusal.text, "ERROR"))
        except Exception as error:
            self._report(error)
        return self._plain.conclude(record, wait)

    def _report(self, error: Exception) -> None:
        text = Text(
            f"the analysis failed ({_label(error)}); judging by exit order alone",
            f"分析失败（{_label(error)}）；仅按退出顺序判断",
        )
        self._observer.notice(Noted(text, "ERROR"))
        _show_where()


def do_beside(what: Callable[[], None], observer: Observer) -> None:
    """Do it beside a job that runs: what goes wrong, as where no descriptor is left, costs none of
    the training."""
    try:
        what()
    except Exception as error:
        text = Text(
            f"the checks at the start were not finished ({_label(error)}); the job goes on",
            f"启动时的检查没有完成（{_label(error)}）；任务继续运行",
        )
        observer.notice(Noted(text, "WARNING"))
        _show_where()


def _label(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")


def _show_where() -> None:
    if debugging():
        import traceback

        traceback.print_exc()
