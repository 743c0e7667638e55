"""The map step on a Ray cluster: batches of logs go to its nodes, their facts come back.

Facts are merged as a tree: a task folds the files of its batch, and where there are many batches
further tasks fold those, so that the driver meets few objects however many files there are. The
verdict stays with the driver. A task that dies with its node is started again by Ray on another
one; what Ray gives up, the driver reads itself. The bytes of a log never travel: a node reads the
path or URL itself, and a file that only the driver can see is read by the driver.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from types import FrameType
from typing import Any, Literal

import pdtriage
from pdtriage.reading.local import Read, Tick, read_one
from pdtriage.scan import Engine
from pdtriage.sources import Source
from pdtriage.sources.byte_stream import Disk, Memory
from pdtriage.sources.chained import ChainedSource
from pdtriage.sources.read_ahead import has_remote, prefetch
from pdtriage.sources.remote.url import scheme_of
from pdtriage.support.errors import NotAvailableError, debugging, missing_package
from pdtriage.support.language import Text

LEAST_BATCH, MOST_BATCH = 4 << 20, 256 << 20
"""Bytes of logs for one task: many times what a task costs, and done in a second or so."""
EACH_CPU = 8
"""Batches that each CPU gets in all, where the sizes above allow it: the last ones even it out."""
SMALLEST = 32 << 10
"""What opening a file costs, in bytes of reading one."""
FAN_IN = 16
"""Batches folded by one further task …"""
WORTH_A_TREE = 64
"""… where there are more batches than this."""
TRIES = 8
"""How many nodes may die under one task."""
CONNECT_SECONDS = 10.0
"""Seconds in which the head of a cluster takes a connection, or is not there."""
UNDER_WAY = 3
"""Batches for each CPU that are handed to the cluster at once; the others wait here."""

Sighting = tuple[int, int] | Literal["anywhere", "here"]
"""Size and time of a file on disk, or where else it can be had."""
Wanted = tuple[Source, Sighting]
Answer = list[Read | None]
"""For each file of a batch what was read; None for what the node could not see."""


def read_on_ray(
    sources: Sequence[Source], engine: Engine, tick: Tick, address: str | None = None
) -> Iterator[Read]:
    """Reads logs in the order given by the nodes of a Ray cluster: that at `address`, or one
    started here."""
    if not sources:
        return
    ray = _ray()
    with _session(ray, address), _lasting_ctrl_c() as heed_ctrl_c:

        def on_beat(done: int, whole: int) -> None:
            heed_ctrl_c()
            tick(done, whole)

        yield from _Run(ray, sources, engine, on_beat).answers()


class _Run:
    """One pass over the sources. Batches are answered in any order and given in theirs.

    Whoever stops early leaves a few batches behind: they end with our connection, or in a second or
    so on one that is not ours. They are not cancelled: a task that is cancelled just when it
    answers makes Ray abort the driver.
    """

    def __init__(self, ray: Any, sources: Sequence[Source], engine: Engine, tick: Tick) -> None:
        self._ray = ray
        self._engine = engine
        self._tick = tick
        self._whole = sum(source.file.size or 0 for source in sources)
        self._cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
        batch = min(MOST_BATCH, max(LEAST_BATCH, self._whole // (self._cpus * EACH_CPU)))
        wanted = [(source, sighting_of(source)) for source in sources]
        self._batches = batches_of(wanted, batch)
        self._done = 0
        self._knowledge = ray.put(engine.knowledge)
        options = {"num_cpus": 1, "max_retries": TRIES, "scheduling_strategy": "SPREAD"}
        self._read = ray.remote(read_batch).options(**options)
        self._fold = ray.remote(concatenate).options(**options)
        self._engine_key = f"{pdtriage.__version__} {id(engine.knowledge)} {os.getpid()}"

    def answers(self) -> Iterator[Read]:
        under_way: deque[tuple[list[int], list[Any], Any]] = deque()
        groups = deque(self._groups())
        most = max(4, UNDER_WAY * self._cpus)
        while groups or under_way:
            while groups and (not under_way or _tasks(under_way) + len(groups[0]) <= most):
                under_way.append(self._submit(groups.popleft()))
            numbers, parts, whole = under_way[0]
            self._wait(parts, [part for _, many, _ in under_way for part in many])
            answer = self._answer(numbers, parts, whole)
            under_way.popleft()
            yield from self._read_missing(numbers, answer)

    def _groups(self) -> list[list[int]]:
        numbers = range(len(self._batches))
        size = FAN_IN if len(numbers) > WORTH_A_TREE else 1
        return [list(numbers[at : at + size]) for at in range(0, len(numbers), size)]

    def _submit(self, numbers: list[int]) -> tuple[list[int], list[Any], Any]:
        parts = [
            self._read.remote(self._engine_key, [self._knowledge], self._batches[number])
            for number in numbers
        ]
        return numbers, parts, parts[0] if len(parts) == 1 else self._fold.remote(*parts)

    def _wait(self, first: list[Any], parts: list[Any]) -> None:
        """Waits until the first group is through; the bar hears of every batch meanwhile."""
        waiting = list(parts)
        each = self._whole / len(self._batches)
        while any(part in waiting for part in first):
            _, waiting = self._ray.wait(waiting, timeout=0.5, fetch_local=False)
            ready = len(parts) - len(waiting)
            self._tick(min(self._whole, int(self._done + ready * each)), self._whole)

    def _answer(self, numbers: list[int], parts: list[Any], whole: Any) -> Answer:
        """What Ray gave up is read here: the files are still there."""
        errors = self._ray.exceptions
        try:
            return list(self._ray.get(whole))
        except errors.RayTaskError as error:
            raise _explain(error) from error
        except errors.RayError:
            if len(parts) == 1:
                return [None for _ in self._batches[numbers[0]]]
        pairs = zip(numbers, parts, strict=True)
        return concatenate(*(self._answer([number], [part], part) for number, part in pairs))

    def _read_missing(self, numbers: list[int], answer: Answer) -> Iterator[Read]:
        wanted = [source for number in numbers for source, _ in self._batches[number]]
        unseen = [source for source, read in zip(wanted, answer, strict=True) if read is None]
        here = prefetch(unseen)
        for read in answer:
            yield read if read is not None else read_one(next(here), self._engine)
        self._done += sum(_bytes_of(self._batches[number]) for number in numbers)
        self._tick(self._done, self._whole)


def batches_of(wanted: Sequence[Wanted], most: int) -> list[list[Wanted]]:
    """Small files travel together, so that a task is worth its overhead."""
    batches: list[list[Wanted]] = []
    room = 0
    for source, sighting in wanted:
        cost = max(source.file.size or 0, SMALLEST)
        if room < cost or not batches:
            batches.append([])
            room = most
        batches[-1].append((source, sighting))
        room -= cost
    return batches


def read_batch(engine_key: str, knowledge: list[Any], wanted: list[Wanted]) -> Answer:
    """Runs on a node. `knowledge` is wrapped: only the first task of a process fetches it."""
    version = engine_key.partition(" ")[0]
    if version != pdtriage.__version__:
        raise OtherVersionError(f"pdtriage {pdtriage.__version__}, not {version}")
    if engine_key not in _engines:
        import ray

        _engines.clear()
        _engines[engine_key] = Engine(ray.get(knowledge[0]))
    engine = _engines[engine_key]
    visible = [is_seen_alike(source, sighting) for source, sighting in wanted]
    ahead = prefetch([s for (s, _), seen in zip(wanted, visible, strict=True) if seen])
    return [_read_if_reachable(next(ahead), engine) if seen else None for seen in visible]


def concatenate(*parts: Answer) -> Answer:
    return [read for part in parts for read in part]


def sighting_of(source: Source) -> Sighting:
    origin = source.origin
    if isinstance(source, ChainedSource):
        return "here"  # its pieces might be seen by different nodes
    if isinstance(origin, Memory):
        return "anywhere"
    if not isinstance(origin, Disk):
        return "here" if scheme_of(origin.root) == "memory" else "anywhere"
    try:
        with origin.open() as file:
            found = os.fstat(file.fileno())
    except OSError:
        return "here"  # gone: whoever reads it notes why
    return found.st_size, found.st_mtime_ns


def is_seen_alike(source: Source, sighting: Sighting) -> bool:
    """Shared storage shows the same size and time everywhere; numbers of inodes differ."""
    return sighting == "anywhere" or (sighting != "here" and sighting_of(source) == sighting)


class OtherVersionError(Exception):
    """A node has another pdtriage than the driver: the facts might differ."""


_engines: dict[str, Engine] = {}  # one in each process of the cluster


def _read_if_reachable(source: Source, engine: Engine) -> Read | None:
    """A storage that a node cannot reach, or may not, is left to the driver."""
    try:
        read = read_one(source, engine)
    except NotAvailableError:
        return None
    return None if read[1] and has_remote([source]) else read


def _bytes_of(batch: Sequence[Wanted]) -> int:
    return sum(source.file.size or 0 for source, _ in batch)


def _tasks(under_way: deque[tuple[list[int], list[Any], Any]]) -> int:
    return sum(len(parts) for _, parts, _ in under_way)


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anybody
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise missing_package("--engine ray", "pdtriage[ray]") from error
    return ray


@contextmanager
def _session(ray: Any, address: str | None) -> Iterator[None]:
    """A connection of ours, or the one the program has already made."""
    if ray.is_initialized():
        yield
        return
    import logging

    # "local" is a new one: without it Ray looks for hours-old traces of another one in /tmp.
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # one node's error is told for all
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        options["include_dashboard"] = False
    try:
        _check_reachable(address)
        ray.init(address=address, **options)
    except (OSError, RuntimeError, ValueError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise NotAvailableError(
            Text(
                f"--engine ray: no cluster at {address}: {why}",
                f"--engine ray：{address} 没有可用的 Ray 集群：{why}",
            )
        ) from error
    try:
        with _silence_ray():
            yield
    finally:
        ray.shutdown()


@contextmanager
def _lasting_ctrl_c() -> Iterator[Callable[[], None]]:
    """Gives what raises KeyboardInterrupt once more where a Ctrl-C had come and was swallowed.

    Python drops an exception that a signal raises inside a callback or a destructor, and Ray's
    client has many of both.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    came = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        before(number, frame)

    def heed() -> None:
        if came:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, remember)
    try:
        yield heed
    finally:
        signal.signal(signal.SIGINT, before)


def _check_reachable(address: str) -> None:
    """Refuses an address nobody listens at; Ray itself asks for minutes before it says that."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()


@contextmanager
def _silence_ray() -> Iterator[None]:
    """Ray prints on standard output that a node died. That is where the report goes."""
    if debugging():
        with redirect_stdout(sys.stderr):
            yield
        return
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        yield


def _explain(error: Exception) -> Exception:
    """What failed on a node, and is not a matter of the log."""
    cause = getattr(error, "cause", None) or error
    if isinstance(cause, (ImportError, OtherVersionError)):
        wanted = f"pdtriage=={pdtriage.__version__}"
        return NotAvailableError(
            Text(
                f"--engine ray: the nodes of the cluster need the same pdtriage as here: "
                f"pip install {wanted} there ({cause})",
                f"--engine ray：集群各节点须安装与本机相同的 pdtriage："
                f"在节点上执行 pip install {wanted}（{cause}）",
            )
        )
    return error
