"""Every flag `pdtriage run` understands, of both generations of Paddle's launcher and our own.

A flag is declared once, as a field of `LaunchFlags`: its name and type are those of the field, and
`flag` says the rest. Parsing, help, variables and defaults follow from that.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pdtriage.launch.options.secret import PASSWORD_VARIABLE, SECRET_VARIABLE, Secret
from pdtriage.support.command_line import flag, flags_of
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Language, Text

DEFAULT_START_PORT = 6070
INTERRUPT_GRACE = 30.0
FAILURE_GRACE = 5.0
HANG_AFTER = "60:1800"
ANALYSIS_BUDGET = 30.0


class LaunchFlags(NamedTuple):
    """All flags with their defaults filled in; names as in Paddle's launcher."""

    log_dir: str = flag("log", "common", "folder of the logs", "日志目录", "PADDLE_LOG_DIR")
    run_mode: str | None = flag(
        None,
        "common",
        "collective, ps, ps-heter or rpc",
        "运行模式：collective、ps、ps-heter 或 rpc",
        "PADDLE_RUN_MODE",
        choices=("collective", "ps", "ps-heter", "rpc"),
    )
    devices: str | None = flag(
        None,
        "common",
        "cards of this node by their physical numbers, one process each",
        "本节点使用的卡（物理卡号），每张卡一个进程",
        "PADDLE_DEVICES",
        aliases=("gpus", "xpus", "npus", "selected_gpus", "selected_xpus", "selected_npus"),
    )
    ips: str | None = flag(
        None,
        "common",
        "addresses of all nodes, in the same order everywhere",
        "所有节点的地址，各节点上顺序一致",
        "PADDLE_IPS",
        aliases=("cluster_node_ips",),
    )
    nproc_per_node: int | None = flag(
        None, "common", "processes on this node", "本节点的进程数", "PADDLE_NPROC_PER_NODE"
    )
    job_id: str = flag(
        "default", "common", "name of the job", "任务名", "PADDLE_ELASTIC_JOB_ID", "PADDLE_JOB_ID"
    )
    host: str | None = flag(
        None, "common", "address of this node", "本节点的地址", "POD_IP", aliases=("node_ip",)
    )
    master: str | None = flag(
        None,
        "new",
        "where the nodes meet: ip:port or etcd://ip:port",
        "各节点的汇合地址：ip:port 或 etcd://ip:port",
        "PADDLE_MASTER",
    )
    nnodes: str = flag("1", "new", "number of nodes, 2 or 2:4", "节点数，2 或 2:4", "PADDLE_NNODES")
    rank: int = flag(
        -1, "new", "rank of this node", "本节点的序号", "PADDLE_TRAINER_ID", "PADDLE_RANK"
    )
    start_port: int | None = flag(
        None, "new", "first port of the trainers", "训练进程的起始端口", "PADDLE_START_PORT"
    )
    log_level: str = flag(
        "INFO", "new", "level of the launcher's lines", "启动器日志级别", "PADDLE_LOG_LEVEL"
    )
    log_overwrite: bool = flag(
        False, "new", "begin log files anew", "覆盖已有日志", "PADDLE_LOG_OVERWRITE"
    )
    sort_ip: bool = flag(
        False, "new", "rank nodes by address", "按地址给节点排序", "PADDLE_SORT_IP"
    )
    enable_gpu_log: bool = flag(True, "new", "write JOB.gpu.log", "写 JOB.gpu.log")
    legacy: bool = flag(False, "new", "behave as the legacy launcher", "按旧版启动器行事")
    backend: str = flag(
        "auto",
        "legacy",
        "auto, gloo, nccl, bkcl or heter",
        "通信后端：auto、gloo、nccl、bkcl 或 heter",
        choices=("auto", "gloo", "nccl", "bkcl", "heter"),
    )
    servers: str = flag(
        "", "ps", "servers, ip:port,…", "服务节点 ip:port,…", "PADDLE_SERVERS_ENDPOINTS"
    )
    trainers: str = flag(
        "",
        "ps",
        "trainers, ip:port,…",
        "训练节点 ip:port,…",
        "PADDLE_TRAINERS_ENDPOINTS",
        aliases=("workers",),
    )
    heter_workers: str = flag(
        "", "ps", "heter trainers, stages split by ;", "异构训练节点，各阶段用 ; 分隔"
    )
    heter_devices: str = flag("", "ps", "device of each heter stage", "各异构阶段的设备")
    coordinators: str = flag("", "ps", "coordinators, ip:port,…", "协调节点 ip:port,…")
    server_num: int | None = flag(
        None, "ps", "number of servers", "服务进程数", "PADDLE_SERVER_NUM"
    )
    trainer_num: int | None = flag(
        None,
        "ps",
        "number of trainers",
        "训练进程数",
        "PADDLE_TRAINER_NUM",
        aliases=("worker_num",),
    )
    heter_worker_num: str | None = flag(
        None, "ps", "heter trainers per stage", "各阶段异构训练进程数"
    )
    coordinator_num: int | None = flag(None, "ps", "number of coordinators", "协调进程数")
    http_port: int | None = flag(None, "ps", "port of gloo's rendezvous", "gloo 汇合端口")
    gloo_port: int = flag(
        6767, "ps", "port of gloo's rendezvous", "gloo 汇合端口", "PADDLE_GLOO_PORT"
    )
    with_gloo: str = flag(
        "1", "ps", "use gloo: 0, 1 or 2", "是否使用 gloo：0、1 或 2", "PADDLE_WITH_GLOO"
    )
    elastic_server: str | None = flag(
        None, "elastic", "etcd, host:port", "etcd 地址 host:port", "PADDLE_ELASTIC_SERVER"
    )
    np: str | None = flag(
        None, "elastic", "number of nodes, 2 or 2:4", "节点数，2 或 2:4", "PADDLE_ELASTIC_NP"
    )
    elastic_pre_hook: str | None = flag(
        None, "elastic", "ignored: legacy launcher only", "忽略：仅旧版启动器"
    )
    scale: int = flag(0, "elastic", "ignored: legacy launcher only", "忽略：仅旧版启动器")
    force: bool = flag(False, "elastic", "ignored: legacy launcher only", "忽略：仅旧版启动器")
    elastic_level: int = flag(
        -1,
        "elastic",
        "after a failure: 1 all nodes start again (with an etcd the default), 0 all but the one "
        "that failed, -1 none; -1 also ends the job when a node comes or goes",
        "失败之后：1 所有节点重新启动（使用 etcd 时的默认值），0 失败的节点除外，-1 都不启动；"
        "-1 时节点加入或离开也会结束任务",
        "PADDLE_ELASTIC_LEVEL",
    )
    elastic_timeout: int = flag(
        30,
        "elastic",
        "seconds to wait for nodes ({default})",
        "等待节点的秒数（{default}）",
        "PADDLE_ELASTIC_TIMEOUT",
    )
    max_restart: int = flag(
        3,
        "elastic",
        "restarts after failures ({default})",
        "失败后允许重启的次数（{default}）",
        "PADDLE_MAX_RESTART",
    )
    auto_parallel_config: str | None = flag(
        None, "tuner", "auto-parallel configuration", "自动并行配置", "PADDLE_AUTO_PARALLEL_CONFIG"
    )
    auto_cluster_config: bool = flag(False, "tuner", "auto-parallel switch", "自动并行开关")
    auto_tuner_json: str | None = flag(None, "tuner", "tuner configuration", "调优配置")
    cluster_topo_path: str | None = flag(None, "tuner", "cluster topology", "集群拓扑文件")
    rank_mapping_path: str | None = flag(None, "tuner", "rank mapping", "进程映射文件")
    enable_auto_mapping: bool = flag(False, "tuner", "auto mapping switch", "自动映射开关")
    launcher: str = flag(
        "native", "own", "native or paddle", "native 或 paddle", choices=("native", "paddle")
    )
    python: str | None = flag(None, "own", "Python that runs the script", "运行脚本的 Python")
    restart_on: str | None = flag(
        None,
        "own",
        "start a failed job again: auto (unless the cause would come back), always or never; at "
        "most --max_restart times (elastic jobs auto, others never)",
        "任务失败后是否重新启动：auto（原因会重现则不重试）、always 或 never；"
        "最多 --max_restart 次（弹性任务默认 auto，其他默认 never）",
        choices=("auto", "always", "never"),
    )
    restart_delay: float = flag(
        3.0,
        "own",
        "seconds between a failed attempt and the next ({default})",
        "失败后到再次启动之间的秒数（{default}）",
    )
    settle: float = flag(
        0.3,
        "own",
        "seconds to watch who else dies before the rest is stopped ({default})",
        "首个失败后继续观察的秒数，然后停止其余进程（{default}）",
    )
    grace: float | None = flag(
        None,
        "own",
        f"seconds between SIGTERM and SIGKILL ({FAILURE_GRACE:g}; {INTERRUPT_GRACE:g} after "
        "Ctrl-C)",
        f"SIGTERM 与 SIGKILL 之间的秒数（{FAILURE_GRACE:g}；Ctrl-C 后 {INTERRUPT_GRACE:g}）",
    )
    facts_port: int = flag(
        6968,
        "own",
        "port of node 0 where nodes of an --ips job exchange what they saw ({default}; 0: off)",
        "--ips 任务中节点 0 用来交换故障信息的端口（{default}；0 表示关闭）",
    )
    job_secret: str | None = flag(
        None,
        "own",
        "the same on every node, or @FILE with it: only then do nodes believe what others tell, "
        "and stop with them; the variable keeps it out of lists of processes",
        "各节点相同的密钥，或写 @文件：只有这样节点才会相信其他节点的消息并随之停止；"
        "用环境变量设置可避免出现在进程列表中",
        SECRET_VARIABLE,
    )
    etcd_user: str | None = flag(
        None,
        "own",
        "user at the etcd of --master",
        "etcd 的用户名",
        "PDTRIAGE_ETCD_USER",
    )
    etcd_password: str | None = flag(
        None,
        "own",
        "password of that user, or @FILE with it; the variable keeps it out of lists of processes",
        "该用户的密码，或写 @文件；用环境变量设置可避免出现在进程列表中",
        PASSWORD_VARIABLE,
    )
    etcd_ca: str | None = flag(
        None,
        "own",
        "speak TLS with the etcd, whose certificate one of the authorities in this PEM file has "
        "signed",
        "与 etcd 使用 TLS 通信，其证书须由该 PEM 文件中的 CA 签发",
        "PDTRIAGE_ETCD_CA",
    )
    etcd_cert: str | None = flag(
        None,
        "own",
        "certificate to show to the etcd, a PEM file",
        "向 etcd 出示的客户端证书（PEM 文件）",
        "PDTRIAGE_ETCD_CERT",
    )
    etcd_key: str | None = flag(
        None,
        "own",
        "private key of that certificate, a PEM file",
        "该证书的私钥（PEM 文件）",
        "PDTRIAGE_ETCD_KEY",
    )
    ranks: str | None = flag(
        None, "own", "whose logs to show: 0,3 or all", "显示哪些进程的日志：0,3 或 all"
    )
    quiet: bool = flag(False, "own", "show no training log", "不显示训练日志")
    hang_after: str = flag(
        HANG_AFTER,
        "own",
        "say that the job stands still after so many seconds without a step or a line, learned "
        "from its own rhythm between these two ({default}); one number: after exactly that; "
        "0: never",
        "任务这么多秒没有新的 step 或输出时判为卡住：在这两个秒数之间按任务自身节奏学习"
        "（{default}）；只写一个数则恰为该秒数；0 表示从不",
    )
    on_hang: str = flag(
        "stacks",
        "own",
        "when the job stands still: report only says so, stacks also shows where every process "
        "is, stop also ends the job ({default})",
        "任务卡住时：report 只提示，stacks 同时显示每个进程停在哪里，"
        "stop 还会结束任务（{default}）",
        choices=("report", "stacks", "stop"),
    )
    timeout: float = flag(
        0.0,
        "own",
        "end the whole run after so many seconds, with the stacks of all processes (0: never)",
        "整个运行超过这么多秒后结束，并给出所有进程的调用栈（0 表示从不）",
    )
    analysis_budget: float = flag(
        ANALYSIS_BUDGET,
        "own",
        "seconds for the analysis when the job has ended ({default}); what could not be read in "
        "that time is named in the report",
        "任务结束后用于分析的秒数（{default}）；未能读完的内容会在报告中说明",
    )
    report: str | None = flag(
        None,
        "own",
        "also write the report to FILE, in the format of its name, or to FORMAT=FILE; "
        "may be repeated, also as -f",
        "把报告另存到 FILE，格式由文件名决定，或写成 FORMAT=FILE；可多次给出，也可写作 -f",
        aliases=("format",),
    )
    history: str | None = flag(
        None,
        "own",
        "also keep the report in this history of failures (node 0 does), and say whether the same "
        "failure was seen before; default: the variable PDTRIAGE_HISTORY, else none",
        "同时把报告存入该失败历史记录（由节点 0 保存），并说明同样的失败此前是否出现过；"
        "默认取自环境变量 PDTRIAGE_HISTORY，未设置则不保存",
    )
    notify: str | None = flag(
        None,
        "own",
        "tell people of a failure (node 0 does): URLs of apprise or of webhooks, separated by "
        "commas; default: the variable PDTRIAGE_NOTIFY, which keeps keys out of lists of processes",
        "失败时通知相关人员（由节点 0 发出）：apprise 的 URL 或 webhook 地址，用逗号分隔；"
        "默认取自环境变量 PDTRIAGE_NOTIFY，它可避免密钥出现在进程列表中",
    )
    lang: str | None = flag(None, "own", "en or zh", "en 或 zh", choices=("en", "zh"))
    parsers: str | None = flag(None, "own", "folder of further signatures", "额外特征库目录")

    secret: Secret = Secret()
    """What `job_secret` was; that itself is masked once it is read."""
    password: Secret = Secret()
    """The same of `etcd_password`."""
    addresses: Secret = Secret()
    """The same of `notify`."""
    training_script: str = ""
    training_script_args: tuple[str, ...] = ()
    help: bool = False
    argv: tuple[str, ...] = ()
    """As typed."""
    passthrough: tuple[str, ...] = ()
    """As typed, without our own flags: what Paddle's launcher gets."""
    given: frozenset[str] = frozenset()
    """Names that were set on the command line or by a variable."""
    device_flag: str = "devices"
    """How the cards were asked for: `gpus`, `xpus`, `npus`, `devices`."""
    notes: tuple[Text, ...] = ()
    """One line for every variable that overrode a flag."""
    others: Mapping[str, Any] = MappingProxyType({})
    """Values of the flags that only the verb asked for knows."""

    def answer_language(self, otherwise: Language) -> Language:
        return "zh" if self.lang == "zh" else "en" if self.lang == "en" else otherwise

    def failure_grace(self) -> float:
        return FAILURE_GRACE if self.grace is None else self.grace

    def interrupt_grace(self) -> float:
        return INTERRUPT_GRACE if self.grace is None else self.grace


FLAGS = flags_of(LaunchFlags)

HELP_HEAD = Text(
    "usage: pdtriage run [flags] train.py [its arguments]\n\n"
    "Starts a Paddle job like `python -m paddle.distributed.launch` and `fleetrun`,\n"
    "whose flags it takes with dashes or underscores, and says which rank failed\n"
    "first, and why.",
    "用法：pdtriage run [参数] train.py [脚本参数]\n\n"
    "与 `python -m paddle.distributed.launch` 和 `fleetrun` 一样启动 Paddle 任务，\n"
    "参数相同（横线与下划线均可），并指出哪个 rank 最先失败以及原因。",
)
HELP_GROUPS: dict[str, Text] = {
    "own": Text("Flags of pdtriage", "pdtriage 的参数"),
    "common": Text("Flags of both generations of Paddle's launcher", "新旧启动器共有的参数"),
    "new": Text("Flags of the new launcher", "新版启动器的参数"),
    "legacy": Text("Flags of the legacy launcher", "旧版启动器的参数"),
    "ps": Text("Parameter server", "参数服务器"),
    "elastic": Text("Elastic", "弹性训练"),
    "tuner": Text("Tuning (needs --launcher paddle)", "自动调优（需要 --launcher paddle）"),
}
