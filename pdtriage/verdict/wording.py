"""Sentences of the verdict, both languages side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from pdtriage.model import Event, Exit, LauncherStop, Text
from pdtriage.record.schema import named_node, stopped_node
from pdtriage.support.exit_codes import signal_name
from pdtriage.support.number_spans import spans

MOST_HOSTS = 4
MOST_SPANS = 16
"""A longer list of ranks says less than how many there are."""
AMPLE, SHARED = 0.9, 0.5
"""Shares of a limit of memory: a cgroup that never held more was not short of it; a process that
had no more was killed for what others held as well."""
DIED_FIRST = Text("the launcher saw it die first", "启动器看到它最先退出")
STATUS_UNSEEN = Text(
    "nobody saw its exit status, nor that of another process: that one may have failed",
    "没有看到它的退出状态，也没有看到另一个进程的：失败的也可能是后者",
)
FAILED_FIRST = Text("the launcher saw nobody fail before it", "启动器未看到有进程在它之前失败")
ONLY_PROCESS = Text("it is the only process of the job", "任务只有这一个进程")
ONLY_LOG = Text("its log is the only one here", "此处只有它的日志")
LAUNCHER_ITSELF = Text("the launcher itself ended with it", "启动器自身因此退出")
OWN_ERROR = Text("its own log ends with this error", "其日志以该错误结束")
NOT_ALL_READ = Text("there was no time to read all of the logs", "时间不够，日志没有全部读完")
BROKEN_OFF = Text(
    "a log here breaks off in the midst of a message: what came after that is missing",
    "此处有日志在一条信息中间断开，其后的内容缺失",
)
ONLY_WITH_ERROR = Text(
    "no other log here shows an error of its own", "此处其他日志均没有自身的错误"
)
NAMED_BY_LAUNCHER = Text("the launcher names it as failed", "启动器指出它失败")
SEVERAL_SUSPECTS = Text(
    "other ranks show errors of their own, and nothing tells which came first",
    "其他 rank 也有自身的错误，无法确定先后",
)
ONLY_QUIET_ONE = Text(
    "the others lost a peer, and it is the only one whose log is silent about that",
    "其他 rank 都报告失去对端，只有它的日志没有任何相关信息",
)
LEFT_BEHIND = Text(
    "the others had got further and ended, and it stood still for long before it was stopped",
    "其他 rank 训练的步数更多且已结束，而它在被停止之前早已停滞",
)
LAST_WORD_IS_AN_ERROR = Text(
    "its log ends with an error, and all the others got further",
    "其日志以一条错误结束，而其他 rank 训练的步数都更多",
)
OTHERS_LOST_WORKERS = Text(
    "loader workers of all the others ended, as they do when a launcher stops a job, and it says "
    "nothing of that",
    "其他 rank 的数据子进程都退出了（启动器停止任务时就是这样），而它的日志对此只字未提",
)
SILENT = Text("its log stops without an error", "其日志没有任何报错就中断了")
TRACEBACK_MISSING = Text(
    "the log ends with an exception; the traceback above it is not there",
    "日志以一个异常结束，但缺少其上方的 traceback",
)
LOG_MISSING = Text("its log is not among the files given", "所给文件中没有它的日志")
STOOD_STILL = Text(
    "no rank had made a step for many times as long as a step takes",
    "所有 rank 停滞的时间都远超平时一步所需的时间",
)
ENDED_EARLY = Text(
    "it ended with exit code 0 while the others were still training",
    "其他 rank 仍在训练时，它以退出码 0 提前结束",
)
STOPPED_BEFORE_OTHERS = Text(
    "it was stopped with SIGTERM before the others failed, and they failed because of that",
    "它先被 SIGTERM 终止，其他 rank 因此失败",
)
STOPPED_AFTER_OTHERS = Text(
    "its log stops without an error, and the launcher stopped it only when others had lost it",
    "其日志没有任何报错就中断了，其他 rank 与它失去连接之后启动器才停止它",
)
NOTHING_STARTED = Text(
    "the launcher was still waiting for other nodes when it ended",
    "启动器结束时仍在等待其他节点",
)
ELSEWHERE = Text(
    "all ranks gave up waiting for each other, and it waited in another place than the rest",
    "所有 rank 都因互相等待而超时，只有它等待的位置与其他 rank 不同",
)
SENT_TO_ALL_OTHERS = Text(
    "all the others expected the same and got the same other size: it is the odd one",
    "其他 rank 的预期都相同，收到的大小也都同样不符：它是不一致的那个",
)
SENT_TO_SEVERAL = Text(
    "several others expected the same and got the same other size: one rank sent it to all of"
    " them, and broadcasts come from the first",
    "多个 rank 的预期相同，收到的大小也同样不符：由同一个 rank 发出，而广播来自首个 rank",
)
IN_TWO_PLACES = Text(
    "both ranks waited for the other one, each in another place of the program",
    "两个 rank 互相等待，但停在程序的不同位置",
)
KERNEL_SAYS = Text("the kernel log names its process", "内核日志点名了该进程")
KERNEL_TELLS = Text("the kernel log reports it", "内核日志报告了它")
KERNEL_KILLED_SOMEBODY = Text(
    "the kernel log shows that a process was killed for memory, though not whose",
    "内核日志显示有进程因内存不足被杀，但无法确认是否就是它",
)
NOBODY_NAMED = Text("the message does not say which peer is missing", "该信息没有说明是哪个对端")
STOPPED_MOVING = Text(
    "the log stops between two steps: no error, no end, and the cards are busy",
    "日志停在两步之间：没有报错，也没有结束，而显卡仍在忙碌",
)
LOOKED_AT = Text(
    "the log stops between two steps: no error, no end, and somebody looked where it stands",
    "日志停在两步之间：没有报错，也没有结束，且有人查看过它停在何处",
)
UNREACHED_BY_RAS = Text(
    "asked while the job ran, the other processes (NCCL RAS) could not reach it",
    "任务运行时查询 NCCL RAS，其他进程无法联系到它",
)
STUCK_AT_START = Text(
    "the log stops before the first step: no error, no end, and somebody looked where it stands",
    "日志停在第一步之前：没有报错，也没有结束，且有人查看过它停在何处",
)
WHAT_TELLS_AN_END = Text(
    "it may still run, have ended or been killed without a word, or hang: `pdtriage watch LOG_DIR` "
    "shows whether the logs grow and who writes them, and a job started with `pdtriage run` "
    "leaves a record of how every process ended (more: `pdtriage explain verdict.cut-short`)",
    "任务可能仍在运行、已无声结束或被杀死，也可能卡住：`pdtriage watch 日志目录` "
    "可看出日志是否增长、由谁写入；用 `pdtriage run` 启动的任务会记录每个进程如何结束"
    "（更多说明：`pdtriage explain verdict.cut-short`）",
)
STOPPED_WITH_PEERS = Text(
    "the launcher stopped its ranks one after the other with SIGTERM; whoever shows an error had "
    "lost one of those",
    "启动器用 SIGTERM 依次停止各 rank；报错的 rank 只是失去了其中某个已被停止的对端",
)
RECORDED_STOP = Text(
    "its own record says that the run was stopped by a signal, before anything had failed",
    "运行记录显示该运行被信号终止，此前没有任何失败",
)
ALL_STOPPED = Text(
    "every rank was stopped with SIGTERM and none shows an error of its own",
    "所有 rank 都被 SIGTERM 终止，且没有自身的错误",
)
ONLY_VICTIMS = Text(
    "whoever speaks here was stopped with SIGTERM, and not all logs of the job are here",
    "此处有日志的进程都是被 SIGTERM 终止的，而任务的日志并不齐全",
)
NOT_STOPPED = Text(
    "the others were stopped with SIGTERM and it was not: it seems to have ended before",
    "其他进程被 SIGTERM 终止而它没有：它似乎在此之前就已退出",
)
SEEN_BY_KUBELET = Text("Kubernetes saw the end of its container", "Kubernetes 看到了其容器的退出")
NO_SHARED_MEMORY = Text(
    "its pod mounts nothing at /dev/shm, so there are 64 MiB of shared memory",
    "其 Pod 没有挂载 /dev/shm，共享内存只有 64 MiB",
)
SAID_BY_RUN = Text(
    "`pdtriage run`, which watched the job, says so at the end of its console",
    "`pdtriage run` 全程监视该任务，并在其控制台末尾如此报告",
)

REPORTED_LIVE = Text(
    "`pdtriage run`, which had all logs, said so in its report; not all of them are here",
    "`pdtriage run` 当时掌握全部日志，并在其报告中如此说明；此处的日志并不齐全",
)


def answer_is_with(missing: Mapping[str, Collection[int]]) -> Text:
    """Tells people on which hosts the logs are that would settle it."""
    hosts = list(missing.items())[:MOST_HOSTS]
    more = " …" if len(missing) > len(hosts) else ""
    en = "; ".join(f"rank{'s' * (len(own) > 1)} {rank_list(own)} on {host}" for host, own in hosts)
    zh = "；".join(f"{host} 上的 rank {rank_list(own)}" for host, own in hosts)
    return Text(
        f"the answer is in the logs of {en}{more}",
        f"原因应在以下日志中：{zh}{more}",
    )


def rank_list(ranks: Iterable[int]) -> str:
    """`0-3, 5, 6`: runs of more than two numbers folded, as in all of the report."""
    return ", ".join(spans(ranks))


def accused_by(ranks: Collection[int]) -> Text:
    who = rank_list(ranks)
    if who.count(",") >= MOST_SPANS:
        many, first, last = len(ranks), min(ranks), max(ranks)
        return Text(
            f"{many} of the ranks {first}-{last} name it as the peer that was lost",
            f"rank {first}-{last} 中有 {many} 个指明与它的连接中断",
        )
    plural = "," in who or "-" in who
    name_it = f"ranks {who} name it" if plural else f"rank {who} names it"
    return Text(
        f"{name_it} as the peer that was lost",
        f"rank {who} 指明与它的连接中断",
    )


def after_a_silence(nodes: Collection[int]) -> Text:
    who = rank_list(nodes)
    return Text(
        f"but node {who} had stopped answering before: it may have lost that node",
        f"但节点 {who} 在此之前已停止响应：它可能只是失去了该节点",
    )


def same_on_all(count: int) -> Text:
    return Text(f"the same error on all {count} ranks", f"全部 {count} 个 rank 报同样的错误")


def went_on(steps: int) -> Text:
    return Text(
        f"it made {steps} more step{'s' if steps != 1 else ''} after the error and then stopped",
        f"报错之后它又训练了 {steps} 步才停止",
    )


def ended_by_signal(number: int) -> Text:
    return Text(f"it was ended by {signal_name(number)}", f"它被 {signal_name(number)} 终止")


def counted_kill(ending: Exit) -> Text:
    """What the kernel's count of kills for memory says of a SIGKILL."""
    if not ending.for_memory:
        return Text(
            "the kernel counted no kill for lack of memory: somebody sent it, and nobody saw who",
            "内核没有因内存不足而杀死它的记录：信号由人或某个程序发出，但不知道是谁",
        )
    return Text(
        "the kernel counted a kill for lack of memory in its cgroup then",
        "内核记录到当时其 cgroup 中有进程因内存不足被杀死",
    )


def cgroup_peak(ending: Exit) -> Text | None:
    """What the most that all processes of its cgroup ever held adds to that count: that memory was
    not short, or that others held it. None where it adds nothing: cached files fill a cgroup too.
    """
    peak, limit, before = (
        ending.memory_peak_kb,
        ending.memory_limit_kb,
        ending.memory_peak_before_kb,
    )
    if not peak or not limit:
        return None
    held, most = memory_size(peak), memory_size(limit)
    if not ending.for_memory:
        if peak > AMPLE * limit:
            return None
        return Text(
            f"its cgroup never held more than {held} of {most}",
            f"其 cgroup 占用的内存最多为 {held}，上限为 {most}",
        )
    if ending.max_rss_kb is None or ending.max_rss_kb > SHARED * limit:
        return None
    grown = before is not None and before < peak
    was = memory_size(before or 0)
    return Text(
        f"all processes of its cgroup together came to {held} of {most}"
        + (f", from {was} at most before they were started" if grown else ""),
        f"其 cgroup 的所有进程共占用 {held}，上限为 {most}"
        + (f"（启动之前最多 {was}）" if grown else ""),
    )


def memory_size(kb: int) -> str:
    """A size in kB as people read it: `61.3 GB`, `512 MB`."""
    return f"{kb / (1 << 20):.1f} GB" if kb >= 1 << 20 else f"{kb >> 10} MB"


def ended_with_code(code: int) -> Text:
    return Text(f"it ended with exit code {code}", f"它以退出码 {code} 结束")


def behind_text(step: int, others: int) -> Text:
    return Text(
        f"its last step is {step}, the others reached {others}",
        f"它的最后一步是 {step}，其他 rank 已到 {others}",
    )


def stood_still_text(seconds: float) -> Text:
    return Text(
        f"the job had not moved for {seconds:.0f} s when it was ended",
        f"任务被结束时已 {seconds:.0f} 秒没有前进",
    )


def at_earlier_collective(own: int, others: int) -> Text:
    return Text(
        f"by its watchdog it stands at collective {own} of the group; the others wait at {others}",
        f"按看门狗的输出，它停在该通信组的第 {own} 次集合通信，其他 rank 已在第 {others} 次等待",
    )


def not_in_collective(operation: str, sequence: int) -> Text:
    name = f"{operation} (number {sequence})" if operation else f"collective {sequence}"
    named = f"{operation}（第 {sequence} 次）" if operation else f"第 {sequence} 次集合通信"
    return Text(
        f"the watchdogs of all others in its group report that {name} did not finish; its own does "
        "not",
        f"同组其他 rank 的看门狗都报告 {named}未完成，只有它没有",
    )


def fewer_operations(own: int, others: int, operation: str) -> Text:
    operation = "" if operation == "collective" else f"{operation} "
    return Text(
        f"asked while the job ran, NCCL (RAS) had counted {own} {operation}operations that it "
        f"launched, {others} of the others",
        f"任务运行时查询 NCCL（RAS），它只启动了 {own} 次 {operation}操作，"
        f"其他 rank 为 {others} 次",
    )


def not_waiting(operation: str) -> Text:
    return Text(
        f"the others were waiting in {operation} when they were stopped; it was not",
        f"其他 rank 被终止时都在等待 {operation}，只有它不在",
    )


def launcher_stopped(stop: LauncherStop) -> Text:
    if stop.node is not None:
        return stopped_node(stop.node, stop.host or "", stop.signal)
    by = signal_name(stop.signal)
    return Text(f"told to stop by {by}", f"收到 {by}，按要求停止")


def stopped_elsewhere(stop: LauncherStop) -> Text:
    node = named_node(stop.node or 0, stop.host or "")
    return Text(
        f"{node.en} was told to stop, before anything had failed here",
        f"{node.zh}被要求停止，此前这里没有任何失败",
    )


def stopped_answering(node: int, host: str | None) -> Text:
    where = f" ({host})" if host else ""
    return Text(
        f"node {node}{where} stopped answering before anything failed here",
        f"节点 {node}{where} 在这里发生任何失败之前就停止了响应",
    )


def outsider(pid: int | None, program: str = "") -> Text:
    who = f" (pid {pid}{f', {program}' if program else ''})" if pid is not None else ""
    return Text(
        f"it got SIGTERM from a process that is not the launcher{who}",
        f"它收到的 SIGTERM 并非来自启动器{who}",
    )


def same_rank(rank: int, first: str, second: str) -> Text:
    return Text(
        f"{first} and {second} both say they are rank {rank}",
        f"{first} 与 {second} 都自称 rank {rank}",
    )


def nodes_differ(sizes: list[str]) -> Text:
    return Text(
        f"one launcher waits for {sizes[0]} nodes, another one for {sizes[1]}",
        f"一个启动器等待 {sizes[0]} 个节点，另一个等待 {sizes[1]} 个",
    )


def accused_address(address: str) -> Text:
    return Text(f"the peer named is {address}", f"被指明的对端是 {address}")


WITHOUT_END = Text("without an error and without an end", "没有报错，也没有结束")
WITHOUT_END_BUT_ERROR = Text("without an end", "没有结束")


def stops_without_step(missing: Text) -> Text:
    return Text(
        f"the logs stop {missing.en}, and tell no step",
        f"日志就此中断，{missing.zh}，且没有任何训练步",
    )


def stops_at_step(step: int, total: int | None, missing: Text) -> Text:
    of, zh = (f" of {total}", f"/{total}") if total else ("", "")
    return Text(
        f"the logs stop at step {step}{of}, {missing.en}",
        f"日志停在第 {step}{zh} 步，{missing.zh}",
    )


def stops_in_epoch(epoch: int, total: int, missing: Text) -> Text:
    return Text(
        f"the logs stop in epoch {epoch} of {total}, {missing.en}",
        f"日志停在第 {epoch}/{total} 个 epoch，{missing.zh}",
    )


def stops_in_bar(done: int, total: int, missing: Text) -> Text:
    return Text(
        f"the last progress bar stops at {done} of {total}, {missing.en}",
        f"最后的进度条停在 {done}/{total}，{missing.zh}",
    )


def went_on_before_open_end(place: str, title: Text, steps: bool) -> Text:
    """What stood right before a log stops may be why, if a reader or a thread died of it."""
    went_on, zh = ("made steps", "仍走了几步") if steps else ("wrote on", "仍有输出")
    return Text(
        f"shortly before, an error stands there, after which the process still {went_on}: "
        f"{title.en} ({place}). If nobody stopped the job, begin there.",
        f"在此之前不久有一处报错，之后进程{zh}：{title.zh}（{place}）。"
        "若任务不是被人停止的，请从这里查起。",
    )


def breaks_off_in_traceback(file: str, line: str) -> Text:
    return Text(
        f"the last line is within a traceback, at {file}:{line}: the process was about to end with "
        "an exception, which the log does not name any more.",
        f"最后一行位于异常栈中（{file}:{line}）：进程正因异常退出，但日志没来得及写出是什么异常。",
    )


def failed_on_way_out(ended: Event, saved: Event | None) -> Text:
    where = saved.fields.get("path", "") if saved else ""
    en = f"its training had ended before that (line {ended.line}: {ended.text.strip()[:80]})"
    zh = f"在此之前训练已经结束（第 {ended.line} 行：{ended.text.strip()[:80]}）"
    if saved is None:
        return Text(f"{en}; no saved model is told of", f"{zh}；日志没有提到保存过模型")
    place = where or f"line {saved.line}"
    return Text(f"{en}; the last model was saved: {place}", f"{zh}；最后保存的模型：{place}")


def last_time_in_logs(moment: str) -> Text:
    return Text(f"the last time they tell is {moment}", f"其中最后的时间是 {moment}")


def rhythm(seconds: float) -> Text:
    en, zh = _duration(seconds)
    return Text(f"until then a step was told every {en}", f"此前约每 {zh}打印一次进度")


def silent_for(seconds: float) -> Text:
    en, zh = _duration(seconds)
    return Text(f"nothing has been written for {en}", f"至今已 {zh}没有输出")


def _duration(seconds: float) -> Text:
    """Two significant digits are enough for a person: `2 s`, `13 min`, `31 h`, `4 days`."""
    for size, en, zh in ((86400, "days", "天"), (3600, "h", "小时"), (60, "min", "分钟")):
        if seconds >= 2 * size:
            return Text(f"{seconds / size:.0f} {en}", f"{seconds / size:.0f} {zh}")
    short = f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"
    return Text(f"{short} s", f"{short} 秒")


def ips_differ(first: str, second: str) -> Text:
    return Text(
        f"one node was given --ips {first}, another {second}",
        f"一个节点的 --ips 为 {first}，另一个为 {second}",
    )


def launcher_was_stopped(number: int | None) -> Text:
    what = signal_name(number) if number else "a signal"
    zh = signal_name(number) if number else "信号"
    return Text(f"the launcher itself received {what}", f"启动器自身收到 {zh}")


def cluster_says(fields: Mapping[str, str]) -> Text:
    """`Kubernetes says of train-worker-1 on gpu07: OOMKilled, exit code 137, limit 16Gi`."""
    en = f"Kubernetes says of {fields.get('pod', '?')}"
    zh = f"Kubernetes 称 {fields.get('pod', '?')}"
    if "machine" in fields:
        en, zh = f"{en} on {fields['machine']}", f"{zh}（机器 {fields['machine']}）"
    en, zh = f"{en}: {fields.get('reason', '?')}", f"{zh}：{fields.get('reason', '?')}"
    if "exit_code" in fields:
        en, zh = f"{en}, exit code {fields['exit_code']}", f"{zh}，退出码 {fields['exit_code']}"
    if "limit" in fields:
        en, zh = f"{en}, limit {fields['limit']}", f"{zh}，上限 {fields['limit']}"
    if "message" in fields:
        en, zh = f"{en}; {fields['message']}", f"{zh}；{fields['message']}"
    return Text(en, zh)
