"""Every flag `pdtriage run` understands, of both generations of Paddle's launcher and our own."""

from __future__ import annotations

from typing import Literal

from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

Kind = Literal["text", "int", "float", "bool"]
Group = Literal["common", "new", "legacy", "ps", "elastic", "tuner", "own"]


class Flag(NamedTuple):
    """One flag: where its value goes, how it may be spelled, what a variable may say instead."""

    name: str
    group: Group
    kind: Kind
    help: Text
    aliases: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    """As in Paddle, a set variable overrides the flag; the first one that is set counts."""


def _flag(
    group: Group,
    name: str,
    en: str,
    zh: str,
    *variables: str,
    kind: Kind = "text",
    aliases: tuple[str, ...] = (),
) -> Flag:
    return Flag(name, group, kind, Text(en, zh), aliases, variables)


FLAGS: tuple[Flag, ...] = (
    _flag("common", "log_dir", "folder of the logs", "日志目录", "PADDLE_LOG_DIR"),
    _flag(
        "common",
        "run_mode",
        "collective, ps, ps-heter or rpc",
        "运行模式：collective、ps、ps-heter 或 rpc",
        "PADDLE_RUN_MODE",
    ),
    _flag(
        "common",
        "devices",
        "cards of this node by their physical numbers, one process each",
        "本节点使用的卡（物理卡号），每张卡一个进程",
        "PADDLE_DEVICES",
        aliases=("gpus", "xpus", "npus", "selected_gpus", "selected_xpus", "selected_npus"),
    ),
    _flag(
        "common",
        "ips",
        "addresses of all nodes, in the same order everywhere",
        "所有节点的地址，各节点上顺序一致",
        "PADDLE_IPS",
        aliases=("cluster_node_ips",),
    ),
    _flag(
        "common",
        "nproc_per_node",
        "processes on this node",
        "本节点的进程数",
        "PADDLE_NPROC_PER_NODE",
        kind="int",
    ),
    _flag(
        "common",
        "job_id",
        "name of the job",
        "作业名",
        "PADDLE_ELASTIC_JOB_ID",
        "PADDLE_JOB_ID",
    ),
    _flag(
        "common",
        "host",
        "address of this node",
        "本节点的地址",
        "POD_IP",
        aliases=("node_ip",),
    ),
    _flag(
        "new",
        "master",
        "where the nodes meet: ip:port or etcd://ip:port",
        "各节点的汇合地址：ip:port 或 etcd://ip:port",
        "PADDLE_MASTER",
    ),
    _flag("new", "nnodes", "number of nodes, 2 or 2:4", "节点数，2 或 2:4", "PADDLE_NNODES"),
    _flag(
        "new",
        "rank",
        "rank of this node",
        "本节点的序号",
        "PADDLE_TRAINER_ID",
        "PADDLE_RANK",
        kind="int",
    ),
    _flag(
        "new",
        "start_port",
        "first port of the trainers",
        "训练进程的起始端口",
        "PADDLE_START_PORT",
        kind="int",
    ),
    _flag(
        "new", "log_level", "level of the launcher's lines", "启动器日志级别", "PADDLE_LOG_LEVEL"
    ),
    _flag(
        "new",
        "log_overwrite",
        "begin log files anew",
        "覆盖已有日志",
        "PADDLE_LOG_OVERWRITE",
        kind="bool",
    ),
    _flag(
        "new", "sort_ip", "rank nodes by address", "按地址给节点排序", "PADDLE_SORT_IP", kind="bool"
    ),
    _flag("new", "enable_gpu_log", "write JOB.gpu.log", "写 JOB.gpu.log", kind="bool"),
    _flag("new", "legacy", "behave as the legacy launcher", "按旧版启动器行事", kind="bool"),
    _flag(
        "legacy",
        "backend",
        "auto, gloo, nccl, bkcl or heter",
        "通信后端：auto、gloo、nccl、bkcl 或 heter",
    ),
    _flag("ps", "servers", "servers, ip:port,…", "服务节点 ip:port,…", "PADDLE_SERVERS_ENDPOINTS"),
    _flag(
        "ps",
        "trainers",
        "trainers, ip:port,…",
        "训练节点 ip:port,…",
        "PADDLE_TRAINERS_ENDPOINTS",
        aliases=("workers",),
    ),
    _flag(
        "ps", "heter_workers", "heter trainers, stages split by ;", "异构训练节点，各阶段用 ; 分隔"
    ),
    _flag("ps", "heter_devices", "device of each heter stage", "各异构阶段的设备"),
    _flag("ps", "coordinators", "coordinators, ip:port,…", "协调节点 ip:port,…"),
    _flag("ps", "server_num", "number of servers", "服务进程数", "PADDLE_SERVER_NUM", kind="int"),
    _flag(
        "ps",
        "trainer_num",
        "number of trainers",
        "训练进程数",
        "PADDLE_TRAINER_NUM",
        kind="int",
        aliases=("worker_num",),
    ),
    _flag("ps", "heter_worker_num", "heter trainers per stage", "各阶段异构训练进程数"),
    _flag("ps", "coordinator_num", "number of coordinators", "协调进程数", kind="int"),
    _flag("ps", "http_port", "port of gloo's rendezvous", "gloo 汇合端口", kind="int"),
    _flag(
        "ps",
        "gloo_port",
        "port of gloo's rendezvous",
        "gloo 汇合端口",
        "PADDLE_GLOO_PORT",
        kind="int",
    ),
    _flag("ps", "with_gloo", "use gloo: 0, 1 or 2", "是否使用 gloo：0、1 或 2", "PADDLE_WITH_GLOO"),
    _flag(
        "elastic",
        "elastic_server",
        "etcd, host:port",
        "etcd 地址 host:port",
        "PADDLE_ELASTIC_SERVER",
    ),
    _flag("elastic", "np", "number of nodes, 2 or 2:4", "节点数，2 或 2:4", "PADDLE_ELASTIC_NP"),
    _flag("elastic", "elastic_pre_hook", "ignored: legacy launcher only", "忽略：仅旧版启动器"),
    _flag("elastic", "scale", "ignored: legacy launcher only", "忽略：仅旧版启动器", kind="int"),
    _flag("elastic", "force", "ignored: legacy launcher only", "忽略：仅旧版启动器", kind="bool"),
    _flag(
        "elastic",
        "elastic_level",
        "after a failure: 1 all nodes start again (with an etcd the default), 0 all but the one "
        "that failed, -1 none; -1 also ends the job when a node comes or goes",
        "失败之后：1 所有节点重新启动（使用 etcd 时的默认值），0 失败的节点除外，-1 都不启动；"
        "-1 时节点加入或离开也会结束作业",
        "PADDLE_ELASTIC_LEVEL",
        kind="int",
    ),
    _flag(
        "elastic",
        "elastic_timeout",
        "seconds to wait for nodes (30)",
        "等待节点的秒数（30）",
        "PADDLE_ELASTIC_TIMEOUT",
        kind="int",
    ),
    _flag(
        "elastic",
        "max_restart",
        "restarts after failures (3)",
        "失败后允许重启的次数（3）",
        "PADDLE_MAX_RESTART",
        kind="int",
    ),
    _flag(
        "tuner",
        "auto_parallel_config",
        "auto-parallel configuration",
        "自动并行配置",
        "PADDLE_AUTO_PARALLEL_CONFIG",
    ),
    _flag("tuner", "auto_cluster_config", "auto-parallel switch", "自动并行开关", kind="bool"),
    _flag("tuner", "auto_tuner_json", "tuner configuration", "调优配置"),
    _flag("tuner", "cluster_topo_path", "cluster topology", "集群拓扑文件"),
    _flag("tuner", "rank_mapping_path", "rank mapping", "进程映射文件"),
    _flag("tuner", "enable_auto_mapping", "auto mapping switch", "自动映射开关", kind="bool"),
    _flag("own", "launcher", "native or paddle", "native 或 paddle"),
    _flag("own", "python", "Python that runs the script", "运行脚本的 Python"),
    _flag(
        "own",
        "restart_on",
        "start a failed job again: auto (unless the cause would come back), always or never; at "
        "most --max_restart times (elastic jobs auto, others never)",
        "作业失败后是否重新启动：auto（原因会重现则不重试）、always 或 never；"
        "最多 --max_restart 次（弹性作业默认 auto，其他默认 never）",
    ),
    _flag(
        "own",
        "restart_delay",
        "seconds between a failed attempt and the next (3)",
        "失败后到再次启动之间的秒数（3）",
        kind="float",
    ),
    _flag(
        "own",
        "settle",
        "seconds to watch who else dies before the rest is stopped (0.3)",
        "首个失败后继续观察的秒数，然后停止其余进程（0.3）",
        kind="float",
    ),
    _flag(
        "own",
        "grace",
        "seconds between SIGTERM and SIGKILL (5; 30 after Ctrl-C)",
        "SIGTERM 与 SIGKILL 之间的秒数（5；Ctrl-C 后 30）",
        kind="float",
    ),
    _flag(
        "own",
        "facts_port",
        "port of node 0 where nodes of an --ips job exchange what they saw (6968; 0: off)",
        "--ips 作业中节点 0 用来交换故障信息的端口（6968；0 表示关闭）",
        kind="int",
    ),
    _flag("own", "ranks", "whose logs to show: 0,3 or all", "显示哪些进程的日志：0,3 或 all"),
    _flag("own", "quiet", "show no training log", "不显示训练日志", kind="bool"),
    _flag(
        "own",
        "hang_after",
        "warn when no process has written a line for so many seconds (600; 0: never)",
        "所有进程超过这么多秒没有输出时警告（600；0 表示从不）",
        kind="float",
    ),
    _flag(
        "own",
        "report",
        "also write the report to FILE, in the format of its name, or to FORMAT=FILE; "
        "may be repeated, also as -f",
        "把报告另存到 FILE，格式由文件名决定，或写成 FORMAT=FILE；可多次给出，也可写作 -f",
        aliases=("format",),
    ),
    _flag("own", "lang", "en or zh", "en 或 zh"),
    _flag("own", "parsers", "folder of further signatures", "额外特征库目录"),
)

CHOICES: dict[str, tuple[str, ...]] = {
    "run_mode": ("collective", "ps", "ps-heter", "rpc"),
    "backend": ("auto", "gloo", "nccl", "bkcl", "heter"),
    "launcher": ("native", "paddle"),
    "lang": ("en", "zh"),
    "restart_on": ("auto", "always", "never"),
}


def spellings() -> dict[str, Flag]:
    """Every accepted spelling, with underscores and without the dashes in front."""
    table: dict[str, Flag] = {}
    for flag in FLAGS:
        for spelling in (flag.name, *flag.aliases):
            table[spelling] = flag
    return table
