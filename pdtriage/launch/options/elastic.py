"""How an elastic job is asked for, in both generations of flags, and what is refused of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.options.secret import Secret
from pdtriage.launch.plan.addresses import split_endpoint
from pdtriage.launch.plan.cluster import node_count
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

if TYPE_CHECKING:
    # Every launch imports this module, few are elastic.
    from pdtriage.launch.elastic.generation_rules import ElasticTerms

SCHEME = "etcd://"
DEFAULT_TTL = 10
_LONGEST_FILE = 1 << 20
_FIXED_SIZE = 10
"""As under Paddle's launcher: a job of fixed size waits so many times longer for its nodes."""
_ETCD_IS_AWAY = 10
"""It was there before, so it is worth waiting for longer than at the start."""
_NO_JOB_ID = Text(
    "the job has no id of its own, so that another one at this etcd would be taken for its nodes: "
    "give it --job_id my-job-1",
    "任务没有自己的 id，同一 etcd 上的其他任务会被当成它的节点：请设置 --job_id my-job-1",
)
_LEGACY_ONLY = ("elastic_pre_hook", "scale", "force")


class EtcdAccess(NamedTuple):
    """How an etcd is spoken to: in plain text to nobody in particular, or as these say."""

    user: str = ""
    password: Secret = Secret()
    ca: str | None = None
    """Where this is, TLS is spoken."""
    certificate: tuple[str, str] | None = None
    """To be shown, and its key."""


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
        f"任务等齐 {most} 个节点后启动，之后节点数不变",
    )
    return flags._replace(notes=(*flags.notes, note))


def etcd_address(flags: LaunchFlags) -> tuple[str, int]:
    """Host and port; raises `UserError` where they cannot be used."""
    place = etcd_of(flags) or ""
    if "@" in place:
        raise UserError(
            Text(
                "An etcd's address must not hold a user and a password: everybody would see them.",
                "etcd 地址中不能写用户名和密码：任何人都能看到。",
            ),
            Text(
                "Use --etcd_user and PDTRIAGE_ETCD_PASSWORD (or --etcd_password @FILE).",
                "请使用 --etcd_user 和 PDTRIAGE_ETCD_PASSWORD（或 --etcd_password @文件）。",
            ),
        )
    try:
        return split_endpoint(place)
    except ValueError:
        raise UserError(
            Text(f"{place!r} is no place of an etcd.", f"{place!r} 不是合法的 etcd 地址。"),
            Text(
                "Write --master etcd://host:2379 (one host and port).",
                "请写 --master etcd://host:2379（一个主机和端口）。",
            ),
        ) from None


def etcd_access(flags: LaunchFlags) -> EtcdAccess:
    """How to speak to it; raises `UserError` where something is missing."""
    user, password = flags.etcd_user or "", flags.password.reveal()
    if bool(user) != bool(password):
        raise _incomplete("--etcd_user", "--etcd_password")
    if bool(flags.etcd_cert) != bool(flags.etcd_key):
        raise _incomplete("--etcd_cert", "--etcd_key")
    if flags.etcd_cert and not flags.etcd_ca:
        raise _incomplete("--etcd_cert", "--etcd_ca")
    for name in ("etcd_ca", "etcd_cert", "etcd_key"):
        if path := getattr(flags, name):
            _read(name, path)
    if password.startswith("@"):
        password = _read("etcd_password", password[1:]).strip()
    certificate = (flags.etcd_cert, flags.etcd_key) if flags.etcd_cert and flags.etcd_key else None
    return EtcdAccess(user, Secret(password), flags.etcd_ca, certificate)


def version_command(flags: LaunchFlags) -> str:
    """What a person types to see whether the etcd can be reached."""
    ca = f"--cacert {flags.etcd_ca} " if flags.etcd_ca else ""
    return f"curl {ca}http{'s' * bool(ca)}://{etcd_of(flags)}/version"


def _read(flag: str, path: str) -> str:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read(_LONGEST_FILE)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise UserError(
            Text(
                f"--{flag}: {path} cannot be read: {reason}.",
                f"--{flag}：无法读取 {path}：{reason}。",
            ),
            Text("Check its name and its permissions.", "请检查文件名和权限。"),
        ) from None


def _incomplete(one: str, other: str) -> UserError:
    return UserError(
        Text(f"{one} and {other} need each other.", f"{one} 和 {other} 必须同时给出。"),
        Text("Give both (the variables count, too).", "请同时给出（也可用环境变量）。"),
    )


def level_of(flags: LaunchFlags) -> int:
    """The elastic level; 1 where nobody gave one, since etcd and a range ask for it."""
    return flags.elastic_level if "elastic_level" in flags.given else 1


def node_patience(flags: LaunchFlags) -> float:
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
