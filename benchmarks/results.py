"""The file all benchmarks write into: what machine it was, then one section after another.

python benchmarks/results.py FILE            begin FILE anew: machine, versions, date
python benchmarks/results.py FILE "Title"    a heading for a benchmark that writes tables alone
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("pdtriage", "hyperscan", "regex", "google-re2", "typer", "watchdog")
TOOLS = ("rg", "grep", "lnav", "tail")


def about() -> str:
    """The machine, the versions, the day, and how busy it was."""
    versions = [f"{name} {known}" for name in PACKAGES if (known := _version(name))]
    tools = [_first_line(name) for name in TOOLS]
    return (
        f"{_processor()}, {os.cpu_count()} cores, {_memory()} GB, {platform.system()} "
        f"{platform.release()}, Python {platform.python_version()}; {', '.join(versions)}; "
        f"{', '.join(tools)}; {time.strftime('%Y-%m-%d', time.gmtime())}, "
        f"load {os.getloadavg()[0]:.1f} when it began"
    )


def keep(title: str, text: str, into: Path | None) -> None:
    """Print a section and append it to the file, if there is one."""
    section = f"## {title}\n\n{text.strip()}\n"
    print(section, flush=True)
    if into is not None:
        with into.open("a", encoding="utf-8") as file:
            file.write(section + "\n")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    named = (row.split(":")[1].strip() for row in lines if row.startswith("model name"))
    return next(named, platform.machine())


def _memory() -> int:
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9)


def _first_line(tool: str) -> str:
    if shutil.which(tool) is None:
        return f"no {tool}"
    said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout
    return said.splitlines()[0] if said else tool


def main() -> None:
    path, *title = sys.argv[1:]
    if title:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"## {title[0]}\n\n")
        return
    Path(path).write_text(f"# Benchmarks\n\n{about()}\n\n", encoding="utf-8")


if __name__ == "__main__":
    main()
