"""What the report says of the exchange between the nodes: whom it missed and what it ignored."""

from __future__ import annotations

from collections.abc import Sequence

from pdtriage.support.language import Text

_MOST_LISTED = 8

UNREACHED = Text(
    "the exchange between the nodes could not be reached at the end: what other nodes saw may be "
    "missing here",
    "结束时无法连接到节点之间交换信息的端口：其他节点看到的信息可能缺失",
)


def late(seconds: float) -> Text:
    return Text(
        f"the exchange between the nodes could not be reached for the first {seconds:.0f} s: until "
        "then they knew nothing of each other",
        f"前 {seconds:.0f} 秒无法连接到节点之间交换信息的端口：在此之前各节点互不知情",
    )


def unheard(nodes: Sequence[int]) -> Text:
    listed = ", ".join(map(str, nodes[:_MOST_LISTED])) + "…" * (len(nodes) > _MOST_LISTED)
    return Text(
        f"nothing was heard of node {listed}: what it saw is missing here",
        f"没有收到节点 {listed} 的消息：它看到的信息缺失",
    )


def refused(number: int) -> Text:
    return Text(
        f"{number} request{'s' * (number != 1)} from somebody who does not know this job's secret "
        f"{'were' if number != 1 else 'was'} refused",
        f"拒绝了 {number} 个不知道本作业密钥的请求",
    )


def foreign(number: int) -> Text:
    return Text(
        f"what a node told of {number} rank(s) of other nodes was ignored",
        f"忽略了某节点关于其他节点上 {number} 个进程的说法",
    )
