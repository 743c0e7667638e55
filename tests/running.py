"""What every test needs that starts processes and waits for them."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

_OBEYED = (
    *("PADDLE", "POD_", "FLAGS_", "TRAINER", "TRAINING_", "DISTRIBUTED", "PDTRIAGE", "CUDA", "XPU"),
    *("LC_", "LANG", "NO_COLOR", "PYTHONUNBUFFERED"),
)


def clean_environment() -> dict[str, str]:
    """Ours without anything a launcher or a view would obey."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OBEYED)}
    return kept | {"LC_ALL": "C.UTF-8"}


def script_named(name: str) -> ModuleType:
    """One of scripts/, which is no package."""
    path = Path(__file__).parents[1] / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()
