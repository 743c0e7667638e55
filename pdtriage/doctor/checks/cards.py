"""Cards: asked for and there, fit for this build of Paddle, and free."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection, Mapping, Sequence

from pdtriage.doctor.context import Context
from pdtriage.doctor.findings import Check, Finding, failed, ok, refused, skipped, warning
from pdtriage.doctor.kernel import holders_of, size
from pdtriage.launch.options.unsupported import PS_MODES
from pdtriage.launch.plan.nvml import Nvml
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text

_CUDA_VERSION = re.compile(r"^cuda_version\s*=\s*'(\d+)\.(\d+)", re.MULTILINE)
_SYSTEM_FOLDERS = (
    "/usr/lib",
    "/usr/lib64",
    "/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/local/lib",
    "/usr/local/cuda*/lib64",
    "/usr/local/cuda*/targets/*/lib",
)
_MUCH_USED = 0.1
"""Part of a card's memory that is in use without a process to be seen."""


def devices(context: Context) -> Finding:
    """Asked for versus visible."""
    found, shares = context.devices, context.assignments
    if isinstance(shares, UserError) or isinstance(found, UserError):
        refusal = shares if isinstance(shares, UserError) else found
        assert isinstance(refusal, UserError)
        return refused("devices", refusal)
    if found.notes:
        return warning(
            "devices",
            found.notes[0],
            Text(
                "Check CUDA_VISIBLE_DEVICES and the driver (nvidia-smi) if cards were meant to be "
                "used.",
                "若本应使用加速卡，请检查 CUDA_VISIBLE_DEVICES 和驱动（nvidia-smi）。",
            ),
        )
    if found.kind == "cpu":
        number = context.processes if context.mode in PS_MODES else len(shares)
        return ok("devices", f"CPU, {_processes(number)}", f"CPU，{number} 个进程")
    cards = " ".join(share.label(found.kind) or "" for share in shares)
    many = len(shares)
    return ok("devices", f"{_processes(many)} on {cards}", f"{many} 个进程：{cards}")


def _processes(number: int) -> str:
    return "1 process" if number == 1 else f"{number} processes"


def build(context: Context) -> Finding:
    """A CPU build beside cards, a GPU build without any."""
    wheel = context.wheel
    if wheel is None:
        return skipped("build", "no Paddle was found", "没有找到 Paddle")
    if wheel.kind != "cpu":
        counted = context.probe.count(wheel.kind)
        if counted:
            return ok(
                "build",
                f"{wheel.name} is built for {wheel.kind}, {counted} here",
                f"{wheel.name} 支持 {wheel.kind}，本机有 {counted} 张",
            )
        return warning(
            "build",
            Text(
                f"{wheel.name} is built for {wheel.kind}, and this machine shows none",
                f"{wheel.name} 支持 {wheel.kind}，但本机没有发现",
            ),
            Text(
                "Check the driver, and in a container that the cards are passed in "
                "(docker run --gpus all).",
                "请检查驱动；在容器中还要确认已传入设备（docker run --gpus all）。",
            ),
        )
    for kind in ("gpu", "xpu", "npu"):
        counted = context.probe.count(kind)
        if counted:
            return warning(
                "build",
                Text(
                    f"this machine has {counted} {kind}, but {wheel.name} {wheel.version} can only "
                    "use the CPU",
                    f"本机有 {counted} 张 {kind}，但 {wheel.name} {wheel.version} 只支持 CPU",
                ),
                Text(
                    f"Install the build of Paddle for {kind} if the cards are to be used.",
                    f"若要使用这些卡，请安装支持 {kind} 的 Paddle。",
                ),
            )
    return ok("build", f"{wheel.name} for the CPU, no cards here", f"{wheel.name}，本机没有加速卡")


def driver(context: Context) -> Finding:
    """Whether the driver can run the CUDA this Paddle was built with."""
    made = _cuda_build(context)
    if made is None:
        return _no_cuda("driver")
    nvml = context.nvml
    newest = nvml.cuda() if nvml is not None else None
    if nvml is None or newest is None:
        return failed(
            "driver",
            Text("the NVIDIA driver does not answer", "NVIDIA 驱动没有响应"),
            Text(
                "Install it or load it (nvidia-smi shows its state); in a container use "
                "--gpus all.",
                "请安装或加载驱动（nvidia-smi 可查看状态）；在容器中使用 --gpus all。",
            ),
        )
    seen = f"{nvml.driver()}, CUDA <= {newest[0]}.{newest[1]}"
    wanted = f"{made[0]}.{made[1]}"
    if newest >= made:
        return ok(
            "driver", f"driver {seen}; Paddle wants {wanted}", f"驱动 {seen}；Paddle 需要 {wanted}"
        )
    judged = warning if newest[0] == made[0] else failed
    return judged(
        "driver",
        Text(
            f"driver {seen}, but Paddle was built with CUDA {wanted}",
            f"驱动 {seen}，但 Paddle 使用 CUDA {wanted} 编译",
        ),
        Text(
            "Update the driver, or install the Paddle built for an older CUDA.",
            "请升级驱动，或安装以较低版本 CUDA 编译的 Paddle。",
        ),
    )


def libraries(context: Context) -> Finding:
    """What Paddle loads when it first needs it, which may be hours into a job."""
    made = _cuda_build(context)
    python = context.interpreter
    if made is None or isinstance(python, UserError):
        return _no_cuda("libraries")
    wanted = ["libcublas.so", "libcudnn.so"]
    several = context.processes > 1 or context.node_total > 1
    if several:
        wanted.append("libnccl.so")
    found = _find_libraries(wanted, python.folders, context.environ, context.root)
    missing = [name for name in wanted if name not in found]
    if missing:
        listed = ", ".join(missing)
        return failed(
            "libraries",
            Text(
                f"{listed} cannot be found: not with Paddle, in LD_LIBRARY_PATH, nor where the "
                "system looks",
                f"找不到 {listed}：Paddle 目录、LD_LIBRARY_PATH 与系统库目录中都没有",
            ),
            Text(
                "Install them (pip: nvidia-cublas-cu12, nvidia-cudnn-cu12, nvidia-nccl-cu12, or "
                "the system's packages), or add their folder to LD_LIBRARY_PATH.",
                "请安装（pip 包 nvidia-cublas-cu12、nvidia-cudnn-cu12、nvidia-nccl-cu12，"
                "或系统软件包），或将其目录加入 LD_LIBRARY_PATH。",
            ),
        )
    listed = ", ".join(found.values())
    return ok("libraries", listed, listed)


def device_processes(context: Context) -> Finding:
    """Processes of an earlier job that still hold a card."""
    shares, found = context.assignments, context.devices
    if isinstance(shares, UserError) or isinstance(found, UserError):
        return skipped("device-processes", "no cards", "没有加速卡")
    cards = [label for share in shares for label in share.physical]
    if not cards:
        return skipped("device-processes", "the job uses no cards", "任务不使用加速卡")
    return held_cards(context, [f"{found.kind}:{card}" for card in cards])


def held_cards(context: Context, cards: Sequence[str], besides: Collection[int] = ()) -> Finding:
    """Checks that no other process uses the cards of the job; those in `besides` may."""
    held, hidden = _held(context, list(dict.fromkeys(cards)), besides)
    if held:
        shown = "; ".join(f"{card} {', '.join(map(str, pids))}" for card, pids in held.items())
        every = " ".join(sorted({str(pid) for pids in held.values() for pid in pids}))
        return warning(
            "device-processes",
            Text(f"cards are in use (pids): {shown}", f"卡正被占用（pid）：{shown}"),
            Text(
                f"If they are left over from an earlier job, look at them (ps -fp {every}) and end "
                "them.",
                f"若是之前任务的残留进程，请确认（ps -fp {every}）后结束它们。",
            ),
        )
    if hidden:
        shown = "; ".join(f"{card} {amount}" for card, amount in hidden.items())
        return warning(
            "device-processes",
            Text(
                f"memory of cards is in use by processes that cannot be seen from here: {shown}",
                f"卡的显存被此处不可见的进程占用：{shown}",
            ),
            Text(
                "Look outside of this container (nvidia-smi on the host), or use other cards.",
                "请在容器之外查看（宿主机上执行 nvidia-smi），或改用其他卡。",
            ),
        )
    return ok("device-processes", "nobody uses the cards", "没有进程占用这些卡")


CHECKS = (
    Check("devices", devices),
    Check("build", build),
    Check("driver", driver),
    Check("libraries", libraries),
    Check("device-processes", device_processes),
)


def _cuda_build(context: Context) -> tuple[int, int] | None:
    """The CUDA this Paddle was built with; nothing is imported to find out."""
    python = context.interpreter
    if isinstance(python, UserError) or context.wheel is None:
        return None
    return _cuda_of(python.folders)


def _no_cuda(name: str) -> Finding:
    return skipped(name, "no Paddle built with CUDA", "没有以 CUDA 编译的 Paddle")


def _held(
    context: Context, cards: list[str], besides: Collection[int]
) -> tuple[dict[str, list[int]], dict[str, str]]:
    """(pids by card, memory in use by card where nobody is to be seen)."""
    held: dict[str, list[int]] = {}
    hidden: dict[str, str] = {}
    for label in cards:
        kind, _, card = label.partition(":")
        nvml = context.nvml if kind == "gpu" else None
        pids = _pids(context, nvml, kind, card)
        others = sorted(pids - set(besides))
        if others:
            held[label] = others
        if pids:
            continue
        memory = nvml.memory(int(card)) if nvml is not None and card.isdecimal() else None
        if memory is not None and memory.used > memory.total * _MUCH_USED:
            hidden[label] = f"{size(memory.used)} / {size(memory.total)}"
    return held, hidden


def _pids(context: Context, nvml: Nvml | None, kind: str, card: str) -> set[int]:
    told = nvml.processes(int(card)) if nvml is not None and card.isdecimal() else None
    if told is not None:
        return set(told)
    name = {"gpu": "nvidia", "xpu": "xpu", "npu": "davinci"}.get(kind)
    return holders_of(context, f"/dev/{name}{card}") if name else set()


def _cuda_of(folders: Sequence[str]) -> tuple[int, int] | None:
    """The CUDA with which the Paddle in one of `folders` was built; None if with none."""
    for folder in folders:
        path = os.path.join(folder or ".", "paddle", "version", "__init__.py")
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                match = _CUDA_VERSION.search(stream.read(1 << 16))
        except OSError:
            continue
        return (int(match[1]), int(match[2])) if match else None
    return None


def _find_libraries(
    names: Sequence[str], folders: Sequence[str], environ: Mapping[str, str], root: str
) -> dict[str, str]:
    """Path of each library that Paddle or the loader would find, by name."""
    places = [
        place
        for folder in folders
        for place in (
            os.path.join(glob.escape(folder), "nvidia", "*", "lib"),
            os.path.join(glob.escape(folder), "paddle", "libs"),
        )
    ]
    paths = environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    places += [glob.escape(path) for path in paths if path]
    system = (*_loader_folders(root), *_SYSTEM_FOLDERS)
    places += [os.path.join(glob.escape(root), place.lstrip("/")) for place in system]
    found: dict[str, str] = {}
    for name in names:
        for place in places:
            matches = sorted(glob.glob(os.path.join(place, f"{name}*")))
            if matches:
                found[name] = matches[0]
                break
    return found


def _loader_folders(root: str) -> list[str]:
    """Folders that /etc/ld.so.conf.d names."""
    folders: list[str] = []
    for path in sorted(glob.glob(os.path.join(glob.escape(root), "etc/ld.so.conf.d/*.conf"))):
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                lines = [line.strip() for line in stream]
        except OSError:
            continue
        folders += [line for line in lines if line.startswith("/")]
    return folders
