"""Given the compiled wheel, when it judges all recorded jobs, then its reports are those of the
sources it was made of, byte for byte."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "tests/fixtures/scenarios"
REPORTS = """
import json, sys
from pathlib import Path
from pdtriage.events import whole
from pdtriage.pipeline import analyze_all_runs
from pdtriage.report.json import as_json

reports = {
    folder.name: [as_json(report) for report in analyze_all_runs(folder)]
    for folder in sorted(Path(sys.argv[1]).iterdir())
    if folder.is_dir()
}
print(json.dumps({"read by": whole.__file__, "reports": reports}, default=str))
"""


def told_by(packages: Path, scratch: Path) -> dict[str, object]:
    """What the package in this folder says of all scenarios."""
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    done = subprocess.run(
        [sys.executable, "-c", REPORTS, str(SCENARIOS)],
        cwd=scratch,
        env=environment,
        capture_output=True,
        check=True,
    )
    told: dict[str, object] = json.loads(done.stdout)
    return told


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler: apt-get install gcc")
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

    compiled, source = told_by(tmp_path / "wheel", tmp_path), told_by(ROOT, tmp_path)

    assert str(compiled["read by"]).endswith(".so")
    assert str(source["read by"]).endswith("whole.py")
    assert isinstance(source["reports"], dict)
    assert len(source["reports"]) > 90
    assert compiled["reports"] == source["reports"]
    assert not [*(ROOT / "pdtriage").rglob("*.so")], "nothing compiled is left among the sources"
