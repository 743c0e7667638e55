"""How an elastic job is asked for, in both generations of flags, and what is refused of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.addresses import split_endpoint
from pdtriage.launch.plan.cluster import node_count
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text

if TYPE_CHECKING:
    # Every launch imports this module, few are elastic.
    from pdtriage.launch.elastic.generation_rules import ElasticTerms

SCHEME = "etcd://"
DEFAULT_TTL = 10
_FIXED_SIZE = 10
"""As under Paddle's launcher: a job of fixed size waits so many times longer for its nodes."""
_ETCD_IS_AWAY = 10
"""It was there before, so it is worth waiting for longer than at the start."""
_NO_JOB_ID = Text(
    "the job has no id of its own, so that another one at this etcd would be taken for its nodes: "
    "give it --job_id my-job-1",
    "作业没有自己的 id，同一 etcd 上的其他作业会被当成它的节点：请设置 --job_id my-job-1",
)
_LEGACY_ONLY = ("elastic_pre_hook", "scale", "force")


def etcd_of(flags: LaunchFlags) -> str | None:
    """What was written as the place of etcd, without the scheme; None where none was."""
    if (flags.master or "").startswith(SCHEME):
        return (flags.master or "").removeprefix(SCHEME).rstrip("/")
    return flags.elastic_server.rstrip("/") if flags.elastic_server else None


def as_elastic(flags: LaunchFlags) -> LaunchFlags:
    """The flags with the legacy spelling translated into today's."""
    place = etcd_of(flags)
    if place is None:
        return flags if ":" not in flags.nnodes else _of_fixed_size(flags)
    notes = [_ignored(name) for name in _LEGACY_ONLY if name in flags.given]
    if "job_id" not in flags.given or flags.job_id == "default":
        notes.append(_NO_JOB_ID)
    size = flags.np or flags.nnodes
    return flags._replace(master=f"{SCHEME}{place}", nnodes=size, notes=(*flags.notes, *notes))


def _of_fixed_size(flags: LaunchFlags) -> LaunchFlags:
    most = node_count(flags)[1]
    note = Text(
        f"--nnodes {flags.nnodes} is a range, but nodes come and go only at an etcd (--master "
        f"etcd://host:2379): the job starts when {most} nodes are there, and keeps them",
        f"--nnodes {flags.nnodes} 是一个范围，但只有通过 etcd（--master etcd://host:2379）节点才能增减："
        f"作业等齐 {most} 个节点后启动，之后节点数不变",
    )
    return flags._replace(notes=(*flags.notes, note))


def etcd_address(flags: LaunchFlags) -> tuple[str, int]:
    """Host and port; raises `UserError` where they cannot be used."""
    place = etcd_of(flags) or ""
    if "@" in place:
        raise UserError(
            Text(
                "An etcd that asks for a user and a password is not supported.",
                "不支持需要用户名和密码的 etcd。",
            ),
            Text(
                "Use one inside the cluster's own network that asks for none.",
                "请使用集群内部网络中不需要认证的 etcd。",
            ),
        )
    try:
        return split_endpoint(place)
    except ValueError:
        raise UserError(
            Text(f"{place!r} is no place of an etcd.", f"{place!r} 不是合法的 etcd 地址。"),
            Text(
                "Write --master etcd://host:2379 (one host and port, without TLS).",
                "请写 --master etcd://host:2379（一个主机和端口，不带 TLS）。",
            ),
        ) from None


def level_of(flags: LaunchFlags) -> int:
    """1 where nobody said: an etcd and a range are asked for in order to be used."""
    return flags.elastic_level if "elastic_level" in flags.given else 1


def patience_of(flags: LaunchFlags) -> float:
    """Seconds to wait for nodes that are missing."""
    seconds = float(max(1, flags.elastic_timeout))
    return seconds if ":" in flags.nnodes else seconds * _FIXED_SIZE


def patience_with_etcd(flags: LaunchFlags) -> float:
    """Seconds to wait between two attempts for an etcd that does not answer any more."""
    return float(max(1, flags.elastic_timeout)) * _ETCD_IS_AWAY


def terms_of(flags: LaunchFlags) -> ElasticTerms:
    from pdtriage.launch.elastic.generation_rules import ElasticTerms

    least, most = node_count(flags)
    timeout = float(max(1, flags.elastic_timeout))
    usual = ElasticTerms(least, most)
    return usual._replace(
        first=timeout,
        again=min(usual.again, timeout),
        ends_on_change=level_of(flags) < 0,
        sort_ip=flags.sort_ip,
    )


def ttl_of(environ: Mapping[str, str]) -> int:
    """Seconds after which a node that says nothing is gone."""
    text = environ.get("PADDLE_ELASTIC_TTL", "")
    if not text:
        return DEFAULT_TTL
    if text.isdecimal() and 0 < int(text) <= 3600:
        return int(text)
    raise UserError(
        Text(f"PADDLE_ELASTIC_TTL cannot be {text!r}.", f"PADDLE_ELASTIC_TTL 不能是 {text!r}。"),
        Text("It takes a number of seconds from 1 to 3600.", "它的值应为 1 到 3600 的秒数。"),
    )


def _ignored(name: str) -> Text:
    return Text(
        f"--{name} is ignored: nodes join and leave by being started and stopped",
        f"忽略 --{name}：启动或停止节点即可使其加入或离开",
    )
