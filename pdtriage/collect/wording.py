"""Why something could not be had from the cluster, as people are told."""

from __future__ import annotations

from pdtriage.collect.kubectl import KubectlError, Trouble
from pdtriage.support.language import Text

_WHY: dict[Trouble, Text] = {
    "missing": Text(
        "kubectl is not on PATH: install it (Debian: kubernetes-client), or collect where it is",
        "PATH 中没有 kubectl：请安装（Debian 软件包 kubernetes-client），或在装有它的机器上收集",
    ),
    "forbidden": Text(
        "the cluster forbids it; docs/kubernetes.md has the rights that are needed",
        "集群拒绝访问；所需权限见 docs/kubernetes.md",
    ),
    "unauthorized": Text(
        "the cluster does not accept your credentials: log in again",
        "集群不接受当前凭据：请重新登录",
    ),
    "not-found": Text("there is none", "不存在"),
    "no-type": Text(
        "the cluster knows no PaddleJobs: is the operator installed?",
        "集群中没有 PaddleJob 这种资源：operator 是否已安装？",
    ),
    "unreachable": Text(
        "the cluster cannot be reached: check KUBECONFIG and --context",
        "无法连接集群：请检查 KUBECONFIG 与 --context",
    ),
    "timeout": Text(
        "the cluster did not answer in time: try again, or raise --timeout",
        "集群没有及时响应：请重试，或加大 --timeout",
    ),
    "context": Text("there is no such context", "没有这个 context"),
    "broken": Text(
        "the connection broke in the middle; what came before is kept",
        "连接中途断开；已收到的部分予以保留",
    ),
    "stopped": Text("it was stopped", "已被中止"),
    "other": Text("kubectl failed", "kubectl 失败"),
}


def why(error: KubectlError) -> Text:
    """The reason, with kubectl's own words behind it."""
    reason = _WHY[error.trouble]
    if not error.said:
        return reason
    return Text(f"{reason.en} ({error.said})", f"{reason.zh}（{error.said}）")


def not_collected(what: str, error: KubectlError, log: bool = False) -> Text:
    reason = why(error)
    if log:
        return Text(
            f"the log of {what} is missing or incomplete: {reason.en}",
            f"{what} 的日志缺失或不完整：{reason.zh}",
        )
    return Text(f"{what} could not be collected: {reason.en}", f"{what} 未能收集：{reason.zh}")
