"""Counting cards through drivers that no test machine has: stand-ins take their place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pdtriage.launch.plan.devices import SystemProbe
from pdtriage.launch.plan.interpreter import choose_python, installed_paddle, wheel_in
from pdtriage.support.errors import UserError

STAND_IN_MODULE = """
class NVMLError(Exception): pass
def nvmlInit(): pass
def nvmlShutdown(): pass
def nvmlDeviceGetCount(): return 5
"""
STAND_IN_LIBRARY = """
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 3; return 0; }
"""
ASK = "from pdtriage.launch.plan.devices import count_nvml; print(count_nvml())"


def ask(**variables: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", ASK],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_nvml_through_a_stand_in_for_nvidia_ml_py(tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text(STAND_IN_MODULE)
    assert ask(PYTHONPATH=str(tmp_path)) == "5"


def test_nvml_through_a_stand_in_library(tmp_path: Path) -> None:
    source = tmp_path / "stand_in_nvml.c"
    source.write_text(STAND_IN_LIBRARY)
    library = tmp_path / "libnvidia-ml.so.1"
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    except OSError:
        pytest.skip("there is no C compiler")
    assert ask(LD_LIBRARY_PATH=str(tmp_path)) == "3"


def test_cards_by_their_device_files(tmp_path: Path) -> None:
    for name in ("xpu0", "xpu1", "xpuctrl", "davinci0", "davinci_manager"):
        (tmp_path / "dev").mkdir(exist_ok=True)
        (tmp_path / "dev" / name).touch()
    for node, gpu in (("0", "0"), ("1", "4711"), ("2", "4712")):
        folder = tmp_path / "sys/class/kfd/kfd/topology/nodes" / node
        folder.mkdir(parents=True)
        (folder / "gpu_id").write_text(f"{gpu}\n")
    probe = SystemProbe(str(tmp_path))
    assert probe.count("xpu") == 2
    assert probe.count("npu") == 1
    assert probe.count("gpu") == 2


def test_npus_by_a_stand_in_for_their_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "npu-smi"
    tool.write_text("#!/bin/sh\necho '        Total Count                    : 8'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert SystemProbe(str(tmp_path)).count("npu") == 8


@pytest.mark.parametrize(
    ("names", "kind", "custom"),
    [
        (["paddlepaddle-3.3.1.dist-info"], "cpu", False),
        (["paddlepaddle_gpu-2.6.2.post120.dist-info"], "gpu", False),
        (["paddlepaddle_xpu-3.0.0.dist-info"], "xpu", False),
        (["paddlepaddle_dcu-3.0.0.dist-info"], "gpu", False),
        (["paddlepaddle-3.1.0.dist-info", "paddle_custom_npu-3.1.0.dist-info"], "npu", True),
        (["paddlepaddle_gpu-2.3.0-py3.9.egg-info"], "gpu", False),
        (["paddlenlp-2.0.dist-info", "paddle2onnx-1.0.dist-info"], None, False),
    ],
)
def test_the_wheel_says_which_devices_paddle_can_use(
    tmp_path: Path, names: list[str], kind: str | None, custom: bool
) -> None:
    for name in names:
        (tmp_path / name).mkdir()
    wheel = wheel_in(["/nowhere", str(tmp_path)])
    assert (wheel.kind if wheel else None) == kind
    assert (wheel.custom if wheel else False) == custom


def test_another_python_is_asked_for_its_paths(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "paddlepaddle_gpu-9.9.dist-info").mkdir()
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho {tmp_path / 'site'}\n")
    python.chmod(0o755)
    found = choose_python(str(python), {})
    assert found == str(python)
    wheel = installed_paddle(found)
    assert wheel is not None
    assert (wheel.kind, wheel.version) == ("gpu", "9.9")


def test_ours_is_the_python_unless_it_is_isolated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert choose_python(None, {}) == sys.executable
    with pytest.raises(UserError, match="no Python"):
        choose_python("/nowhere/python", {})
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "uv-receipt.toml").touch()
    for folder in (tmp_path / "tool" / "bin", tmp_path / "bin"):
        folder.mkdir()
        (folder / "python").write_text("#!/bin/sh\n")
        (folder / "python").chmod(0o755)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "tool"))
    path = f"{tmp_path}/tool/bin:{tmp_path}/bin"
    assert choose_python(None, {"PATH": path}) == str(tmp_path / "bin" / "python")
