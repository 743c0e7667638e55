"""What `--log_level DEBUG` adds: what is started, with which variables, where the nodes meet."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from pdtriage.launch.plan.process_plan import Plan, ProcessPlan
from pdtriage.launch.supervise.events import LaunchEvent, PeerSpoke, Planned, Started
from pdtriage.masking.secrets import masked_arguments, masked_variable
from pdtriage.model.kinds import process_name
from pdtriage.support.language import Text


def debug_lines(event: LaunchEvent) -> Iterator[Text]:
    """What `--log_level DEBUG` adds, for people who look for a mistake in how a job is started."""
    if isinstance(event, Planned):
        yield _meeting(event.plan)
        for planned in event.plan.processes:
            yield _plan_of(planned)
            for name, value in sorted(planned.variables.items()):
                line = f"    {name}={masked_variable(name, value)}"
                yield Text(line, line)
    elif isinstance(event, Started):
        process = event.process
        who = process_name(process.role, process.rank)
        log = process.log or "-"
        yield Text(
            f"{who} started as pid {process.pid}, log {log} from byte {process.offset}",
            f"{who} 已启动，pid {process.pid}，日志 {log} 从第 {process.offset} 字节开始",
        )
    elif isinstance(event, PeerSpoke):
        state = event.facts.state
        yield Text(
            f"node {event.node} says of itself: {state}", f"节点 {event.node} 报告自身状态：{state}"
        )


def _meeting(plan: Plan) -> Text:
    cluster = plan.cluster
    nodes, ports = ", ".join(cluster.nodes), ", ".join(cluster.own_endpoints)
    return Text(
        f"nodes {nodes}; this node's endpoints {ports}; master {cluster.master or '-'}",
        f"节点 {nodes}；本节点端点 {ports}；master {cluster.master or '-'}",
    )


def _plan_of(process: ProcessPlan) -> Text:
    command = shlex.join(masked_arguments(process.argv))
    name = process_name(process.role, process.rank)
    line = f"{name}, {process.device or 'cpu'}, {process.endpoint}: "
    return Text(line + command, line + command)
