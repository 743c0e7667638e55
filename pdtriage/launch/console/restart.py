"""What the launcher says between two attempts, and why there is no further one."""

from __future__ import annotations

from pdtriage.launch.supervise.events import Reforming, Restarting
from pdtriage.launch.supervise.restart import Decision
from pdtriage.support.language import Text


def restart_lines(restarting: Restarting) -> tuple[Text, Text]:
    """What failed, and that another attempt follows; people count attempts from 1."""
    number = restarting.record.attempt + 1
    failure = restarting.conclusion.failure
    what = Text("cause unknown", "原因不明") if failure is None else failure.title
    why, most = restarting.decision.why, restarting.most
    limit = (f" of at most {most}", f"，最多 {most} 次")
    if most is None:
        times = restarting.restarts
        plural = "" if times == 1 else "s"
        limit = (
            f" (at most {times} restart{plural} after failures)",
            f"（失败后最多重启 {times} 次）",
        )
    return (
        Text(f"attempt {number} failed: {what.en}", f"第 {number} 次尝试失败：{what.zh}"),
        Text(
            f"restarting, attempt {number + 1}{limit[0]}: {why.en}",
            f"重新启动，第 {number + 1} 次尝试{limit[1]}：{why.zh}",
        ),
    )


def reform_line(reforming: Reforming) -> Text:
    number = reforming.record.attempt + 1
    return Text(
        f"attempt {number} is cut short, the nodes meet again: {reforming.why.en}",
        f"第 {number} 次尝试中止，各节点重新汇合：{reforming.why.zh}",
    )


def ended_line(decision: Decision) -> Text:
    return Text(f"not restarted: {decision.why.en}", f"不再重启：{decision.why.zh}")
