"""`make audit`: known vulnerabilities of what lists of requirements install.

Exits with 1 if there are any, and with 0 where nobody can be asked.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_OPTIONS = (
    *("--require-hashes", "--disable-pip", "--progress-spinner=off", "--timeout=20"),
    *("--format=json", "--aliases=on", "--desc=off"),
)


def main(lists: list[str]) -> int:
    found = False
    for name in lists:
        program = Path(sys.executable).with_name("pip-audit")
        words = [str(program), *_OPTIONS, "--requirement", name]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        try:
            packages = json.loads(done.stdout)["dependencies"]
        except (ValueError, KeyError):
            said = done.stderr.strip().splitlines()
            print(f"{name}: not audited: {said[-1] if said else 'no answer'}")
            continue
        found = _tell(name, packages) or found
    return int(found)


def _tell(name: str, packages: list[dict[str, object]]) -> bool:
    known = [package for package in packages if "vulns" in package]
    print(f"{name}: {len(known)} packages audited, {len(packages) - len(known)} not known there")
    found = False
    for package in known:
        for one in package["vulns"]:  # type: ignore[attr-defined]
            fixed = ", ".join(one["fix_versions"]) or "none"
            print(f"  {package['name']} {package['version']}: {one['id']}, fixed in: {fixed}")
            found = True
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
