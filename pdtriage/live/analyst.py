"""Has a launch judged by the process that reads its logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pdtriage.launch.supervise.outcome import (
    AnswerWait,
    Conclusion,
    ExitOrderAnalyst,
    NotJudged,
)
from pdtriage.live import wire
from pdtriage.live.reader_link import NotAnswered, ReaderLink
from pdtriage.record.schema import PeerFacts, RunRecord
from pdtriage.support.language import Text


class LiveAnalyst:
    """Asks the reader; judges by exit order where the reader has nothing to say."""

    def __init__(self, link: ReaderLink, folder: str) -> None:
        self._link = link
        self._folder = folder
        self._judged: RunRecord | None = None
        """What the last judgement was made of."""

    def facts(self, record: RunRecord, tell: Callable[[PeerFacts], None]) -> None:
        def take(answer: PeerFacts | None) -> None:
            if answer is None:
                ExitOrderAnalyst().facts(record, tell)
            else:
                tell(answer)

        self._link.ask_later("facts", record, take)

    def conclude(self, record: RunRecord, wait: AnswerWait) -> Conclusion:
        self._judged = None  # that of an earlier attempt, should this one not be understood
        try:
            conclusion: Conclusion = self._link.ask("conclude", record, wait)
        except NotAnswered as refusal:
            raise NotJudged(_not_judged(refusal, self._folder)) from None
        self._judged = record
        return conclusion

    def publish(
        self, decisions: Mapping[int, tuple[bool, Text]], files: str | None, wait: AnswerWait
    ) -> wire.Published | None:
        """Write the report on the last attempt; None where there is none, and that was said."""
        if self._judged is None:
            return None
        try:
            published: wire.Published = self._link.ask(
                "publish", self._judged, wait, decisions=decisions, files=files
            )
        except NotAnswered as refusal:
            return wire.Published("", _not_judged(refusal, self._folder))
        return published


def _not_judged(refusal: NotAnswered, folder: str) -> Text:
    later = f"`pdtriage analyze {folder}`"
    if refusal.told:
        return Text(
            "told to stop while the logs were being read: judging by exit order alone; "
            f"{later} reads them",
            f"读取日志时收到停止信号：仅按退出顺序判断；可用 {later} 读取日志",
        )
    if why := str(refusal):
        return Text(
            f"the analysis failed ({why}); judging by exit order alone",
            f"分析失败（{why}）；仅按退出顺序判断",
        )
    return Text(
        f"the logs could not be read in time: judging by exit order alone; {later} reads them",
        f"未能及时读完日志：仅按退出顺序判断；可用 {later} 读取日志",
    )
