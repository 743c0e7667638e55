"""Given the compiled wheel, when it judges all recorded jobs, then its reports are those of the
sources it was made of, byte for byte."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "tests/fixtures/scenarios"
REPORTS = """
import json, sys
from pathlib import Path
from pdtriage.scan import Engine, scan_file
from pdtriage.knowledge import load_knowledge
from pdtriage.model import LogFile
from pdtriage.analysis.pipeline import analyze_all_runs
from pdtriage.model.report_json import as_json

reports = {
    folder.name: [as_json(report) for report in analyze_all_runs(folder)]
    for parent in sys.argv[1:]
    for folder in sorted(Path(parent).iterdir())
    if folder.is_dir()
}

given, taken = [], []

def chunks():
    for number in range(6):
        given.append(number)
        yield b"step: 1, loss: 0.5\\n" * 100_000

file = LogFile("workerlog.0", "worker", "", 0)
scan_file.scan(file, chunks(), Engine(load_knowledge()), lambda _: taken.append(len(given)))
told = {"read by": scan_file.__file__, "reports": reports, "taken": taken}
print(json.dumps(told, default=str))
"""
ODD = {
    "blank end": b"hello\n" + b"\n" * 20_000,
    "only newlines": b"\n" * 20_000,
    "only carriage returns": b"\r" * 20_000,
    "bar": b"epoch 0:  22%|##   | 10/5000 [00:41<01:10]\r" * 2_000,
    "no end": b"x" * 100_000,
    "zeros": b"\x00" * 5_000 + b"\nstep: 1, loss: 0.5\n",
    "not text": b"\xff\xfe\xe8\xae\nstep: \xe8\xae\xad 1\n" * 900,
    "numbers": b"step: "
    + b"9" * 40
    + b", loss: 1e9999\nI1399 99:99:99.999999 "
    + b"7" * 38
    + b" a] x\n",
    "years": b"[0000-00-00 00:00:00,000] step: 1\n[9999-12-31 23:59:59,999] step: 2, loss: nan\n",
    "failing": b"Traceback (most recent call last):\n" * 3
    + b"OSError: [Errno 5] Input/output error\n",
}


def told_by(packages: Path, scratch: Path) -> dict[str, object]:
    """What the package in this folder says of all scenarios, and of logs like no other."""
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    done = subprocess.run(
        [sys.executable, "-c", REPORTS, str(SCENARIOS), str(scratch / "odd")],
        cwd=scratch,
        env=environment,
        capture_output=True,
        check=True,
    )
    told: dict[str, object] = json.loads(done.stdout)
    return told


COMPILER = str(sysconfig.get_config_var("CC") or "cc").split()[0]


@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"needs the C compiler {COMPILER}")
def test_the_compiled_wheel_says_the_same(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(tmp_path / "dist"), str(ROOT)],
        env={**os.environ, "HATCH_BUILD_HOOKS_ENABLE": "true"},
        capture_output=True,
        check=True,
    )
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "wheel")

    for name, text in ODD.items():
        (tmp_path / "odd" / name).mkdir(parents=True)
        for rank in (0, 1):
            (tmp_path / "odd" / name / f"workerlog.{rank}").write_bytes(text)

    compiled, source = told_by(tmp_path / "wheel", tmp_path), told_by(ROOT, tmp_path)

    assert str(compiled["read by"]).endswith(".so")
    assert str(source["read by"]).endswith("scan_file.py")
    assert isinstance(source["reports"], dict)
    assert len(source["reports"]) > 90
    assert compiled["reports"] == source["reports"]
    assert compiled["taken"] == source["taken"] == [2, 2, 3, 4, 5, 6], "chunks are not heaped up"
    assert not [*(ROOT / "pdtriage").rglob("*.so")], "nothing compiled is left among the sources"
