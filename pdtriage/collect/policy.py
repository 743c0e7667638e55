"""What becomes of the pods, and of their logs, when the job ends."""

from __future__ import annotations

from collections.abc import Mapping

from pdtriage.scan.kubernetes.documents import mapping, text
from pdtriage.scan.kubernetes.pods import phase_of
from pdtriage.support.language import Text

ENDED_WELL = frozenset({"Completed", "Succeed", "Succeeded"})
ENDED_BADLY = frozenset({"Failed", "Aborted", "Terminated"})


def deletion_warnings(job: Mapping[str, object]) -> list[Text]:
    """Whether `cleanPodPolicy` has deleted logs, or will.

    paddle-operator deletes the pods of a completed job unless told otherwise; the training
    operator of Kubeflow keeps them unless told otherwise.
    """
    phase = phase_of(job)
    policy, on_failure, on_success = _policy(job)
    shown = f"cleanPodPolicy: {policy}" if policy else "cleanPodPolicy is not set"
    shown_zh = f"cleanPodPolicy: {policy}" if policy else "未设置 cleanPodPolicy"
    if (phase in ENDED_BADLY and on_failure) or (phase in ENDED_WELL and on_success):
        return [
            Text(
                f"{shown}: the operator deletes the pods of the job, and their logs with them, "
                "since it has ended; what is missing here is gone",
                f"{shown_zh}：作业已结束，operator 会删除其 Pod 及日志；此处缺少的部分已无法取得",
            )
        ]
    if phase in ENDED_BADLY | ENDED_WELL or not (on_failure or on_success):
        return []
    when = ("fails or completes", "失败或完成") if on_failure and on_success else None
    when = when or (("fails", "失败") if on_failure else ("completes", "完成"))
    keep = "None" if _is_kubeflow(job) else "Never"
    return [
        Text(
            f"{shown}: when the job {when[0]}, its pods are deleted and their logs with them; "
            f"collect before that, or set cleanPodPolicy: {keep}",
            f"{shown_zh}：作业{when[1]}后其 Pod 与日志会被删除；请在此之前收集，"
            f"或设置 cleanPodPolicy: {keep}",
        )
    ]


def _policy(job: Mapping[str, object]) -> tuple[str, bool, bool]:
    """As it is written, whether pods of a failed job go, whether those of a completed one go."""
    if _is_kubeflow(job):
        policy = text(mapping(job, "spec", "runPolicy"), "cleanPodPolicy")
        return policy, policy == "All", policy == "All"
    policy = text(job, "spec", "cleanPodPolicy")
    return policy, policy in ("Always", "OnFailure"), policy in ("", "Always", "OnCompletion")


def _is_kubeflow(job: Mapping[str, object]) -> bool:
    return text(job, "apiVersion").startswith("kubeflow.org/")
