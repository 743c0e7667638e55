"""Counts the cards of this machine through the drivers' own libraries and files."""

from __future__ import annotations

import os
import re
from importlib import import_module


class SystemProbe:
    """NVML for NVIDIA, the kernel's topology for DCU, device files and tools for XPU and NPU."""

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
    import ctypes

    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    if library.nvmlInit_v2() != 0:
        return None
    count = ctypes.c_uint(0)
    failed = library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    library.nvmlShutdown()
    return None if failed else count.value


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
