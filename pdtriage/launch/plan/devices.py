"""Which cards this node has and which process gets which, without importing Paddle."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Protocol

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.plan.interpreter import PaddleWheel
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

_VARIABLES: dict[str, tuple[str, ...]] = {
    "gpu": ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
    "xpu": ("XPULINK_VISIBLE_DEVICES", "XPU_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    "npu": ("NPU_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"),
}
KIND_OF_FLAG = {"gpus": "gpu", "xpus": "xpu", "npus": "npu"}
_NONE_VISIBLE = ("", "-1", "NoDevFiles", "none")


class Probe(Protocol):
    """Counts the cards of a machine; None where there is no way to tell."""

    def count(self, kind: str) -> int | None: ...


class Devices(NamedTuple):
    """The cards this node may use."""

    kind: str
    """`cpu`, `gpu`, `xpu` or the type of a custom device."""
    labels: tuple[str, ...] = ()
    """Physical numbers (or ids) in the order the driver shows them to a process."""
    custom: bool = False
    notes: tuple[Text, ...] = ()

    @property
    def dtype(self) -> str:
        """The word for our devices that Paddle's launcher uses on the wire."""
        return "custom_device" if self.custom else self.kind

    @property
    def selection_variable(self) -> str:
        return f"FLAGS_selected_{self.kind}s"


class Assignment(NamedTuple):
    """The cards of one process."""

    relative: tuple[str, ...] = ()
    """Positions among the visible cards: what `FLAGS_selected_gpus` takes."""
    physical: tuple[str, ...] = ()

    def label(self, kind: str) -> str | None:
        return f"{kind}:{','.join(self.physical)}" if self.physical else None


def find_devices(
    flags: LaunchFlags,
    environ: Mapping[str, str],
    wheel: PaddleWheel | None,
    probe: Probe,
) -> Devices:
    """The cards of this node: wheel first, then what is asked for, visible or counted."""
    if flags.backend == "gloo":
        return Devices("cpu")
    if wheel is not None and wheel.kind == "cpu":
        return _cpu_wheel(flags, environ, wheel)
    kind = wheel.kind if wheel is not None else _guess_kind(flags, environ, probe)
    if kind == "cpu":
        return _without_cards(flags)
    custom = wheel.custom if wheel is not None else kind not in ("gpu", "xpu")
    variable, labels = _visible(kind, environ)
    if variable is None:
        counted = probe.count(kind)
        if counted is None and flags.devices and wheel is not None:
            # The driver's library is missing in some containers; Paddle itself may still see it.
            return Devices(kind, _split(flags.devices), custom, (_cannot_count(kind),))
        labels = tuple(str(number) for number in range(counted or 0))
    if not labels:
        if flags.devices:
            return _without_cards(flags, variable)
        return Devices("cpu", notes=(_no_card(kind, variable),))
    return Devices(kind, labels, custom)


def assign(flags: LaunchFlags, devices: Devices) -> tuple[Assignment, ...]:
    """One entry for every process to start on this node."""
    wanted = flags.nproc_per_node
    if wanted is not None and wanted < 1:
        raise UserError(
            Text(f"--nproc_per_node cannot be {wanted}.", f"--nproc_per_node 不能是 {wanted}。"),
            Text("It takes 1 or more.", "它至少为 1。"),
        )
    if devices.kind == "cpu":
        return (Assignment(),) * (wanted or 1)
    chosen = _selected_cards(flags, devices)
    pairs = [(str(devices.labels.index(label)), label) for label in chosen]
    if wanted is None:
        shares = [[pair] for pair in pairs]
    elif wanted > len(pairs):
        raise _too_few_cards(wanted, pairs)
    elif wanted == 1:
        shares = [pairs]
    elif flags.legacy:
        shares = _equal_shares(pairs, wanted)
    else:
        shares = [[pair] for pair in pairs[:wanted]]
    return tuple(
        Assignment(tuple(r for r, _ in share), tuple(p for _, p in share)) for share in shares
    )


def _guess_kind(flags: LaunchFlags, environ: Mapping[str, str], probe: Probe) -> str:
    asked = KIND_OF_FLAG.get(flags.device_flag)
    if asked is not None and flags.devices:
        return asked
    for kind in ("npu", "xpu", "gpu"):
        names = [name for name in _VARIABLES[kind] if kind == "gpu" or "CUDA" not in name]
        if any(environ.get(name, "") not in _NONE_VISIBLE for name in names):
            return kind
    for kind in ("gpu", "xpu", "npu"):
        if probe.count(kind):
            return kind
    return "cpu"


def _visible(kind: str, environ: Mapping[str, str]) -> tuple[str | None, tuple[str, ...]]:
    names = _VARIABLES.get(kind, (f"{kind.upper()}_VISIBLE_DEVICES",))
    for name in names:
        value = environ.get(name)
        if value is None or value.strip() == "all":
            continue
        if value.strip() in _NONE_VISIBLE:
            return name, ()
        return name, _split(value)
    return None, ()


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _selected_cards(flags: LaunchFlags, devices: Devices) -> tuple[str, ...]:
    if not flags.devices:
        return devices.labels
    chosen = _split(flags.devices)
    spelled = f"--{flags.device_flag}"
    for label in chosen:
        if label not in devices.labels:
            listed = ",".join(devices.labels)
            raise UserError(
                Text(
                    f"Card {label} of {spelled} is not visible; visible are {listed}.",
                    f"{spelled} 中的卡 {label} 不可见；可见的卡为 {listed}。",
                ),
                Text(
                    f"Choose among them, or change {_VARIABLES.get(devices.kind, ('',))[0]}.",
                    f"请从中选择，或修改 {_VARIABLES.get(devices.kind, ('',))[0]}。",
                ),
            )
    if len(set(chosen)) != len(chosen):
        raise UserError(
            Text(
                f"{spelled} names a card twice: {flags.devices}.",
                f"{spelled} 中有重复的卡：{flags.devices}。",
            ),
            Text("Name each card once.", "每张卡只写一次。"),
        )
    return chosen


def _equal_shares(pairs: list[tuple[str, str]], wanted: int) -> list[list[tuple[str, str]]]:
    if len(pairs) % wanted:
        raise UserError(
            Text(
                f"{len(pairs)} cards cannot be shared equally by {wanted} processes.",
                f"{len(pairs)} 张卡不能平均分给 {wanted} 个进程。",
            ),
            Text("Change --nproc_per_node or --gpus.", "请调整 --nproc_per_node 或 --gpus。"),
        )
    size = len(pairs) // wanted
    return [pairs[begin : begin + size] for begin in range(0, len(pairs), size)]


def _too_few_cards(wanted: int, pairs: list[tuple[str, str]]) -> UserError:
    return UserError(
        Text(
            f"--nproc_per_node={wanted} needs {wanted} cards and only {len(pairs)} can be used.",
            f"--nproc_per_node={wanted} 需要 {wanted} 张卡，但只有 {len(pairs)} 张可用。",
        ),
        Text(
            "Lower it, or make more cards visible.",
            "请调小该值，或让更多的卡可见。",
        ),
    )


def _cpu_wheel(flags: LaunchFlags, environ: Mapping[str, str], wheel: PaddleWheel) -> Devices:
    if flags.devices:
        spelled = f"--{flags.device_flag}={flags.devices}"
        kind = KIND_OF_FLAG.get(flags.device_flag, "gpu")
        needed = "paddlepaddle-xpu" if kind == "xpu" else "paddlepaddle-gpu"
        raise UserError(
            Text(
                f"{spelled} asks for cards, but the Paddle that is installed ({wheel.name} "
                f"{wheel.version}) can only use the CPU.",
                f"{spelled} 要求使用加速卡，但当前安装的 Paddle（{wheel.name} "
                f"{wheel.version}）只支持 CPU。",
            ),
            Text(
                f"Install {needed}, choose another Python with --python, or start CPU "
                "processes with --nproc_per_node.",
                f"请安装 {needed}，用 --python 指定其他 Python，或用 --nproc_per_node "
                "启动 CPU 进程。",
            ),
        )
    for name in ("CUDA_VISIBLE_DEVICES", "XPU_VISIBLE_DEVICES"):
        if environ.get(name, "") not in _NONE_VISIBLE:
            note = Text(
                f"{name} is set, but {wheel.name} {wheel.version} can only use the CPU",
                f"已设置 {name}，但 {wheel.name} {wheel.version} 只支持 CPU",
            )
            return Devices("cpu", notes=(note,))
    return Devices("cpu")


def _without_cards(flags: LaunchFlags, variable: str | None = None) -> Devices:
    if not flags.devices:
        return Devices("cpu")
    why = (f" ({variable} hides them)", f"（被 {variable} 隐藏）") if variable else ("", "")
    raise UserError(
        Text(
            f"--{flags.device_flag}={flags.devices} asks for cards, but this machine shows "
            f"none{why[0]}.",
            f"--{flags.device_flag}={flags.devices} 要求使用加速卡，但本机没有可见的卡{why[1]}。",
        ),
        Text(
            "Check the driver (nvidia-smi), or start CPU processes with --nproc_per_node.",
            "请检查驱动（nvidia-smi），或用 --nproc_per_node 启动 CPU 进程。",
        ),
    )


def _no_card(kind: str, variable: str | None) -> Text:
    if variable:
        return Text(
            f"{variable} hides every card: starting on the CPU with gloo",
            f"{variable} 隐藏了所有卡：使用 CPU 与 gloo 启动",
        )
    return Text(
        f"no {kind} was found: starting on the CPU with gloo",
        f"未发现 {kind}：使用 CPU 与 gloo 启动",
    )


def _cannot_count(kind: str) -> Text:
    return Text(
        f"the driver's library cannot be asked how many {kind}s there are: trusting the flag",
        f"无法通过驱动库得知 {kind} 数量：以参数为准",
    )


class SystemProbe:
    """Counts cards by NVML, the kernel's topology (DCU), device files and tools (XPU, NPU)."""

    def __init__(self, root: str = "/") -> None:
        self.root = root

    def count(self, kind: str) -> int | None:
        if kind == "gpu":
            counted = count_nvml()
            return counted if counted else self._dcus() or counted
        if kind == "xpu":
            return self._nodes(r"xpu\d+") or _lines_of(("xpu_smi", "-m"), r"\S")
        if kind == "npu":
            return self._nodes(r"davinci\d+") or _npus()
        return None

    def _dcus(self) -> int:
        """Hygon DCU and other ROCm cards: nodes of the kernel's topology that have a GPU."""
        nodes = os.path.join(self.root, "sys/class/kfd/kfd/topology/nodes")
        ids = (_content(os.path.join(nodes, node, "gpu_id")) for node in _names_in(nodes))
        return sum(1 for gpu_id in ids if gpu_id not in ("", "0"))

    def _nodes(self, pattern: str) -> int:
        names = _names_in(os.path.join(self.root, "dev"))
        return sum(1 for name in names if re.fullmatch(pattern, name))


def count_nvml() -> int | None:
    """Number of NVIDIA cards by NVML, through `nvidia-ml-py` or the library itself."""
    try:
        # By name: `nvidia-ml-py` is optional and carries no types.
        pynvml = import_module("pynvml")
    except ImportError:
        return _count_nvml_directly()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    try:
        return int(pynvml.nvmlDeviceGetCount())
    except pynvml.NVMLError:
        return None
    finally:
        pynvml.nvmlShutdown()


def _count_nvml_directly() -> int | None:
    from pdtriage.launch.plan.nvml import open_nvml

    nvml = open_nvml()
    if nvml is None:
        return None
    counted = nvml.count()
    nvml.close()
    return counted


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _content(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as stream:
            return stream.read().strip()
    except OSError:
        return ""


def _npus() -> int | None:
    total = _output_of(("npu-smi", "info", "-l"))
    if total is None:
        return None
    match = re.search(r"Total Count\s*:\s*(\d+)", total)
    return int(match[1]) if match else None


def _lines_of(command: tuple[str, ...], pattern: str) -> int | None:
    output = _output_of(command)
    if output is None:
        return None
    return sum(1 for line in output.splitlines() if re.search(pattern, line))


def _output_of(command: tuple[str, ...]) -> str | None:
    import shutil
    import subprocess

    if shutil.which(command[0]) is None:
        return None
    try:
        answer = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout if answer.returncode == 0 else None
