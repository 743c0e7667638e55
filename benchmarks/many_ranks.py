"""Jobs of any number of ranks that went wrong in a known way, as facts or as files.

    python benchmarks/many_ranks.py FOLDER --ranks 8192 [--story silent] [--accuse endpoint]

The ranks live on up to forty hosts whose clocks differ by up to ten minutes. Who is to blame:

    one      a culprit with an error of its own; the others fall in a tree, each naming its parent
    silent   the same, but the culprit's log just stops
    two      two culprits with different errors, each with a tree of its own
    alike    the same error on every rank

Victims name their parent by its rank, its endpoint or its host alone. Benchmarks and tests share
this: the texts are those of real logs, and the facts are what the scanner makes of them, found
once for each kind of ending and then told again in the words of every rank.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from pdtriage.model import EnvBlock, Event, FileFacts, LogFile
from pdtriage.scan import Engine, scan

Story = Literal["one", "silent", "two", "alike"]
Accuse = Literal["rank", "endpoint", "host"]
Known = Literal["endpoints", "environment"]
STORIES: tuple[Story, ...] = get_args(Story)
ACCUSE: tuple[Accuse, ...] = get_args(Accuse)

HOSTS = 40
STARTED = 1_700_000_000
ENDED = STARTED + 900
STEPS = 8
LAUNCHER_PID = 4_000
FIRST_PID = 10_000
FIRST_PORT = 6_170
STOPPED_EVERY = 5
"""One leaf of the tree in so many is stopped by its launcher before it notices anything."""

OPENING = "I{glog}.114021  {pid} tcp_utils.cc:130] Successfully connected to {first}\n"
STEP = (
    "[{date},{milli:03d}] [    INFO] - loss: 2.{milli:03d}, learning_rate: 0.0003, "
    "global_step: {step}, current_memory_allocated: 6.1\n"
)
ENDINGS: Mapping[str, str] = {
    "io": """Traceback (most recent call last):
  File "/srv/train/train.py", line 88, in <module>
    main()
  File "/srv/train/reader.py", line 23, in __getitem__
    raw = open(path, "rb").read()
OSError: [Errno 5] Input/output error: '/data/part-00317.rec'
""",
    "key": """Traceback (most recent call last):
  File "/srv/train/train.py", line 91, in <module>
    main()
  File "/srv/train/model.py", line 140, in forward
    scale = self.scales[name]
KeyError: 'encoder.layers.11'
""",
    "import": """Traceback (most recent call last):
  File "/srv/train/train.py", line 3, in <module>
    import paddlenlp
ModuleNotFoundError: No module named 'paddlenlp'
""",
    "silent": "",
    "rank": """terminate called after throwing an instance of 'gloo::TimeoutException'
  what():  [/paddle/third_party/gloo/gloo/transport/tcp/pair.cc:584] TIMEOUT self_rank = {rank} \
pair_rank = {parent} peer_str = [{parent_host}]:38602
""",
    "endpoint": "{host}:{pid}:{pid} [0] include/socket.h:423 NCCL WARN Net : Call to recv from "
    "{parent_endpoint} failed : Connection reset by peer\n",
    "host": "{host}:{pid}:{pid} [0] include/socket.h:423 NCCL WARN Net : Call to recv from "
    "{parent_host}<41234> failed : Connection reset by peer\n",
    "stopped": """
--------------------------------------
C++ Traceback (most recent call last):
--------------------------------------
No stack trace in paddle, may be caused by external reasons.

----------------------
Error Message Summary:
----------------------
FatalError: `Termination signal` is detected by the operating system.
  [TimeInfo: *** Aborted at {unix} (unix time) try "date -d @{unix}" if you are using GNU date ***]
  [SignalInfo: *** SIGTERM (@0x2b0) received by PID {pid} (TID 0x7f077dab7740) from PID {launcher} \
***]
""",
}


@dataclass(frozen=True)
class ManyRanks:
    """One failed job; equal arguments give equal bytes and equal facts."""

    ranks: int
    story: Story = "one"
    accuse: Accuse = "rank"
    known: Known = "endpoints"
    """What tells who is who: the launcher's list of endpoints, or the environment of each rank."""
    most_hosts: int = HOSTS

    @cached_property
    def hosts(self) -> int:
        """As many as share the ranks evenly, as nodes of a job do."""
        most = max(1, min(self.most_hosts, self.ranks // 2))
        return next(hosts for hosts in range(most, 0, -1) if self.ranks % hosts == 0)

    @cached_property
    def culprits(self) -> tuple[int, ...]:
        """The ranks to blame, in order."""
        if self.story == "alike":
            return tuple(range(self.ranks))
        first = self.ranks * 2 // 3
        return (first, first ^ 1) if self.story == "two" else (first,)

    @cached_property
    def endpoints(self) -> tuple[str, ...]:
        return tuple(self._endpoint(rank) for rank in range(self.ranks))

    def text(self, rank: int) -> str:
        """The whole log of a rank."""
        return _text(self._ending(rank), self._words(rank))

    def facts(self, engine: Engine) -> list[FileFacts]:
        """What reading the files of the whole job gives."""
        templates = {kind: _Template(kind, engine) for kind in ENDINGS}
        found = [
            templates[self._ending(rank)].told(self._file(rank), self._words(rank))
            for rank in range(self.ranks)
        ]
        if self.known == "environment":
            return [*found, *self._environments()]
        return [*found, *(self._listed(host) for host in range(self.hosts))]

    def write(self, folder: Path) -> Path:
        """The job as files: one folder a node, with the launcher's list of endpoints."""
        for host in range(self.hosts):
            node = folder / _node(host)
            node.mkdir(parents=True)
            (node / "endpoints.log").write_text(
                "PADDLE_TRAINER_ENDPOINTS: \n" + "\n".join(self.endpoints)
            )
        for rank in range(self.ranks):
            file = self._file(rank)
            (folder / file.path).write_text(self.text(rank))
            os.utime(folder / file.path, (ENDED, ENDED))  # stamps of glog have no year
        return folder

    @cached_property
    def _per_host(self) -> int:
        return self.ranks // self.hosts

    def _host(self, rank: int) -> int:
        return rank // self._per_host

    def _endpoint(self, rank: int) -> str:
        return f"{_address(self._host(rank))}:{FIRST_PORT + rank % self._per_host}"

    def _file(self, rank: int) -> LogFile:
        local, node = rank % self._per_host, _node(self._host(rank))
        return LogFile(f"{node}/workerlog.{local}", "worker", node, local, modified=ENDED)

    def _ending(self, rank: int) -> str:
        if self.story == "alike":
            return "import"
        if rank in self.culprits:
            named = ("io", "key")[self.culprits.index(rank)]
            return "silent" if self.story == "silent" else named
        place, size = self._place(rank)
        # a host alone is told apart only where everybody else on it complains
        stopped = 2 * place + 1 >= size and place % STOPPED_EVERY == 0 and self.accuse != "host"
        return "stopped" if stopped else self.accuse

    def _place(self, rank: int) -> tuple[int, int]:
        """Where a rank stands in its tree, the culprit at 0, and how many stand there."""
        step = len(self.culprits)
        size = len(range(rank % step, self.ranks, step))
        return (rank // step - self._root(rank) // step) % size, size

    def _root(self, rank: int) -> int:
        step = len(self.culprits)
        return next(root for root in self.culprits if root % step == rank % step)

    def _parent(self, rank: int) -> int:
        place, size = self._place(rank)
        step = len(self.culprits)
        above = (self._root(rank) // step + max(0, place - 1) // 2) % size
        return above * step + rank % step

    def _words(self, rank: int) -> dict[str, str]:
        """What is this rank's own in the text of its log."""
        host = self._host(rank)
        words = {
            "rank": str(rank),
            "host": _address(host),
            "pid": str(FIRST_PID + rank % self._per_host),
            "launcher": str(LAUNCHER_PID + host),
            "first": self._endpoint(0),
            "skew": str((host * 17 % 41 - 20) * 30),
        }
        if self.story != "alike":
            parent = self._parent(rank)
            words["parent"] = str(parent)
            words["parent_host"] = _address(self._host(parent))
            words["parent_endpoint"] = self._endpoint(parent)
        return words

    def _environments(self) -> Iterator[FileFacts]:
        listed = ",".join(self.endpoints)
        for rank in range(self.ranks):
            local, node = rank % self._per_host, _node(self._host(rank))
            values = {
                "PADDLE_CURRENT_ENDPOINT": self._endpoint(rank),
                "PADDLE_GLOBAL_RANK": str(rank),
                "PADDLE_GLOBAL_SIZE": str(self.ranks),
                "PADDLE_LOCAL_RANK": str(local),
                "PADDLE_LOCAL_SIZE": str(self._per_host),
                "PADDLE_TRAINERS_NUM": str(self.ranks),
                "PADDLE_TRAINER_ENDPOINTS": listed,
                "PADDLE_TRAINER_ID": str(rank),
                "POD_NAME": f"pod{self._host(rank)}",
            }
            file = LogFile(f"{node}/envlog.{local}", "env", node, local)
            yield FileFacts(file, environments=(EnvBlock(1, values),))

    def _listed(self, host: int) -> FileFacts:
        node = _node(host)
        file = LogFile(f"{node}/endpoints.log", "endpoints", node)
        return FileFacts(file, endpoints=self.endpoints)


_MARKS = {
    "parent_endpoint": "203.0.113.32:900",
    "first": "203.0.113.33:901",
    "parent_host": "203.0.113.32",
    "host": "203.0.113.31",
    "rank": "900000001",
    "parent": "900000002",
    "pid": "900003",
    "launcher": "900004",
}
"""Stand where every rank has words of its own; the longer of two that begin alike comes first."""
_NAMES = {mark: name for name, mark in _MARKS.items()}
_MARK = re.compile("|".join(map(re.escape, _NAMES)))


class _Template:
    """The facts of one kind of log, found once."""

    def __init__(self, ending: str, engine: Engine) -> None:
        file = LogFile("workerlog.0", "worker", "", 0, modified=ENDED)
        text = _text(ending, {**_MARKS, "skew": "0"})
        self._facts = scan(file, [text.encode()], engine)
        self._shifted: dict[int, FileFacts] = {}
        told = [text for e in self._facts.events for text in (e.text, *e.fields.values())]
        self._same = {text for text in (*told, *self._facts.tail) if not _MARK.search(text)}

    def told(self, file: LogFile, words: Mapping[str, str]) -> FileFacts:
        facts = self._at(int(words["skew"]))

        def put(text: str) -> str:
            if text in self._same:
                return text
            return _MARK.sub(lambda found: words[_NAMES[found[0]]], text)

        def event(told: Event) -> Event:
            if told.pid is None and self._same.issuperset((told.text, *told.fields.values())):
                return told
            return told._replace(
                text=put(told.text),
                fields={name: put(value) for name, value in told.fields.items()},
                pid=told.pid and int(put(str(told.pid))),
            )

        return facts._replace(
            file=file,
            events=tuple(map(event, facts.events)),
            stamps=tuple(s._replace(pid=int(put(str(s.pid)))) for s in facts.stamps),
            tail=tuple(map(put, facts.tail)),
        )

    def _at(self, skew: int) -> FileFacts:
        """By a clock that differs; all ranks of a host share it."""
        if skew not in self._shifted:
            facts = self._facts
            self._shifted[skew] = facts._replace(
                events=tuple(e._replace(time=e.time and e.time + skew) for e in facts.events),
                progress=tuple(p._replace(time=p.time and p.time + skew) for p in facts.progress),
                stamps=tuple(s._replace(time=s.time + skew) for s in facts.stamps),
            )
        return self._shifted[skew]


def _text(ending: str, words: Mapping[str, str]) -> str:
    now = STARTED + int(words["skew"])
    lines = [OPENING.format(glog=_glog(now), **words)]
    for step in range(0 if ending == "import" else STEPS):
        date = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now + 2 * step))
        lines.append(STEP.format(date=date, milli=(step * 271) % 1000, step=step))
    last = ENDINGS[ending]
    if last:
        lines.append(last.format(unix=now + 2 * STEPS, **words) if "{" in last else last)
    return "".join(lines)


def _glog(now: int) -> str:
    return time.strftime("%m%d %H:%M:%S", time.gmtime(now))


def _node(host: int) -> str:
    return f"node-{host}"


def _address(host: int) -> str:
    return f"10.7.{host // 250}.{host % 250 + 1}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=512)
    parser.add_argument("--story", choices=STORIES, default="one")
    parser.add_argument("--accuse", choices=ACCUSE, default="rank")
    asked = parser.parse_args()
    ManyRanks(asked.ranks, asked.story, asked.accuse).write(asked.folder)


if __name__ == "__main__":
    main()
