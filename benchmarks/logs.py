"""Logs to measure with: what eight healthy ranks write for hours, and one that screams.

    python benchmarks/logs.py FOLDER a b c d small [--mb 1000]

a: one file; b: 1024 files of 1 MB; c: 8192 files of 64 kB, half as many bytes; d: one file in which
every fifth line looks alarming; small: eight ranks, 1 MB together. In each of them rank 1 (or the
only file) ends with an error of its own; everything else is what training prints. The same
arguments give the same bytes.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator
from pathlib import Path

from pdtriage.knowledge import load_knowledge

SETS = ("a", "b", "c", "d", "small")
STARTED = 1_700_000_000
STEPS_PER_EPOCH = 5_000
VARIETY = 200
ALARMING_ROLES = frozenset({"cause", "symptom", "victim"})

END = b"""Traceback (most recent call last):
  File "/srv/train/train.py", line 88, in <module>
    main()
  File "/srv/train/train.py", line 61, in main
    for step, (images, labels) in enumerate(loader()):
  File "/srv/train/reader.py", line 23, in __getitem__
    raw = open(path, "rb").read()
OSError: [Errno 5] Input/output error: '/data/part-00317.rec'
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="+", choices=SETS)
    parser.add_argument("--mb", type=int, default=1000)
    arguments = parser.parse_args()
    for name in arguments.sets:
        write_set(name, arguments.folder / name, arguments.mb)


def write_set(name: str, folder: Path, megabytes: int) -> Path:
    """A log folder; `small` has its own size."""
    folder.mkdir(parents=True)
    whole = megabytes * 1_000_000
    if name == "small":
        _write_ranks(folder, 8, 1_000_000 // 8)
    elif name == "b":
        _write_ranks(folder, max(2, whole * 1024 // 1_000_000_000), 1_000_000)
    elif name == "c":
        _write_ranks(folder, max(2, whole * 8192 // 1_000_000_000), 65_536)
    else:
        _write(folder / "workerlog.0", whole, failing=True, alarming=name == "d")
    return folder


def _write_ranks(folder: Path, ranks: int, size: int) -> None:
    for rank in range(ranks):
        _write(folder / f"workerlog.{rank}", size, failing=rank == 1, seed=rank)


def _write(path: Path, size: int, failing: bool, alarming: bool = False, seed: int = 0) -> None:
    with path.open("wb") as file:
        written = file.write(_opening(seed))
        for page in _pages(seed, alarming):
            if written + len(page) > size - len(END):
                file.write(page[: page.rfind(b"\n", 0, max(1, size - len(END) - written)) + 1])
                break
            written += file.write(page)
        if failing:
            file.write(END)


def _opening(rank: int) -> bytes:
    stamp = time.strftime("%m%d %H:%M:%S", time.gmtime(STARTED))
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


def _pages(seed: int, alarming: bool) -> Iterator[bytes]:
    """About a hundred lines each; the counters rise from page to page."""
    dice = random.Random(seed)
    shapes = [_shape(dice, seed) for _ in range(VARIETY)]
    alarms = [alarm.encode() for alarm in _alarms()] if alarming else []
    step = 0
    while True:
        lines: list[bytes] = []
        for _ in range(20):
            step += 10
            lines += (dice.choice(shapes) % _told(step)).split(b"\n")
        if alarms:
            lines = [
                dice.choice(alarms) + b" #%d" % step if dice.random() < 0.2 else line
                for line in lines
            ]
        yield b"\n".join(lines) + b"\n"


def _told(step: int) -> dict[bytes, object]:
    """What a step says of itself, for the placeholders of a shape."""
    epoch, iteration = divmod(step, STEPS_PER_EPOCH)
    now = time.gmtime(STARTED + step // 2)
    clock = b"%02d:%02d:%02d" % now[3:6]
    done = iteration * 30 // STEPS_PER_EPOCH
    return {
        b"step": step,
        b"epoch": epoch,
        b"iteration": iteration,
        b"percent": 100 * iteration // STEPS_PER_EPOCH,
        b"bar": "█".encode() * done + b" " * (30 - done),
        b"date": b"%d-%02d-%02d %s" % (*now[:3], clock),
        b"glog": b"%02d%02d %s" % (*now[1:3], clock),
    }


def _shape(dice: random.Random, rank: int) -> bytes:
    """The lines of one step, with its own noise and placeholders for the rest."""
    loss, micro, pid = 2.0 + dice.random(), dice.randrange(1_000_000), 8800 + rank
    lines = [
        f"[%(date)s,{micro // 1000:03d}] [    INFO] - loss: {loss:.6f}, learning_rate: 0.0003, "
        f"global_step: %(step)d, current_memory_allocated: {dice.randrange(30)}.1, "
        f"interval_runtime: 0.{micro:06d}, progress_or_epoch: %(epoch)d.%(iteration)04d",
        f"I%(glog)s.{micro:06d}  {pid} process_group_nccl.cc:{dice.randrange(900)}] "
        f"all_reduce seq %(step)d of ring {dice.randrange(4)}, {dice.randrange(1 << 20)} elements",
        "\repoch %(epoch)d: %(percent)3d%%|%(bar)s| "
        f"%(iteration)d/{STEPS_PER_EPOCH} [00:41<01:10, {dice.random():.2f}it/s]",
        f"%(date)s 训练日志：第 %(epoch)d 轮，第 %(iteration)d 步，损失 {loss:.4f}，"
        f"学习率 0.0003，样本 {dice.randrange(1 << 30)}，用时 {dice.random():.3f} 秒",
        f"reader: batch %(step)d from shard-{dice.randrange(512):05d} took {dice.random():.4f}s, "
        f"queue {dice.randrange(64)}/64, cache hit {dice.random():.3f}",
    ]
    return "\n".join(lines).encode()


def _alarms() -> list[str]:
    """Lines of the samples of every signature that can be named, and of what only resembles it."""
    lines = [
        line.strip()
        for signature in load_knowledge().signatures.values()
        if signature.role in ALARMING_ROLES
        for sample in (*signature.samples, *signature.misses)
        for line in sample.splitlines()[:1]
    ]
    return [line for line in lines if line and "%" not in line]


if __name__ == "__main__":
    main()
