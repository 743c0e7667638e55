"""Sentences about how a verdict came about, both languages side by side."""

from __future__ import annotations

from pdtriage.model import Evidence, Text

BY_CLUSTER = Text("Kubernetes says that its pods completed", "Kubernetes 表明其 pod 均已完成")
BY_RECORD = Text("the run record says that it completed", "运行记录表明它已完成")
BY_CONSOLE = Text("the launcher says that it completed", "启动器表明它已完成")
BY_RANKS = Text("all ranks say or show that they finished", "所有 rank 都表明自己已完成")
WENT_ON_AFTER = Text("the process went on after it", "此后进程仍在继续")
FOLLOWS_IN_RANK = Text(
    "it follows from another event of the same rank", "它由同一 rank 的另一事件引起"
)
WITHOUT_RECORD = Text(
    "without the run record (who ended when, and how)", "没有运行记录（谁在何时如何结束）"
)
WITHOUT_CONSOLE = Text("without the launcher's console", "没有启动器的控制台输出")
WITHOUT_KERNEL = Text("without the kernel's log", "没有内核日志")
WITHOUT_CLUSTER = Text("without what Kubernetes says", "没有 Kubernetes 提供的信息")
WITHOUT_OTHERS = Text("without what the other ranks say went wrong", "没有其他 rank 的报错")


def nobody_blamed(good: Text | None) -> Text:
    en, zh = "no rule found anybody to blame", "没有规则找到应负责的进程"
    return Text(f"{en}; {good.en}", f"{zh}；{good.zh}") if good else Text(en, zh)


def without_line(line: Evidence) -> Text:
    place = _position(line)
    return Text(f"without {place}", f"没有 {place}")


def had_it_ended(line: Evidence) -> Text:
    place = _position(line)
    return Text(f"had the log ended with {place}", f"假如日志到 {place} 为止")


def _position(line: Evidence) -> str:
    return f"{line.file}:{line.line}"
