"""Hand-made reports, as the verdict would hand them over."""

from __future__ import annotations

from pdtriage.model import (
    Baseline,
    CardHistory,
    Cause,
    Difference,
    Evidence,
    Frame,
    JobRow,
    Moment,
    Node,
    ProcessStack,
    RankRow,
    Report,
    Run,
    Standstill,
    Straggler,
    Text,
    VerdictWord,
    Victim,
    VictimReason,
)

START = 1_763_250_000.0


def io_error() -> Cause:
    return Cause(
        category="data.io",
        signature="data.errno5",
        title=Text(
            "DataLoader I/O error: reading a file failed with errno 5",
            "读取数据时发生 I/O 错误（errno 5）",
        ),
        role="worker",
        rank=1,
        ranks=(1,),
        host="192.168.0.12",
        local_rank=1,
        device="gpu:1",
        confidence="likely",
        why=(
            Text(
                "ranks 0, 2 and 3 name rank 1 as the peer they lost",
                "rank 0、2、3 都指出失去的对端是 rank 1",
            ),
            Text("only rank 1 has an error of its own", "只有 rank 1 有自身的错误"),
        ),
        evidence=(
            Evidence(
                file="log/workerlog.1",
                line=312,
                offset=20_480,
                text="OSError: [Errno 5] Input/output error: '/mnt/ds/train/00017.jpg'",
                before=(
                    '  File "/opt/train/reader.py", line 31, in __getitem__',
                    "    return decode(path.read_bytes())",
                    '  File "/usr/lib/python3.11/pathlib.py", line 1050, in read_bytes',
                    "    return f.read()",
                ),
                after=("Exception ignored in: <function _MultiProcessingDataLoaderIter>",),
            ),
        ),
        frame=Frame("/opt/train/reader.py", 31, "__getitem__"),
        fields={"path": "/mnt/ds/train/00017.jpg", "errno": "5"},
        advice=(
            Text(
                "Read the file by hand on that host: dd if=/mnt/ds/train/00017.jpg of=/dev/null",
                "在该主机上手动读取这个文件：dd if=/mnt/ds/train/00017.jpg of=/dev/null",
            ),
            Text(
                "Look for errors of the disk or mount: dmesg -T | tail -50",
                "查看磁盘或挂载是否报错：dmesg -T | tail -50",
            ),
            Text(
                "Copy the dataset anew, or skip unreadable files in the Dataset.",
                "重新拷贝数据集，或在 Dataset 中跳过无法读取的文件。",
            ),
        ),
        fingerprint="1:0f3c9a7e5b21d4c8",
    )


def failed() -> Report:
    """Four ranks; rank 1 could not read a file, the others lost their peer or were stopped."""
    return Report(
        verdict="failed",
        language="en",
        job=JobRow(
            id="default",
            mode="collective",
            launcher="paddle",
            world_size=4,
            nodes=(Node(0, "192.168.0.11"), Node(1, "192.168.0.12")),
        ),
        runs=(Run(1, 1, 1, START, START + 95, "failed"),),
        run=1,
        root_causes=(io_error(),),
        victims=(
            Victim(0, "worker", "192.168.0.11", "peer", 1, 0),
            Victim(2, "worker", "192.168.0.12", "stopped", 1, 0),
            Victim(3, "worker", "192.168.0.12", "stopped", 1, 1),
        ),
        ranks=tuple(
            RankRow(
                rank=rank,
                role="worker",
                host="192.168.0.11" if rank < 2 else "192.168.0.12",
                local_rank=rank % 2,
                device=f"gpu:{rank % 2}",
                files=(f"log/workerlog.{rank}",),
                status="failed" if rank == 1 else "victim",
                exit_code=1 if rank == 1 else None,
                signal=None if rank == 1 else 15,
                last_step=120,
                last_seen=START + 90 + rank,
                first_seen=START + 4,
                last_progress=START + 85,
                progress=tuple((START + 10 + 15 * n, 24 * n) for n in range(6)),
                moments=life(rank, rank == 1, START + 90 + rank),
            )
            for rank in range(4)
        ),
        timeline=(
            Moment(START, None, "start", Text("started 4 ranks", "启动了 4 个 rank"), "launcher"),
            Moment(START + 90, 1, "cause", Text("OSError: [Errno 5]", "OSError: [Errno 5]")),
            Moment(START + 91, 0, "symptom", Text("lost its peer rank 1", "失去对端 rank 1")),
            Moment(None, 2, "victim", Text("stopped by the launcher", "被启动器停止")),
        ),
        notes=(Text("log/workerlog.9 is empty", "log/workerlog.9 是空文件"),),
        baseline=Baseline(3, "/good/log"),
        differences=(
            Difference(
                "reached",
                Text("the good run reached step 900, this one step 120", "正常的运行到达第 900 步"),
                "step 900",
                "step 120",
            ),
            Difference(
                "printed",
                Text("only this run: slow reads", "只有这次出现：slow reads"),
                None,
                "slow reads",
                "log/workerlog.1:300",
            ),
        ),
        stragglers=(Straggler((2,), "10.0.0.2", 1.8, 0.9, 0.5, 212, 190.8, "likely"),),
    )


def succeeded() -> Report:
    report = failed()
    return report._replace(
        verdict="succeeded",
        runs=(report.runs[0]._replace(verdict="succeeded"),),
        root_causes=(),
        victims=(),
        ranks=tuple(
            row._replace(status="finished", exit_code=0, signal=None) for row in report.ranks
        ),
        timeline=(),
        notes=(),
        baseline=None,
        differences=(),
        stragglers=(),
    )


def empty(verdict: VerdictWord = "unknown") -> Report:
    """Nothing is known but the verdict."""
    return Report(
        verdict=verdict,
        language="en",
        job=JobRow(id=None, mode="unknown", launcher="unknown", world_size=None, nodes=()),
        runs=(),
        run=None,
        root_causes=(),
        victims=(),
        ranks=(),
        timeline=(),
    )


def hung() -> Report:
    """Four ranks; rank 1 waits for its loader worker, the others wait for rank 1."""
    waiting = (
        Frame("/v/site-packages/paddle/distributed/collective.py", 9, "all_reduce"),
        Frame("/opt/train/train.py", 88, "train"),
    )
    loading = (
        Frame("/v/site-packages/paddle/io/dataloader/dataloader_iter.py", 850, "__next__"),
        Frame("/opt/train/train.py", 60, "train"),
    )
    opening = (Frame("/opt/train/reader.py", 31, "Reader.__getitem__"),)
    stacks = [ProcessStack(100 + rank, rank=rank, frames=waiting) for rank in (0, 2, 3)]
    stacks += [
        ProcessStack(101, rank=1, frames=loading),
        ProcessStack(201, rank=1, helper=True, frames=opening),
    ]
    return failed()._replace(
        verdict="hung",
        root_causes=(io_error()._replace(category="hang", signature="verdict.hang"),),
        standstill=Standstill(START + 90, "hang", 70.0, 60.0, tuple(stacks)),
    )


def in_chinese(report: Report) -> Report:
    return report._replace(language="zh")


def large(ranks: int = 1024) -> Report:
    """A job of many ranks on nodes of eight; one could not read a file, all others went with it."""
    report = failed()
    cause = io_error()._replace(rank=ranks - 7, ranks=(ranks - 7,))
    reasons: tuple[VictimReason, ...] = ("peer", "stopped", "stopped", "collateral")
    others = [rank for rank in range(ranks) if rank != cause.rank]
    return report._replace(
        job=report.job._replace(
            world_size=ranks,
            nodes=tuple(Node(node, _host(node)) for node in range(ranks // 8)),
        ),
        root_causes=(cause,),
        victims=tuple(
            Victim(r, "worker", _host(r // 8), reasons[r % 4], cause.rank, r % 8) for r in others
        ),
        ranks=tuple(
            RankRow(
                rank=rank,
                role="worker",
                host=_host(rank // 8),
                local_rank=rank % 8,
                device=f"gpu:{rank % 8}",
                files=(f"node{rank // 8}/log/workerlog.{rank % 8}",),
                status="failed" if rank == cause.rank else "victim",
                exit_code=1 if rank == cause.rank else None,
                signal=None if rank == cause.rank else (6 if rank % 4 == 0 else 15),
                last_step=120 + rank % 3,
                last_seen=START + 90 + rank / 100,
                first_seen=START + 5,
                last_progress=START + 80,
                progress=tuple((START + 10 + 9 * n + rank / 999, 15 * n) for n in range(8)),
                moments=life(rank, rank == cause.rank, START + 90 + rank / 100),
            )
            for rank in range(ranks)
        ),
        timeline=tuple(
            Moment(START + 80 + n / 4, n * 20, "symptom", Text("lost a peer", "失去对端"))
            for n in range(40)
        ),
    )


def with_course(report: Report) -> Report:
    """The same, with steps and losses that its logs tell; the culprit became slower and slower."""
    blamed = report.root_causes[0].rank
    points = min(60, 8192 // len(report.ranks))
    times = [START + 10 + 70 * n / points for n in range(points)]
    rows = tuple(
        row._replace(
            pace=tuple(
                (t, 4.0 - (2.0 * n / (points - 1) if row.rank == blamed else 0.0))
                for n, t in enumerate(times)
            ),
            losses=tuple((t, 4 * n, 2.5 / (n + 1)) for n, t in enumerate(times)),
        )
        for row in report.ranks
    )
    small = [row for row in rows if len(rows) <= 16]
    cards = tuple(
        CardHistory(row.host, row.device or "", 32510, ((START, 0, 3), (START + 60, 97, 28000)))
        for row in small
    )
    return report._replace(ranks=rows, cards=cards)


def life(rank: int, culprit: bool, end: float) -> tuple[Moment, ...]:
    """Of one rank; the victims were stopped."""
    retried = Text("a read was tried again (× 3)", "重试读取（3 次）")
    said: list[tuple[float, str, Text]] = [
        (START + 5, "start", Text("started", "启动")),
        (START + 40, "warning", retried),
    ]
    if culprit:
        said += [(end - 1, "error", Text("OSError: [Errno 5]", "OSError: [Errno 5]"))]
        said += [(end, "exit", Text("exited with code 1", "以退出码 1 结束"))]
    else:
        said += [(end - 1, "symptom", Text("lost a peer", "失去对端"))]
        said += [(end - 0.5, "signal", Text("stopped by the launcher", "被启动器停止"))]
        said += [(end, "exit", Text("ended by SIGTERM", "被 SIGTERM 终止"))]
    return tuple(Moment(t, rank, kind, text, about=kind == "error") for t, kind, text in said)


def _host(node: int) -> str:
    return f"10.11.{node // 250}.{node % 250 + 1}"
