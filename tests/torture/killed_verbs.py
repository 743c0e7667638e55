"""Kills every verb that writes files or starts processes, at every moment of its life; says what
was left half done.

`python -m tests.torture.killed_verbs [--every MILLISECONDS] [VERB…]`
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from pdtriage.collect.gather import MANIFEST, is_collection
from pdtriage.launch.supervise.processes import running_processes
from pdtriage.record.reader import read_records
from pdtriage.support import cache
from pdtriage.support.zstd import zstd
from tests.collect.pods import cluster_of, ended, job, pod
from tests.collect.standin import standing_in
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
    "collect": ("collect", "k8s", "train", "-n", "ml", "-o", "k8s", "--overwrite"),
    "watch": ("watch", str(LOG), "--report=r.json", "-f", "markdown=r.md", "--history", "h.db"),
    "stacks": ("stacks", "log"),
    "demo": ("demo", "--log-dir", "d"),
}
MARK = "TORTURED_FOLDER"
"""What is left behind of a verb carries it in its environment."""


@contextlib.contextmanager
def surroundings_of(verb: str, folder: Path) -> Iterator[dict[str, str]]:
    """What has to be there for the verb, and the environment in which it finds that."""
    if verb == "collect":
        pods = [pod("worker", 0, ended(250)), pod("worker", 1, ended(137, "OOMKilled"))]
        logs = {name["metadata"]["name"]: b"step 1\n" * 200_000 for name in pods}
        cluster = cluster_of(pods, logs, jobs=[job()])
        with tempfile.TemporaryDirectory() as home, standing_in(cluster, Path(home)) as around:
            yield around
    elif verb == "stacks":
        (folder / "log").mkdir()
        with (folder / "log/workerlog.0").open("wb") as log:
            words = [sys.executable, "-c", "import time; time.sleep(3600)"]
            rank = subprocess.Popen(words, stdout=log, env=clean_environment() | RANK)
        try:
            yield {}
            assert rank.poll() is None, "the job was harmed"
        finally:
            rank.kill()
            rank.wait()
    else:
        yield {}


RANK = {"PADDLE_TRAINER_ID": "0", "PADDLE_TRAINERS_NUM": "1"}


def play(
    verb: str,
    folder: Path,
    after: float | None,
    kept: Path | None = None,
    around: Mapping[str, str] | None = None,
) -> bool:
    """Starts the verb in `folder`, kills it `after` seconds; whether it had ended by itself.

    `kept` is the cache folder, of its own if None; `around` what its surroundings gave.
    """
    scratch = folder / ".scratch"
    scratch.mkdir(exist_ok=True)
    if verb == "parsers new":
        (folder / "own.toml").unlink(missing_ok=True)  # it refuses what it knows already
    (folder / "train.py").write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, "-m", "pdtriage", *VERBS[verb]],
        cwd=folder,
        env={
            **clean_environment(),
            **(around or {}),
            cache.FOLDER_VARIABLE: str(kept or folder / "cache"),
            MARK: str(folder),
            "TMPDIR": str(scratch),
        },
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
        assert wait_until(lambda: not _left_behind(folder), 60), "somebody lives on"
        shutil.rmtree(scratch)


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
    if (folder / "k8s/pods").exists():
        yield from _half_collections(folder / "k8s")


def _half_collections(folder: Path) -> Iterator[str]:
    """A collection says that it is not finished until every log is whole."""
    if not is_collection(folder):
        yield f"{folder.name}: a collection that does not say so"
    elif json.loads((folder / MANIFEST).read_bytes())["complete"]:
        for log in folder.rglob("*.log"):
            if log.stat().st_size != 1_400_000:
                yield f"{log.name}: {log.stat().st_size} bytes, and said to be complete"


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


def _left_behind(folder: Path) -> list[str]:
    """Processes that the verb began and that live, by their command lines."""
    mark, found = f"{MARK}={folder}".encode(), []
    for process in running_processes():
        with contextlib.suppress(OSError):
            of = Path(f"/proc/{process.pid}")
            if mark in (of / "environ").read_bytes().split(b"\0"):
                found.append((of / "cmdline").read_text().replace("\0", " "))
    return found


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
    with tempfile.TemporaryDirectory() as made, surroundings_of(verb, Path(made)) as around:
        kills, found = 0, list[str]()
        while not play(verb, Path(made), kills * every / 1000, around=around):
            kills += 1
            found += half_files(Path(made))
        return kills, [*found, *half_files(Path(made))]


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
