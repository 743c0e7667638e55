"""The built wheel in an empty environment: it is light, and it works."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_PACKAGES = 22
MOST_MEGABYTES = 50


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without pip, which is no part of what is measured."""
    top = tmp_path_factory.mktemp("install")
    built = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(top)]
    subprocess.run(built, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = top.glob("*.whl")
    venv.create(top / "env", symlinks=True)
    python = str(top / "env" / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", str(wheel)]
    subprocess.run(pip, check=True)
    return top / "env"


def test_it_is_light(installed: Path) -> None:
    (packages,) = installed.glob("lib/python*/site-packages")
    names = sorted(folder.name for folder in packages.glob("*.dist-info"))
    megabytes = sum(file.stat().st_size for file in packages.rglob("*") if file.is_file()) / 1e6
    print(f"{len(names)} packages, {megabytes:.0f} MB")
    assert len(names) <= MOST_PACKAGES, names
    assert megabytes <= MOST_MEGABYTES


def test_it_works(installed: Path, tmp_path: Path) -> None:
    job = ROOT / "tests" / "fixtures" / "scenarios" / "data-errno5-worker"
    command = [str(installed / "bin" / "pdtriage"), str(job), "-f", "json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["root_causes"][0]["rank"] == 1
    bundle = [str(installed / "bin" / "pdtriage"), "bundle", str(job), "-o", "b.tar.zst"]
    assert subprocess.run(bundle, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    for page in ("man1", "zh_CN/man1"):
        assert (installed / "share" / "man" / page / "pdtriage.1").exists()


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["analyze", "x", "--notify", "feishu://abc"], "pdtriage[notify]"),
        (["run", "--nnodes", "1:2", "--master", "etcd://127.0.0.1:9", "t.py"], "pdtriage[elastic]"),
    ],
)
def test_what_is_left_out_is_named(
    installed: Path, tmp_path: Path, words: list[str], extra: str
) -> None:
    (tmp_path / "t.py").touch()
    command = [str(installed / "bin" / "pdtriage"), *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert f"pip install '{extra}'" in done.stderr
    assert "Traceback" not in done.stderr
