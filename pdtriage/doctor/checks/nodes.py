"""What has to be the same on all nodes, and whether their clocks agree."""

from __future__ import annotations

from collections.abc import Mapping

from pdtriage.doctor.context import Context
from pdtriage.doctor.exchange import Answers
from pdtriage.doctor.findings import Check, Finding, failed, ok, skipped, warning
from pdtriage.support.language import Text

CLOCKS_WARN_ABOVE = 2.0
"""Seconds; below, a busy machine or a slow network may be the reason."""

_EQUAL: tuple[tuple[str, Text, Text], ...] = (
    (
        "roles",
        Text("the lists of servers and trainers differ", "服务与训练节点的列表不一致"),
        Text(
            "Give all nodes the same lists in the same order.",
            "请在所有节点上使用内容与顺序都相同的列表。",
        ),
    ),
    (
        "nodes",
        Text("--ips differs", "--ips 不一致"),
        Text(
            "Give all nodes the same list in the same order.",
            "请在所有节点上使用内容与顺序都相同的列表。",
        ),
    ),
    (
        "nnodes",
        Text("--nnodes differs", "--nnodes 不一致"),
        Text("Give all nodes the same number.", "请在所有节点上使用相同的值。"),
    ),
    (
        "processes",
        Text("the number of processes differs", "进程数不一致"),
        Text(
            "Use the same number of cards on every node (--devices, --nproc_per_node).",
            "请让每个节点使用相同数量的卡（--devices、--nproc_per_node）。",
        ),
    ),
    (
        "kind",
        Text("the kind of device differs", "设备类型不一致"),
        Text(
            "Use the same build of Paddle and the same kind of card on every node.",
            "请在所有节点上使用相同类型的卡和同样的 Paddle。",
        ),
    ),
)


def nodes_agree(context: Context) -> Finding:
    """Lists, order and numbers are the same everywhere."""
    name = "nodes-agree"
    answers = context.answers
    if answers is None:
        return _nowhere(name, context)
    if not answers.others:
        return _nobody(name, context)
    for key, seen, advice in _EQUAL:
        odd = _odd_ones(answers, key)
        if odd:
            own = _value_text(answers.own.get(key))
            listed = ", ".join(f"{node}: {_value_text(value)}" for node, value in odd.items())
            return failed(
                name,
                Text(
                    f"{seen.en}: here {own}; {listed}",
                    f"{seen.zh}：本机 {own}；{listed}",
                ),
                advice,
            )
    twice = _same_rank(answers)
    if twice:
        return failed(
            name,
            Text(
                f"{', '.join(twice)} also claims to be node {answers.own.get('rank')}",
                f"{', '.join(twice)} 也自称是节点 {answers.own.get('rank')}",
            ),
            Text("Give every node a --rank of its own.", "请为每个节点设置不同的 --rank。"),
        )
    odd = _odd_ones(answers, "paddle")
    if odd:
        own = _value_text(answers.own.get("paddle"))
        listed = ", ".join(f"{node}: {_value_text(value)}" for node, value in odd.items())
        return warning(
            name,
            Text(
                f"the version of Paddle differs: here {own}; {listed}",
                f"Paddle 版本不一致：本机 {own}；{listed}",
            ),
            Text("Install the same version on every node.", "请在所有节点上安装相同版本。"),
        )
    count = len(answers.others) + 1
    return ok(
        name,
        f"{count} of {context.node_total} nodes answered and agree",
        f"{context.node_total} 个节点中有 {count} 个应答，配置一致",
    )


def clocks(context: Context) -> Finding:
    answers = context.answers
    if answers is None:
        return _nowhere("clocks", context)
    ahead = {
        _address(name, answers.others[name]): seconds for name, seconds in answers.ahead.items()
    }
    if not ahead and answers.master_ahead is not None:
        ahead = {str(context.flags.master): answers.master_ahead}
    if not ahead:
        return _nobody("clocks", context)
    off = {node: seconds for node, seconds in ahead.items() if abs(seconds) > CLOCKS_WARN_ABOVE}
    if not off:
        most = max(abs(seconds) for seconds in ahead.values())
        return ok(
            "clocks",
            f"{most:.1f} s apart at most ({len(ahead)} asked)",
            f"最多相差 {most:.1f} 秒（询问了 {len(ahead)} 个节点）",
        )
    listed = ", ".join(f"{node} {seconds:+.0f} s" for node, seconds in off.items())
    return warning(
        "clocks",
        Text(f"clocks differ from ours: {listed}", f"与本机的时间差：{listed}"),
        Text(
            "Run chrony or ntpd on every node; logs of different nodes cannot be compared "
            "otherwise.",
            "请在所有节点上运行 chrony 或 ntpd；否则各节点的日志时间无法对照。",
        ),
    )


CHECKS = (Check("nodes-agree", nodes_agree), Check("clocks", clocks))


def _odd_ones(answers: Answers, key: str) -> dict[str, object]:
    """The nodes that told another value than ours; those that told none are left out."""
    own = answers.own.get(key)
    return {
        _address(name, told): told[key]
        for name, told in answers.others.items()
        if told.get(key) is not None and own is not None and told[key] != own
    }


def _same_rank(answers: Answers) -> list[str]:
    own = answers.own.get("rank")
    others = answers.others.items()
    return [
        _address(name, told) for name, told in others if own is not None and told.get("rank") == own
    ]


def _address(name: str, told: Mapping[str, object]) -> str:
    return str(told.get("address") or name)


def _value_text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _nowhere(name: str, context: Context) -> Finding:
    if context.node_total < 2:
        return skipped(name, "only one node", "只有一个节点")
    return skipped(
        name,
        "the nodes have no place where doctors could meet (--ips, --master ip:port or "
        "etcd://ip:port)",
        "没有可供各节点交换信息的地址（--ips、--master ip:port 或 etcd://ip:port）",
    )


def _nobody(name: str, context: Context) -> Finding:
    seconds = f"{context.wishes.wait:g}"
    return skipped(
        name,
        f"no other node answered within {seconds} s: start `pdtriage doctor` on all nodes at once, "
        "or give it time with --wait",
        f"{seconds} 秒内没有其他节点应答：请在所有节点上同时执行 `pdtriage doctor`，"
        "或用 --wait 延长等待",
    )
