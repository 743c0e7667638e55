"""Cards, drivers and libraries, through stand-ins for what no test machine has."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from pdtriage.launch.plan.nvml import Nvml

from .conftest import Cards, Machine, judged
from .test_python import stand_in_python

STAND_IN_LIBRARY = """
#include <stdlib.h>
#include <string.h>
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned pid; unsigned long long used; unsigned a, b; } process_t;
static long number(const char *name) { char *t = getenv(name); return t ? atol(t) : 0; }
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) {
  strncpy(text, "550.54", size); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = number("NVML_CUDA"); return *v ? 0 : 999; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **card) {
  *card = (void*)(long)(index + 1); return 0; }
int nvmlDeviceGetMemoryInfo(void *card, memory_t *m) {
  m->total = 8ULL << 30; m->used = (unsigned long long)number("NVML_USED_MIB") << 20;
  m->free = m->total - m->used; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *card, unsigned *count, process_t *p) {
  long pid = number("NVML_PID");
  *count = pid && (long)card == 2 ? 1 : 0;
  if (*count) p[0].pid = pid;
  return 0; }
"""
VERSION = "full_version = '3.0.0'\ncuda_version     = '12.6'\n"


@pytest.fixture(scope="module")
def nvml(tmp_path_factory: pytest.TempPathFactory) -> Nvml:
    folder = tmp_path_factory.mktemp("nvml")
    source = folder / "nvml.c"
    source.write_text(STAND_IN_LIBRARY)
    library = folder / "libnvidia-ml.so.1"
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", library, source], check=True)
    except OSError:
        pytest.skip("there is no C compiler")
    return Nvml(ctypes.CDLL(str(library)))


def gpu_python(folder: Path) -> str:
    """A Python with a Paddle built for CUDA 12.6, but no libraries of it."""
    python = stand_in_python(folder, "paddlepaddle-gpu==3.0.0")
    version = folder / "site" / "paddle" / "version"
    version.mkdir(parents=True)
    (version / "__init__.py").write_text(VERSION)
    return python


def test_devices_asked_for_and_visible(machine: Machine, tmp_path: Path) -> None:
    python = gpu_python(tmp_path)
    words = (f"--python={python}", "--gpus=0,1")
    assert machine.look("devices", *words, probe=Cards("gpu", 2)).status == "ok"
    few = machine.look("devices", *words, probe=Cards("gpu", 1))
    assert few.status == "failed"
    assert "Card 1 of --gpus is not visible" in few.seen.en
    hidden = machine.look(
        "devices",
        f"--python={python}",
        probe=Cards("gpu", 2),
        environ={"CUDA_VISIBLE_DEVICES": ""},
    )
    assert hidden.status == "warning"


def test_cpu_processes(machine: Machine, tmp_path: Path) -> None:
    python = stand_in_python(tmp_path, "paddlepaddle==3.0.0")
    found = machine.look("devices", f"--python={python}", "--nproc_per_node=3")
    assert (found.status, found.seen.en) == ("ok", "CPU, 3 processes")
    assert machine.look("devices", f"--python={python}", "--gpus=0").status == "failed"


def test_a_cpu_build_beside_cards(machine: Machine, tmp_path: Path) -> None:
    python = stand_in_python(tmp_path, "paddlepaddle==3.0.0")
    found = machine.look("build", f"--python={python}", probe=Cards("gpu", 4))
    assert found.status == "warning"
    assert "4 gpu" in found.seen.en
    assert machine.look("build", f"--python={python}").status == "ok"


def test_a_gpu_build_without_cards(machine: Machine, tmp_path: Path) -> None:
    python = gpu_python(tmp_path)
    assert machine.look("build", f"--python={python}").status == "warning"
    assert machine.look("build", f"--python={python}", probe=Cards("gpu", 1)).status == "ok"


@pytest.mark.parametrize(
    ("cuda", "status"),
    [("12080", "ok"), ("12060", "ok"), ("12040", "warning"), ("11080", "failed")],
)
def test_driver_and_cuda(
    machine: Machine,
    tmp_path: Path,
    nvml: Nvml,
    monkeypatch: pytest.MonkeyPatch,
    cuda: str,
    status: str,
) -> None:
    monkeypatch.setenv("NVML_CUDA", cuda)
    context = machine.context(f"--python={gpu_python(tmp_path)}")
    context.nvml = nvml
    found = judged("driver", context)
    assert found.status == status
    assert "550.54" in found.seen.en
    assert "12.6" in found.seen.zh


def test_no_driver(machine: Machine, tmp_path: Path) -> None:
    context = machine.context(f"--python={gpu_python(tmp_path)}")
    context.nvml = None
    assert judged("driver", context).status == "failed"


def test_no_cuda_no_question(machine: Machine, tmp_path: Path) -> None:
    python = stand_in_python(tmp_path, "paddlepaddle==3.0.0")
    assert machine.look("driver", f"--python={python}").status == "skipped"
    assert machine.look("libraries", f"--python={python}").status == "skipped"


def test_libraries(machine: Machine, tmp_path: Path) -> None:
    words = (f"--python={gpu_python(tmp_path)}", "--gpus=0,1")
    cards = Cards("gpu", 2)
    found = machine.look("libraries", *words, probe=cards)
    assert found.status == "failed"
    assert "libcublas.so, libcudnn.so, libnccl.so" in found.seen.en

    (tmp_path / "site/nvidia/cublas/lib").mkdir(parents=True)
    (tmp_path / "site/nvidia/cublas/lib/libcublas.so.12").touch()
    machine.write("/usr/lib/x86_64-linux-gnu/libcudnn.so.9", "")
    assert machine.look("libraries", *words, probe=cards).seen.en.startswith("libnccl.so cannot")

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/libnccl.so.2").touch()
    path = {"LD_LIBRARY_PATH": f"/nowhere:{tmp_path / 'mine'}"}
    found = machine.look("libraries", *words, probe=cards, environ=path)
    assert found.status == "ok"
    assert "libnccl.so.2" in found.seen.en


def test_libraries_where_the_loader_was_told_to_look(machine: Machine, tmp_path: Path) -> None:
    machine.write("/etc/ld.so.conf.d/cuda.conf", "# cuda\n/opt/cuda/lib\n")
    for name in ("libcublas.so.12", "libcudnn.so.9"):
        machine.write(f"/opt/cuda/lib/{name}", "")
    words = (f"--python={gpu_python(tmp_path)}", "--gpus=0")
    assert machine.look("libraries", *words, probe=Cards("gpu", 1)).status == "ok"


def test_old_processes_hold_a_card(
    machine: Machine, tmp_path: Path, nvml: Nvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = machine.context(
        f"--python={gpu_python(tmp_path)}", "--gpus=0,1", probe=Cards("gpu", 2)
    )
    context.nvml = nvml
    assert judged("device-processes", context).status == "ok"
    monkeypatch.setenv("NVML_PID", "4711")
    found = judged("device-processes", context)
    assert (found.status, "gpu:1 4711" in found.seen.en) == ("warning", True)
    monkeypatch.delenv("NVML_PID")
    monkeypatch.setenv("NVML_USED_MIB", "4096")
    found = judged("device-processes", context)
    assert (found.status, "gpu:0 4 GiB / 8 GiB" in found.seen.en) == ("warning", True)


def test_old_processes_hold_an_xpu(machine: Machine, tmp_path: Path) -> None:
    words = (f"--python={stand_in_python(tmp_path, 'paddlepaddle-xpu==3.0.0')}", "--xpus=1")
    assert machine.look("device-processes", *words, probe=Cards("xpu", 2)).status == "ok"
    held = machine.root / "proc" / "4711" / "fd" / "7"
    held.parent.mkdir(parents=True)
    held.symlink_to("/dev/xpu1")
    found = machine.look("device-processes", *words, probe=Cards("xpu", 2))
    assert (found.status, "4711" in found.seen.en) == ("warning", True)


def test_nobody_asks_for_cards(machine: Machine, tmp_path: Path) -> None:
    python = stand_in_python(tmp_path, "paddlepaddle==3.0.0")
    assert machine.look("device-processes", f"--python={python}").status == "skipped"
