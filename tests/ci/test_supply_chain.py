"""What is installed is named by version and hash, may be used, and is built the same everywhere."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
LISTS = sorted((ROOT / "requirements").glob("*.txt"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKED = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[\w.]+)(?: ; (?P<marker>.+?))?")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}")
FREE = re.compile(r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|MPL|Mozilla|Unlicense", re.I)
NOT_IN_THE_TESTS = {"pyarrow"}
"""Apache-2.0, and large; only what reads HDFS needs it."""
NOT_FREE = re.compile(r"\bA?GPL|proprietary|commercial", re.I)


def locked(file: Path) -> dict[str, list[tuple[str, str]]]:
    """Versions and markers by name."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in file.read_text(encoding="utf-8").replace(" \\\n", "\n").splitlines():
        if match := LOCKED.fullmatch(line):
            found.setdefault(match["name"], []).append((match["version"], match["marker"] or ""))
    return found


@pytest.mark.parametrize("file", LISTS, ids=lambda file: file.stem)
def test_every_requirement_has_its_version_and_hashes(file: Path) -> None:
    text = file.read_text(encoding="utf-8").replace(" \\\n", "\n")
    before = ""
    for line in text.splitlines():
        assert LOCKED.fullmatch(line) or HASH.fullmatch(line), line
        assert not (LOCKED.fullmatch(line) and LOCKED.fullmatch(before)), f"{before} has no hash"
        before = line
    assert "//" not in text, "no index is named: which one to ask is the user's matter"


@pytest.mark.parametrize(("file", "extras"), [("run", ()), ("dev", ("dev", "paddle"))])
def test_the_lists_hold_what_the_project_asks_for(file: str, extras: tuple[str, ...]) -> None:
    asked = list(PROJECT["project"]["dependencies"])
    for extra in extras:
        asked += PROJECT["project"]["optional-dependencies"][extra]
    found = locked(ROOT / f"requirements/{file}.txt")
    for text in asked:
        wanted = Requirement(text)
        if wanted.name == "pdtriage":
            continue
        versions = found[canonicalize_name(wanted.name)]
        assert all(wanted.specifier.contains(version) for version, _ in versions), text


def test_what_builds_is_pinned_to_the_same_versions() -> None:
    hook = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["mypyc"]
    builder = PROJECT["build-system"]["requires"]
    for list_, asked in (("install", builder), ("build", [*builder, *hook["dependencies"]])):
        found = locked(ROOT / f"requirements/{list_}.txt")
        for text in asked:
            name, _, version = text.partition("==")
            assert found[name] == [(version, "")], text


def test_actions_of_others_are_named_by_commit() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert not [step for step in action["runs"]["steps"] if "uses" in step]
    for line in action["runs"]["steps"][0]["run"].splitlines():
        if " install " in line:
            assert "--require-hashes" in line or "--no-deps" in line
    recipes = [*(ROOT / "docs" / "ci").glob("*.yml"), *(ROOT / ".github").rglob("test.yml")]
    assert len(recipes) > 1
    for recipe in recipes:
        for used in re.findall(r"uses: (\S+)", recipe.read_text(encoding="utf-8")):
            assert used.startswith("./") or re.search(r"@[0-9a-f]{40}$", used), used


OPTIONAL = sorted({*PROJECT["project"]["optional-dependencies"]} - {"gpu"})
"""Paddle for cards is not installed where the tests run."""


@pytest.mark.parametrize("extra", ["", *OPTIONAL])
def test_everything_that_is_installed_may_be_used_freely(extra: str) -> None:
    """With the LGPL only what stays optional: who installs pdtriage alone has none of it."""
    seen = with_all_it_needs("pdtriage", extra)
    for name in sorted(seen - NOT_IN_THE_TESTS):
        told = importlib.metadata.metadata(name)
        classified = [c for c in told.get_all("Classifier", []) if c.startswith("License")]
        short = told.get("License-Expression") or (told.get("License") or "")[:200]
        licence = " ".join([short, *classified])
        if extra:
            licence = licence.replace("LGPL-2.1", "MPL")
        assert FREE.search(licence), f"{name}: {licence!r}"
        assert not NOT_FREE.search(licence), f"{name}: {licence!r}"
    assert len(seen) > 10


def with_all_it_needs(package: str, extra: str) -> set[str]:
    """Names of everything that is installed with it on this system."""
    pending = [(package, extra), (package, "")]
    seen: set[tuple[str, str]] = set()
    while pending:
        name, wanted_for = pending.pop()
        name = canonicalize_name(name)
        if (name, wanted_for) in seen:
            continue
        seen.add((name, wanted_for))
        for text in () if name in NOT_IN_THE_TESTS else importlib.metadata.requires(name) or ():
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": wanted_for}):
                pending += [(wanted.name, one) for one in ("", *wanted.extras)]
    return {name for name, _ in seen}


def test_the_wheel_is_the_same_wherever_and_whenever_it_is_built(tmp_path: Path) -> None:
    digests = set()
    for place, mask in (("here", 0o022), ("some/where else", 0o077)):
        copy = tmp_path / place
        kept = shutil.ignore_patterns("__pycache__", "*.so")
        for name in ("pdtriage", "parsers"):
            shutil.copytree(ROOT / name, copy / name, ignore=kept)
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copyfile(ROOT / name, copy / name)
        for path in copy.rglob("*"):
            os.utime(path, (mask * 1e7, mask * 1e7))
        words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "made"]
        subprocess.run(words, cwd=copy, umask=mask, check=True, capture_output=True, timeout=120)
        (wheel,) = (copy / "made").glob("*.whl")
        digests.add((wheel.name, hashlib.sha256(wheel.read_bytes()).hexdigest()))
    assert len(digests) == 1, digests
