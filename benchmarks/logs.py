"""Logs to measure with: jobs that died, and quiet ones.

    python benchmarks/logs.py FOLDER a b c d quiet-a quiet-b quiet-c quiet-d small [--mb 1000]

a: one file; b: 1024 files of 1 MB; c: 8192 files of 64 kB, half as many bytes; d: one file in which
every fifth line looks alarming; small: eight ranks, 1 MB together. The same arguments give the same
bytes.

When a job dies, every rank ends with an error or a block of its own: rank 1 (or the only file)
could not read its data, the others were stopped, lost a peer by gloo or by NCCL. Before that each
rank logs in one of five ways, all of them with what NCCL and glog print, bars of hundreds of
returns in one line, Chinese, and every 1.5 MB a line that resembles an alarm. In b and d a run that
somebody interrupted stands before it in the same file.

In the quiet sets all ranks log alike, rank 1 ends with its error, and the others in mid-training.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pdtriage.knowledge import load_knowledge
from pdtriage.model import Event, LogFile
from pdtriage.scan import Engine, scan

SETS = ("a", "b", "c", "d")
QUIET = tuple(f"quiet-{name}" for name in SETS)
STARTED = 1_700_000_000
STEPS_PER_EPOCH = 5_000
VARIETY = 200
"""Different steps of a log, which come again with other counters."""
BYTES_PER_ALARM = 1_500_000
RANKS_OF_A_HOST = 8
OF_ANOTHER_JOB = re.compile(r"\d\d:\d\d|20\d\d|LAUNCH|^INFO|\bPID\b")
"""Lines with dates and processes of their own, which no run of ours would write."""
ALARMING_ROLES = frozenset({"cause", "symptom", "victim"})

CULPRIT = b"""Traceback (most recent call last):
  File "/srv/train/train.py", line 88, in <module>
    main()
  File "/srv/train/train.py", line 61, in main
    for step, (images, labels) in enumerate(loader()):
  File "/srv/train/reader.py", line 23, in __getitem__
    raw = open(path, "rb").read()
OSError: [Errno 5] Input/output error: '/data/part-00317.rec'
"""
STOPPED = """

--------------------------------------
C++ Traceback (most recent call last):
--------------------------------------
No stack trace in paddle, may be caused by external reasons.

----------------------
Error Message Summary:
----------------------
FatalError: `Termination signal` is detected by the operating system.
  [TimeInfo: *** Aborted at {now} (unix time) try "date -d @{now}" if you are using GNU date ***]
  [SignalInfo: *** SIGTERM (@0x22a1) received by PID {pid} (TID {thread:#x}) from PID 8865 ***]

"""
GLOO = """terminate called after throwing an instance of 'gloo::IoException'
  what():  [../gloo/gloo/transport/tcp/pair.cc:575] Connection closed by peer [{peer}]:{port}


--------------------------------------
C++ Traceback (most recent call last):
--------------------------------------
0   paddle::distributed::ProcessGroupGloo::AllReduce(paddle::Tensor&)
1   gloo::transport::tcp::Pair::handleEvents(int)

----------------------
Error Message Summary:
----------------------
FatalError: `Process abort signal` is detected by the operating system.
  [TimeInfo: *** Aborted at {now} (unix time) try "date -d @{now}" if you are using GNU date ***]
  [SignalInfo: *** SIGABRT (@0x{pid:x}) received by PID {pid} (TID {thread:#x}) from PID {pid} ***]

"""
NCCL = """{host}:{pid}:{pid} [{card}] misc/socket.cc:50 NCCL WARN socketProgress: Connection \
closed by remote peer {peer}<{port}>
{host}:{pid}:{pid} [{card}] NCCL INFO transport/net_socket.cc:493 -> 6
Traceback (most recent call last):
  File "/srv/train/train.py", line 88, in <module>
    main()
  File "/srv/train/train.py", line 66, in main
    loss.backward()
  File "/opt/paddle/base/dygraph/tensor_patch_methods.py", line 342, in backward
    core.eager.run_backward([self], grad_tensor, retain_graph)
OSError: (External) NCCL error(6), remote process exited or there was a network error.
  [Hint: 'ncclRemoteError'. A call failed possibly due to a network error or a remote process \
exiting prematurely.] (at ../paddle/fluid/distributed/collective/process_group_nccl.cc:252)

"""
INTERRUPTED = b"""Traceback (most recent call last):
  File "/srv/train/train.py", line 88, in <module>
    main()
  File "/srv/train/train.py", line 66, in main
    loss.backward()
KeyboardInterrupt
"""
NCCL_AT_START = (
    "NCCL INFO Bootstrap : Using eth0:{peer}<0>",
    "NCCL INFO NET/Plugin : No plugin found (libnccl-net.so), using internal implementation",
    "NCCL INFO NCCL_IB_DISABLE set by environment to 0.",
    "NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:{peer}<0>",
    "NCCL INFO Setting affinity for GPU {card} to ffff,ffffffff",
    "NCCL INFO Channel 00/02 :    0   1   2   3   4   5   6   7",
    "NCCL INFO Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1",
    "NCCL INFO Channel 00/0 : 0[{card}] -> 1[{card}] via P2P/IPC/read",
    "NCCL INFO Connected all rings",
    "NCCL INFO Connected all trees",
    "NCCL INFO threadThresholds 8/8/64 | 64/8/64 | 512 | 512",
    "NCCL INFO 2 coll channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer",
    "NCCL INFO comm 0x5583a1 rank {card} nranks 8 cudaDev {card} busId 8a000 - Init COMPLETE",
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="+", choices=(*SETS, *QUIET, "small"))
    parser.add_argument("--mb", type=int, default=1000)
    arguments = parser.parse_args()
    for name in arguments.sets:
        write_set(name, arguments.folder / name, arguments.mb)


def write_set(name: str, folder: Path, megabytes: int) -> Path:
    """A log folder; `small` has its own size."""
    folder.mkdir(parents=True)
    write = _write_quiet if name.startswith("quiet-") else _write_dead
    name, whole = name.removeprefix("quiet-"), megabytes * 1_000_000
    ranks, size = 1, whole
    if name == "small":
        ranks, size = 8, 1_000_000 // 8
    elif name == "b":
        ranks, size = max(2, whole * 1024 // 1_000_000_000), 1_000_000
    elif name == "c":
        ranks, size = max(2, whole * 8192 // 1_000_000_000), 65_536
    alarms = _alarms(with_samples=name == "d")
    for rank in range(ranks):
        path = folder / f"workerlog.{rank}"
        write(path, size, rank, 1 if ranks > 1 else 0, alarms, name)
    return folder


def _write_dead(
    path: Path, size: int, rank: int, culprit: int, alarms: list[bytes], name: str
) -> None:
    """One or two runs; in the last of them everybody dies."""
    dice = random.Random(rank)
    share = 0.2 if name == "d" else 0.0
    with path.open("wb") as file:
        if name in ("b", "d"):
            _write_run(file.write, size // 3, dice, rank, alarms, share, STARTED, INTERRUPTED)
            size -= size // 3
        began = STARTED + 86_400
        end = CULPRIT if rank == culprit else _death(dice, rank, began + 3_600)
        _write_run(file.write, size, dice, rank, alarms, share, began, end)


def _write_run(
    write: Callable[[bytes], int],
    size: int,
    dice: random.Random,
    rank: int,
    alarms: list[bytes],
    share: float,
    began: int,
    end: bytes,
) -> None:
    """What one process writes; `share` of its lines are alarming."""
    left = size - len(end) - write(_dead_opening(rank, began))
    until_alarm = dice.randrange(BYTES_PER_ALARM)
    for page in _dead_pages(dice, rank, began, alarms, share):
        until_alarm -= len(page)
        if until_alarm < 0:
            until_alarm = BYTES_PER_ALARM
            page += dice.choice(alarms) + b"\n"
        if len(page) > left:
            write(page[: page.rfind(b"\n", 0, max(1, left)) + 1])
            break
        left -= write(page)
    write(end)


def _death(dice: random.Random, rank: int, now: int) -> bytes:
    """How a rank ends that lost another, or was stopped by the launcher."""
    return (
        dice.choice((STOPPED, GLOO, NCCL))
        .format(
            now=now + dice.randrange(4),
            pid=8800 + rank,
            thread=0x7F0000000040 + 256 * dice.randrange(1 << 32),
            peer="10.0.0.7",
            port=20_000 + dice.randrange(9_000),
            host=f"node{rank // RANKS_OF_A_HOST}",
            card=rank % RANKS_OF_A_HOST,
        )
        .encode()
    )


def _dead_opening(rank: int, began: int) -> bytes:
    host, card = f"node{rank // RANKS_OF_A_HOST}", rank % RANKS_OF_A_HOST
    lines = (line.format(peer=f"10.0.0.{7 + card}", card=card) for line in NCCL_AT_START)
    prefix = f"{host}:{8800 + rank}:{8800 + rank} [{card}] "
    return _opening(rank, began) + "".join(f"{prefix}{line}\n" for line in lines).encode()


def _dead_pages(
    dice: random.Random, rank: int, began: int, alarms: list[bytes], share: float
) -> Iterator[bytes]:
    """What sixty steps write; the counters rise from page to page."""
    logger = LOGGERS[rank % len(LOGGERS)]
    shapes = ["\n".join((logger(dice), *_noise(dice, rank))).encode() for _ in range(VARIETY)]
    step = 0
    while True:
        lines: list[bytes] = []
        for _ in range(60):
            step += 10
            lines += (dice.choice(shapes) % _counters(step, began)).split(b"\n")
        lines.append(_bar(step, dice.randrange(100, 300)))
        if share:
            lines = [
                dice.choice(alarms) + b" #%d" % step if dice.random() < share else line
                for line in lines
            ]
        yield b"\n".join(lines) + b"\n"


def _noise(dice: random.Random, rank: int) -> Iterator[str]:
    """What libraries print beside the steps, now and then."""
    pid, micro = 8800 + rank, dice.randrange(1_000_000)
    if dice.random() < 0.5:
        yield (
            f"I%(glog)s.{micro:06d}  {pid} process_group_nccl.cc:{dice.randrange(900)}] all_reduce "
            f"seq %(step)d of ring {dice.randrange(4)}, {dice.randrange(1 << 20)} elements"
        )
    if dice.random() < 0.5:
        yield (
            f"node{rank // RANKS_OF_A_HOST}:{pid}:{pid + 60} [{rank % RANKS_OF_A_HOST}] NCCL INFO "
            f"AllReduce: opCount %(step)x sendbuff 0x7f{micro:08x} recvbuff 0x7f{micro:08x} "
            f"count {dice.randrange(1 << 20)} datatype 7 op 0 root 0 comm 0x5583a1 [nranks=8]"
        )
    if dice.random() < 0.3:
        yield (
            f"reader: batch %(step)d from shard-{dice.randrange(512):05d} took "
            f"{dice.random():.4f}s, queue {dice.randrange(64)}/64, cache hit {dice.random():.3f}"
        )


def _bar(step: int, returns: int) -> bytes:
    """A bar that was drawn again and again, as a log keeps it: one line."""
    epoch, iteration = divmod(step, STEPS_PER_EPOCH)
    return b"".join(
        b"\repoch %d: %3d%%|%s| %d/%d [00:41<01:10, 3.14it/s]"
        % (epoch, at * 100 // STEPS_PER_EPOCH, _blocks(at), at, STEPS_PER_EPOCH)
        for at in range(max(0, iteration - returns), iteration + 1)
    )


def _blocks(iteration: int) -> bytes:
    return "█".encode() * (iteration * 30 // STEPS_PER_EPOCH)


def _paddlenlp(dice: random.Random) -> str:
    return (
        f"[%(date)s,{dice.randrange(1000):03d}] [    INFO] - loss: {2 + dice.random():.6f}, "
        f"learning_rate: 0.0003, global_step: %(step)d, interval_runtime: {dice.random():.6f}, "
        "progress_or_epoch: %(epoch)d.%(iteration)04d"
    )


def _printed(dice: random.Random) -> str:
    return (
        f"Epoch %(epoch)d, step %(iteration)d/{STEPS_PER_EPOCH}, loss {2 + dice.random():.4f}, "
        f"{dice.random():.3f} s/it"
    )


def _loguru(dice: random.Random) -> str:
    return (
        f"%(date)s.{dice.randrange(1000):03d} | INFO     | __main__:train:61 - "
        f"epoch=%(epoch)d step=%(iteration)d loss={2 + dice.random():.5f}"
    )


def _ppdet(dice: random.Random) -> str:
    return (
        f"[%(day)s] ppdet.engine INFO: Epoch: [%(epoch)d] [%(iteration)4d/{STEPS_PER_EPOCH}] "
        f"learning_rate: 0.000300 loss: {2 + dice.random():.6f} eta: 3:14:15 batch_cost: "
        f"{dice.random():.4f} data_cost: 0.0003 ips: {40 * dice.random():.4f} images/s"
    )


def _chinese(dice: random.Random) -> str:
    return (
        f"%(date)s 训练日志：第 %(epoch)d 轮，第 %(iteration)d 步，损失 {2 + dice.random():.4f}，"
        f"学习率 0.0003，样本 {dice.randrange(1 << 30)}，用时 {dice.random():.3f} 秒"
    )


LOGGERS = (_paddlenlp, _printed, _loguru, _ppdet, _chinese)


def _write_quiet(
    path: Path, size: int, rank: int, culprit: int, alarms: list[bytes], name: str
) -> None:
    end = CULPRIT if rank == culprit else b""
    with path.open("wb") as file:
        written = file.write(_opening(rank, STARTED))
        for page in _quiet_pages(rank, alarms if name == "d" else []):
            if written + len(page) > size - len(CULPRIT):
                file.write(page[: page.rfind(b"\n", 0, max(1, size - len(CULPRIT) - written)) + 1])
                break
            written += file.write(page)
        file.write(end)


def _opening(rank: int, began: int) -> bytes:
    stamp = time.strftime("%m%d %H:%M:%S", time.gmtime(began))
    return (
        f"grep: warning: GREP_OPTIONS is deprecated; please use an alias or script\n"
        f"=======================================================================\n"
        f"I{stamp}.114021  {8800 + rank} tcp_utils.cc:181] The server starts to listen on "
        f"IP_ANY:60312\n"
        f"I{stamp}.904021  {8800 + rank} tcp_utils.cc:130] Successfully connected to "
        f"10.0.0.7:60312\n"
        f"W{stamp}.912345  {8800 + rank} gpu_resources.cc:119] Please NOTE: device: {rank % 8}, "
        f"GPU Compute Capability: 8.0, Driver API Version: 12.0, Runtime API Version: 11.8\n"
    ).encode()


def _quiet_pages(seed: int, alarms: list[bytes]) -> Iterator[bytes]:
    """About a hundred lines each; the counters rise from page to page."""
    dice = random.Random(seed)
    shapes = [_quiet_shape(dice, seed) for _ in range(VARIETY)]
    step = 0
    while True:
        lines: list[bytes] = []
        for _ in range(20):
            step += 10
            lines += (dice.choice(shapes) % _counters(step, STARTED)).split(b"\n")
        if alarms:
            lines = [
                dice.choice(alarms) + b" #%d" % step if dice.random() < 0.2 else line
                for line in lines
            ]
        yield b"\n".join(lines) + b"\n"


def _quiet_shape(dice: random.Random, rank: int) -> bytes:
    """The lines of one step, with its own noise and placeholders for the rest."""
    lines = [
        _paddlenlp(dice),
        f"I%(glog)s.{dice.randrange(1_000_000):06d}  {8800 + rank} process_group_nccl.cc:"
        f"{dice.randrange(900)}] all_reduce seq %(step)d of ring {dice.randrange(4)}, "
        f"{dice.randrange(1 << 20)} elements",
        "\repoch %(epoch)d: %(percent)3d%%|%(bar)s| "
        f"%(iteration)d/{STEPS_PER_EPOCH} [00:41<01:10, {dice.random():.2f}it/s]",
        _chinese(dice),
        f"reader: batch %(step)d from shard-{dice.randrange(512):05d} took {dice.random():.4f}s, "
        f"queue {dice.randrange(64)}/64, cache hit {dice.random():.3f}",
    ]
    return "\n".join(lines).encode()


def _counters(step: int, began: int) -> dict[bytes, object]:
    """What a step says of itself, for the placeholders of a shape."""
    epoch, iteration = divmod(step, STEPS_PER_EPOCH)
    now = time.gmtime(began + step // 2)
    clock = b"%02d:%02d:%02d" % now[3:6]
    return {
        b"step": step,
        b"epoch": epoch,
        b"iteration": iteration,
        b"percent": 100 * iteration // STEPS_PER_EPOCH,
        b"bar": _blocks(iteration) + b" " * (30 - iteration * 30 // STEPS_PER_EPOCH),
        b"date": b"%d-%02d-%02d %s" % (*now[:3], clock),
        b"day": b"%02d/%02d %s" % (*now[1:3], clock),
        b"glog": b"%02d%02d %s" % (*now[1:3], clock),
    }


def _alarms(*, with_samples: bool) -> list[bytes]:
    """Lines that resemble those of signatures that can be named, or are such lines, too.

    What one signature does not claim another one may: a process that lives on writes no such line.
    """
    knowledge = load_knowledge()
    lines = [
        line.strip()
        for signature in knowledge.signatures.values()
        if signature.role in ALARMING_ROLES
        for sample in (*(signature.samples if with_samples else ()), *signature.misses)
        for line in sample.splitlines()[:1]
    ]
    lines = [line for line in lines if line and "%" not in line]
    if with_samples:
        return [line.encode() for line in lines]
    engine = Engine(knowledge)
    return [
        line.encode()
        for line in lines
        if not OF_ANOTHER_JOB.search(line) and not _events_of(line.encode(), engine)
    ]


def _events_of(line: bytes, engine: Engine) -> tuple[Event, ...]:
    return scan(LogFile("-", "worker", "", len(line)), [line], engine).events


if __name__ == "__main__":
    main()
