"""Kills every verb that writes files, at every moment of its life; says what was left half done.

`python -m tests.torture.killed_verbs [--every MILLISECONDS] [VERB…]`
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pdtriage.record.reader import read_records
from pdtriage.support import cache
from pdtriage.support.zstd import zstd
from tests.running import clean_environment, wait_until

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LOG = Path(__file__).parents[1] / "fixtures/scenarios/data-errno5-worker/log"
SCRIPT = "import time\nprint('step 1', flush=True)\ntime.sleep(0.3)\nraise ValueError('own')\n"
SAMPLE = "worker 3 lost the lease of shard 17"
VERBS = {
    "analyze": ("analyze", str(LOG), "-fjson=r.json", "-fhtml=r.html", "-fsarif=r.sarif"),
    "markdown": ("analyze", str(LOG), "--no-cache", "-o", "r.md", "-fjunit=r.xml"),
    "bundle": ("bundle", str(LOG), "-o", "b.tar.zst"),
    "bundle gz": ("bundle", str(LOG), "-o", "b.tar.gz"),
    "parsers new": ("parsers", "new", "own.lease", "--sample", SAMPLE, "-o", "own.toml"),
    "history": ("history", "import", str(LOG), "--history", "h.db"),
    "run": ("run", "--nproc_per_node=2", "--grace=0.2", "--report=r.html", "train.py"),
}


def play(verb: str, folder: Path, after: float | None, kept: Path | None = None) -> bool:
    """Starts the verb in `folder`, kills it `after` seconds; whether it had ended by itself.

    `kept` is the cache folder, of its own if None.
    """
    if verb == "parsers new":
        (folder / "own.toml").unlink(missing_ok=True)  # it refuses what it knows already
    (folder / "train.py").write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, "-m", "pdtriage", *VERBS[verb]],
        cwd=folder,
        env={**clean_environment(), cache.FOLDER_VARIABLE: str(kept or folder / "cache")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.wait(after)
        return True
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return False
    finally:
        if verb == "run":
            assert wait_until(lambda: not _still_written(folder), 60), "somebody lives on"


def half_files(folder: Path) -> Iterator[str]:
    """What lies there and is not whole, or has no business there."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.suffix == ".py":
            continue
        if path.name.startswith("."):
            yield f"{path.name}: left over"
            continue
        try:
            _read_whole(path)
        except Exception as error:
            yield f"{path.relative_to(folder)}: {error!r}"


def _read_whole(path: Path) -> None:
    raw = path.read_bytes()
    if path.suffix in (".json", ".sarif"):
        json.loads(raw)
    elif path.suffix == ".html":
        assert raw.rstrip().endswith(b"</html>")
    elif path.suffix == ".xml":
        assert raw.rstrip().endswith(b"</testsuites>")
    elif path.suffix == ".toml":
        tomllib.loads(raw.decode())
    elif path.suffix == ".md":
        assert raw.endswith(b"\n")
    elif path.suffix in (".zst", ".gz"):
        plain = raw
        if path.suffix == ".zst":
            plain = zstd().ZstdDecompressor().decompress(raw)
        with tarfile.open(fileobj=io.BytesIO(plain)) as members:
            assert "pdtriage-bundle/pdtriage/README.md" in members.getnames()
    elif path.suffix == ".db":
        with contextlib.closing(sqlite3.connect(path)) as kept:  # goes back by its journal
            assert kept.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    elif path.suffix == ".bin":
        assert cache.unseal(raw, path.stem.rpartition("-")[2]) is not None
    elif path.suffix == ".jsonl":
        assert not raw or read_records(path.parent), "no record can be read"


def _still_written(folder: Path) -> bool:
    lock = folder / "log/pdtriage/lock"
    if not lock.exists():
        return False
    import fcntl

    with lock.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--every", type=float, default=50, help="milliseconds")
    reader.add_argument("verbs", nargs="*")
    asked = reader.parse_args()
    lost = 0
    print(f"{'verb':12} {'kills':>6} {'life':>7}  half files")
    for verb in asked.verbs or VERBS:
        kills, found = kill_at_every_moment(verb, asked.every)
        lost += len(found)
        life = kills * asked.every / 1000
        print(f"{verb:12} {kills:6} {life:6.2f}s  {len(found)}", *found[:3], sep="  ", flush=True)
    return int(lost > 0)


def kill_at_every_moment(verb: str, every: float = 50) -> tuple[int, list[str]]:
    """How often it was killed, each time so many milliseconds later, and the half files it left."""
    with tempfile.TemporaryDirectory() as made:
        kills, found = 0, list[str]()
        while not play(verb, Path(made), kills * every / 1000):
            kills += 1
            found += half_files(Path(made))
        return kills, [*found, *half_files(Path(made))]


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
