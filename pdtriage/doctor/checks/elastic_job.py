"""The four conditions under which an elastic job is one: etcd, a job id, a range, a timeout."""

from __future__ import annotations

from pdtriage.doctor.context import Context
from pdtriage.doctor.findings import Check, Finding, failed, ok, skipped, warning
from pdtriage.doctor.ports import PATIENCE, reach
from pdtriage.launch.elastic.etcd import Etcd, EtcdAwayError, EtcdRefusedError
from pdtriage.launch.elastic.generation import Keys
from pdtriage.launch.options.elastic import etcd_access, etcd_address, etcd_of, version_command
from pdtriage.launch.plan.cluster import node_count
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text

TIMEOUT_WARNS_ABOVE = 120
"""Seconds; the longest default of Paddle."""
TIMEOUT_FAILS_ABOVE = 600


def etcd(context: Context) -> Finding:
    name = "elastic-etcd"
    if not _wants_elastic(context):
        return _not_elastic(name)
    given = etcd_of(context.flags)
    if given is None:
        return failed(
            name,
            Text("no etcd is named: the job cannot re-form", "没有指定 etcd：任务无法弹性伸缩"),
            Text(
                "Write --master etcd://host:2379 (or --elastic_server host:2379).",
                "请写 --master etcd://host:2379（或 --elastic_server host:2379）。",
            ),
        )
    try:
        host, port = etcd_address(context.flags)
        access = etcd_access(context.flags)
    except UserError as refusal:
        return failed(name, refusal.message, refusal.remedy)
    try:
        asked = Etcd(host, port, PATIENCE, access)
        version = asked.version()
        asked.read(Keys(context.flags.job_id).members)
        return ok(name, f"etcd {version} at {given}", f"{given} 上的 etcd {version}")
    except EtcdRefusedError as refusal:
        return failed(
            name,
            Text(f"{given} does not let us in: {refusal}", f"{given} 拒绝了我们：{refusal}"),
            Text(
                "Check --etcd_user, PDTRIAGE_ETCD_PASSWORD and what that user may do.",
                "请检查 --etcd_user、PDTRIAGE_ETCD_PASSWORD 以及该用户的权限。",
            ),
        )
    except EtcdAwayError as error:
        why = str(error)
    check = version_command(context.flags)
    if reach(host, port) == "listening":
        return failed(
            name,
            Text(
                f"{given} answers, but not as an etcd: {why}", f"{given} 有响应，但不是 etcd：{why}"
            ),
            Text(f"Check the port: `{check}`.", f"请检查端口：`{check}`。"),
        )
    return failed(
        name,
        Text(f"no etcd answers at {given}", f"{given} 上没有 etcd 响应"),
        Text(
            f"Start it with an address the nodes can reach "
            f"(--listen-client-urls http://0.0.0.0:{port}) and try `{check}`.",
            f"请以各节点可达的地址启动它（--listen-client-urls http://0.0.0.0:{port}），"
            f"并执行 `{check}` 验证。",
        ),
    )


def job_id(context: Context) -> Finding:
    name = "elastic-job-id"
    if not _wants_elastic(context):
        return _not_elastic(name)
    job = context.flags.job_id
    if "job_id" not in context.flags.given or job == "default":
        return failed(
            name,
            Text(
                "the job has no id of its own: jobs would mix in etcd",
                "任务没有自己的 id：不同任务会在 etcd 中相互混淆",
            ),
            Text("Give it one: --job_id my-job-1.", "请设置，例如 --job_id my-job-1。"),
        )
    known = _key_count(context, job)
    if known:
        return warning(
            name,
            Text(
                f"{known} key(s) of a job {job} are already in etcd",
                f"etcd 中已有任务 {job} 的 {known} 个键",
            ),
            Text(
                "Fine if they are of other nodes of this job; if not, choose another --job_id.",
                "若属于本任务的其他节点则正常；否则请换一个 --job_id。",
            ),
        )
    return ok(name, f"{job}", f"{job}")


def node_range(context: Context) -> Finding:
    name = "elastic-range"
    if not _wants_elastic(context):
        return _not_elastic(name)
    flags = context.flags
    flag, text = ("--np", flags.np) if flags.np else ("--nnodes", flags.nnodes)
    try:
        least, most = node_count(flags._replace(nnodes=text or ""))
    except UserError:
        return failed(
            name,
            Text(f"{flag} cannot be {text!r}", f"{flag} 不能是 {text!r}"),
            Text(f"Write {flag} 2:4 (least:most).", f"请写成 {flag} 2:4（最少:最多）。"),
        )
    if least == most:
        return ok(
            name,
            f"fixed size, {least}: nodes are replaced, not added",
            f"节点数固定为 {least}：节点可以替换，不会增加",
        )
    return ok(name, f"{least} to {most} nodes", f"{least} 到 {most} 个节点")


def timeout(context: Context) -> Finding:
    name = "elastic-timeout"
    if not _wants_elastic(context):
        return _not_elastic(name)
    seconds = context.flags.elastic_timeout
    seen = Text(f"{seconds} s", f"{seconds} 秒")
    if 0 < seconds <= TIMEOUT_WARNS_ABOVE:
        return Finding(name, "ok", seen)
    if seconds <= 0:
        advice = Text("It takes a number of seconds above 0.", "它应为大于 0 的秒数。")
        return failed(name, seen, advice)
    judged = failed if seconds > TIMEOUT_FAILS_ABOVE else warning
    return judged(
        name,
        Text(
            f"for {seconds} s after a change nothing seems to happen",
            f"节点变化后要等 {seconds} 秒才会有动作",
        ),
        Text(
            "Lower --elastic_timeout (PADDLE_ELASTIC_TIMEOUT); 30 is usual.",
            "请调小 --elastic_timeout（PADDLE_ELASTIC_TIMEOUT），通常为 30。",
        ),
    )


CHECKS = (
    Check("elastic-etcd", etcd),
    Check("elastic-job-id", job_id),
    Check("elastic-range", node_range),
    Check("elastic-timeout", timeout),
)


def _wants_elastic(context: Context) -> bool:
    """Anything on the command line asks for it, with or without an etcd."""
    flags = context.flags
    return (
        etcd_of(flags) is not None
        or flags.np is not None
        or ":" in flags.nnodes
        or flags.elastic_level >= 0
    )


def _not_elastic(name: str) -> Finding:
    return skipped(name, "not an elastic job", "不是弹性任务")


def _key_count(context: Context, job: str) -> int:
    """Keys under the job's name, in our own place and in those of Paddle's launchers."""
    try:
        host, port = etcd_address(context.flags)
        access = etcd_access(context.flags)
        keys = (Keys(job).members, f"/paddle/{job}/", f"/{job}/")
        return len(Etcd(host, port, PATIENCE, access).read(*keys).entries)
    except (UserError, EtcdAwayError):
        return 0  # The other check says what is wrong there.
