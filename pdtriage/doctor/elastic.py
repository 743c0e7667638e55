"""The four conditions under which an elastic job is one: etcd, a job id, a range, a timeout."""

from __future__ import annotations

import base64
import json

from pdtriage.bilingual import Text
from pdtriage.doctor.finding import Check, Finding, failed, ok, skipped, warning
from pdtriage.doctor.reaching import ask, reach
from pdtriage.doctor.situation import Situation
from pdtriage.launch.network import split_endpoint

TIMEOUT_WARNS_ABOVE = 120
"""Seconds; the longest default of Paddle."""
TIMEOUT_FAILS_ABOVE = 600
_SCHEME = "etcd://"


def etcd(situation: Situation) -> Finding:
    name = "elastic-etcd"
    if not is_elastic(situation):
        return _not_elastic(name)
    given = _etcd_of(situation)
    write = Text(
        "Write --master etcd://host:2379 (or --elastic_server host:2379).",
        "请写 --master etcd://host:2379（或 --elastic_server host:2379）。",
    )
    if given is None:
        seen = Text("no etcd is named: the job cannot re-form", "没有指定 etcd：作业无法弹性伸缩")
        return failed(name, seen, write)
    try:
        host, port = split_endpoint(given)
    except ValueError:
        return failed(name, Text(f"{given!r} is no address", f"{given!r} 不是合法地址"), write)
    version = _version(host, port)
    if version is not None:
        return ok(name, f"etcd {version} at {given}", f"{given} 上的 etcd {version}")
    check = f"curl http://{host}:{port}/version"
    if reach(host, port) == "listening":
        return failed(
            name,
            Text(f"{given} answers, but not as an etcd", f"{given} 有响应，但不是 etcd"),
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


def job_id(situation: Situation) -> Finding:
    name = "elastic-job-id"
    if not is_elastic(situation):
        return _not_elastic(name)
    job = situation.flags.job_id
    if "job_id" not in situation.flags.given or job == "default":
        return failed(
            name,
            Text(
                "the job has no id of its own: jobs would mix in etcd",
                "作业没有自己的 id：不同作业会在 etcd 中相互混淆",
            ),
            Text("Give it one: --job_id my-job-1.", "请设置，例如 --job_id my-job-1。"),
        )
    known = _registered(situation, job)
    if known:
        return warning(
            name,
            Text(
                f"{known} key(s) of a job {job} are already in etcd",
                f"etcd 中已有作业 {job} 的 {known} 个键",
            ),
            Text(
                "Fine if they are of other nodes of this job; if not, choose another --job_id.",
                "若属于本作业的其他节点则正常；否则请换一个 --job_id。",
            ),
        )
    return ok(name, f"{job}", f"{job}")


def node_range(situation: Situation) -> Finding:
    name = "elastic-range"
    if not is_elastic(situation):
        return _not_elastic(name)
    flags = situation.flags
    flag, text = ("--np", flags.np) if flags.np else ("--nnodes", flags.nnodes)
    low, colon, high = (text or "").partition(":")
    if not colon:
        return failed(
            name,
            Text(f"{flag} {text} is no range", f"{flag} {text} 不是范围"),
            Text(f"Write {flag} 2:4 (least:most).", f"请写成 {flag} 2:4（最少:最多）。"),
        )
    if not (low.isdecimal() and high.isdecimal() and 0 < int(low) < int(high)):
        return failed(
            name,
            Text(f"{flag} {text} leaves nothing to choose", f"{flag} {text} 没有伸缩余地"),
            Text(f"Write {flag} 2:4 (least:most).", f"请写成 {flag} 2:4（最少:最多）。"),
        )
    return ok(name, f"{low} to {high} nodes", f"{low} 到 {high} 个节点")


def timeout(situation: Situation) -> Finding:
    name = "elastic-timeout"
    if not is_elastic(situation):
        return _not_elastic(name)
    seconds = situation.flags.elastic_timeout
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


def is_elastic(situation: Situation) -> bool:
    flags = situation.flags
    return (
        (flags.master or "").startswith(_SCHEME)
        or flags.elastic_server is not None
        or flags.np is not None
        or ":" in flags.nnodes
        or flags.elastic_level >= 0
    )


CHECKS = (
    Check("elastic-etcd", etcd),
    Check("elastic-job-id", job_id),
    Check("elastic-range", node_range),
    Check("elastic-timeout", timeout),
)


def _not_elastic(name: str) -> Finding:
    return skipped(name, "not an elastic job", "不是弹性作业")


def _etcd_of(situation: Situation) -> str | None:
    given = situation.flags.master or ""
    if given.startswith(_SCHEME):
        return given.removeprefix(_SCHEME).rstrip("/")
    return situation.flags.elastic_server or None


def _version(host: str, port: int) -> str | None:
    answer = ask(host, port, "/version")
    told = _json(answer.body) if answer is not None and answer.status == 200 else {}
    version = told.get("etcdserver")
    return version if isinstance(version, str) else None


def _registered(situation: Situation, job: str) -> int:
    """Keys under the job's name, in the places of both generations of Paddle's launcher."""
    given = _etcd_of(situation)
    try:
        host, port = split_endpoint(given or "")
    except ValueError:
        return 0
    total = 0
    for prefix in (f"/paddle/{job}/", f"/{job}/"):
        first = prefix.encode()
        last = first[:-1] + bytes([first[-1] + 1])
        question = {
            "key": base64.b64encode(first).decode(),
            "range_end": base64.b64encode(last).decode(),
            "count_only": True,
        }
        answer = ask(host, port, "/v3/kv/range", json.dumps(question).encode())
        told = _json(answer.body) if answer is not None and answer.status == 200 else {}
        # The gateway writes 64-bit numbers as strings, and leaves out zero.
        total += int(str(told.get("count", 0)) or 0)
    return total


def _json(body: bytes) -> dict[str, object]:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
