"""`python -m tests.fuzz [--seconds N] [TARGET…]`: looks for bytes that make a reader raise.

Guided by coverage where atheris is installed (`pip install atheris`), else by chance alone. Each
target runs in a process of its own; inputs that fail are kept below `--keep`. Seconds are of that
process, not of the clock on the wall: a busy machine makes a run longer, not smaller.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import subprocess
import sys
import time
import traceback
from pathlib import Path

MOST_MEMORY = 2048
SLOWEST = 25
"""Seconds of this process for one input."""
LONGEST_WAIT = 600
"""Seconds by the clock on the wall: a busy machine is nobody's fault."""


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seconds", type=float, default=60, help="of processor time, a target")
    reader.add_argument("--keep", type=Path, default=Path("build/fuzz"))
    reader.add_argument("--one", help=argparse.SUPPRESS)
    reader.add_argument("targets", nargs="*")
    asked = reader.parse_args()
    asked.keep.mkdir(parents=True, exist_ok=True)
    if asked.one:
        return _alone(asked.one, asked.seconds, asked.keep.absolute())
    from tests.fuzz.targets import TARGETS

    lost, began = 0, _processor_time()
    for target in asked.targets or TARGETS:
        before = _processor_time()
        words = [sys.executable, "-m", "tests.fuzz", f"--seconds={asked.seconds}"]
        done = subprocess.run(
            [*words, f"--keep={asked.keep}", f"--one={target}"],
            env={**os.environ, "PDTRIAGE_CACHE": str(asked.keep.absolute() / "cache")},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        said = (done.stderr + done.stdout).strip().splitlines()
        took = _processor_time() - before
        outcome = "ok" if done.returncode == 0 else "FAILED"
        print(f"{target:12} {outcome:6} {took:6.0f} s  {_figures(said)}")
        if done.returncode:
            lost += 1
            print("\n".join(said[-25:]))
        sys.stdout.flush()
    print(f"processor time: {_processor_time() - began:.0f} s")
    return int(lost > 0)


def _processor_time() -> float:
    """Seconds that the targets which have ended took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _figures(said: list[str]) -> str:
    told = [line for line in said if line.startswith("inputs")]
    return told[-1] if told else ""


def _alone(target: str, seconds: float, keep: Path) -> int:
    try:
        import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return _by_chance(target, seconds, keep)
    with atheris.instrument_imports(include=["pdtriage"]):
        from tests.fuzz.targets import TARGETS, seeds_of
    corpus = keep / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in seeds_of(target):
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    options = [
        *(f"-timeout={LONGEST_WAIT}", f"-rss_limit_mb={MOST_MEMORY}"),
        *("-max_len=8192", f"-artifact_prefix={keep}/{target}-"),
    ]
    TARGETS[target](b"")  # what is made once takes its time on a busy machine
    until, count = time.process_time() + seconds, 0

    def try_one(raw: bytes) -> None:
        nonlocal count
        began = time.process_time()
        TARGETS[target](raw)
        count, ended = count + 1, time.process_time()
        if ended - began > SLOWEST:
            raise TimeoutError(f"{SLOWEST} s for {len(raw)} bytes")
        if ended > until:
            print(f"inputs: {count}", flush=True)
            os._exit(0)  # libFuzzer knows no end but that of the clock on the wall

    atheris.Setup([sys.argv[0], *options, str(corpus)], try_one)
    atheris.Fuzz()
    return 0


def _by_chance(target: str, seconds: float, keep: Path) -> int:
    from tests.fuzz.mutations import mutated
    from tests.fuzz.targets import TARGETS, seeds_of

    chance, seeds = random.Random(), seeds_of(target)
    until, count = time.process_time() + seconds, 0
    while time.process_time() < until:
        raw = mutated(seeds, chance)
        count += 1
        try:
            TARGETS[target](raw)
        except Exception:
            (keep / f"{target}-{hashlib.sha256(raw).hexdigest()[:16]}").write_bytes(raw)
            traceback.print_exc()
            return 1
    print(f"inputs: {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
