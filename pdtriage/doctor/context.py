"""The machine and the job that is about to start on it, as the checks see them.

Everything that is expensive to find out is found out once, and only when a check asks.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pdtriage.launch.options.elastic import as_elastic
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.options.unsupported import PS_MODES, is_given, run_mode_of
from pdtriage.launch.plan.addresses import address_towards, is_loopback, own_address
from pdtriage.launch.plan.cluster import how_to_meet, is_cloud, node_count, own_rank
from pdtriage.launch.plan.devices import (
    Assignment,
    Devices,
    Probe,
    SystemProbe,
    assign,
    find_devices,
)
from pdtriage.launch.plan.interpreter import PaddleWheel, choose_python, wheel_in
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple

if TYPE_CHECKING:
    from pdtriage.doctor.exchange import Answers
    from pdtriage.launch.plan.nvml import Nvml
    from pdtriage.launch.plan.ps_roles import Roles

_ASK_PYTHON = "import json, sys; print(json.dumps([sys.version.split()[0], sys.path]))"
_PYTHON_SECONDS = 20


class Interpreter(NamedTuple):
    """The Python that will run the script."""

    path: str
    version: str
    folders: tuple[str, ...]
    """Its `sys.path`."""


class Wishes(NamedTuple):
    """What was asked of the doctor beyond the flags of the job."""

    run_check: bool = False
    wait: float = 5.0
    """Seconds to wait for the other nodes' doctors."""


class Context:
    """`root` is where /proc, /sys and /dev begin; tests put small trees of their own there."""

    def __init__(
        self,
        flags: LaunchFlags,
        environ: Mapping[str, str],
        *,
        probe: Probe | None = None,
        processes: int | None = None,
        peers: Sequence[str] = (),
        root: str = "/",
        wishes: Wishes | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.environ = environ
        self.probe: Probe = SystemProbe(root) if probe is None else probe
        self.root = root
        self.wishes = wishes or Wishes()
        self.clock = clock
        self._processes = processes
        self.peers = peers
        """An endpoint of every other node, where the nodes have met."""
        self._answers: Answers | None = None
        self._met = False
        self.flags = flags
        try:
            self.meeting, self.flags = how_to_meet(flags, environ)
        except UserError:
            # A wrong --nnodes is told by the check of the nodes.
            self.meeting = "alone"

    def path(self, absolute: str) -> str:
        return os.path.join(self.root, absolute.lstrip("/"))

    def read(self, absolute: str) -> str | None:
        """A small file of the kernel; None where it is missing or may not be read."""
        try:
            with open(self.path(absolute), encoding="utf-8", errors="replace") as stream:
                return stream.read(1 << 20)
        except OSError:
            return None

    def names(self, absolute: str) -> list[str]:
        try:
            return sorted(os.listdir(self.path(absolute)))
        except OSError:
            return []

    @cached_property
    def mode(self) -> str:
        return run_mode_of(self.flags)

    @cached_property
    def interpreter(self) -> Interpreter | UserError:
        try:
            path = choose_python(self.flags.python, self.environ)
            return _interpreter_at(path)
        except UserError as refusal:
            return refusal

    @cached_property
    def wheel(self) -> PaddleWheel | None:
        python = self.interpreter
        return None if isinstance(python, UserError) else wheel_in(python.folders)

    @cached_property
    def devices(self) -> Devices | UserError:
        try:
            if self.mode in PS_MODES:
                from pdtriage.launch.plan.parameter_server import ps_devices

                return ps_devices(self.flags, self.environ, self.wheel, self.probe)
            return find_devices(self.flags, self.environ, self.wheel, self.probe)
        except UserError as refusal:
            return refusal

    @cached_property
    def assignments(self) -> tuple[Assignment, ...] | UserError:
        if isinstance(self.devices, UserError):
            return self.devices
        try:
            return assign(self.flags, self.devices)
        except UserError as refusal:
            return refusal

    @cached_property
    def roles(self) -> Roles | UserError | None:
        """Servers and trainers, where the flags name or number all of them; None elsewhere."""
        if self.mode not in PS_MODES or is_given(self.mode, self.environ):
            return None
        from pdtriage.launch.plan.ps_roles import needs_meeting, roles_of_job

        try:
            if needs_meeting(self.flags, self.mode):
                return None
            return roles_of_job(self.flags, self.mode, self.environ)
        except UserError as refusal:
            return refusal

    @property
    def lists(self) -> Roles | None:
        """`roles` where they are lists that every node has to know."""
        named = self.flags.servers or self.flags.trainers or self.flags.heter_workers
        return None if isinstance(self.roles, UserError) or not named else self.roles

    @cached_property
    def processes(self) -> int:
        """Processes this node will start, at least one."""
        if self._processes is not None:
            return self._processes
        if self.mode in PS_MODES:
            roles = self.roles
            if roles is not None and not isinstance(roles, UserError):
                rank = self.node_rank if self.lists else 0
                here = roles._replace(node_rank=rank if isinstance(rank, int) else 0)
                return len(here.own_endpoints) or 1
            counts = (self.flags.server_num, self.flags.trainer_num)
            return sum(count for count in counts if count) or 1
        if self.flags.nproc_per_node:
            return max(1, self.flags.nproc_per_node)
        if isinstance(self.assignments, UserError):
            return 1
        return len(self.assignments)

    @cached_property
    def node_addresses(self) -> tuple[str, ...]:
        """The nodes by address, where flags or platform name them."""
        if self.lists is not None:
            return self.lists.nodes
        if is_cloud(self.environ):
            listed = self.environ["PADDLE_TRAINERS"]
        else:
            listed = self.flags.ips or "" if self.meeting == "ips" else ""
        return tuple(part.strip() for part in listed.split(",") if part.strip())

    @cached_property
    def node_rank(self) -> int | UserError | None:
        """Which of `node_addresses` we are; None where they do not say."""
        if self.lists is not None:
            from pdtriage.launch.plan.ps_roles import rank_among

            try:
                return rank_among(self.flags, self.lists.nodes)
            except UserError as refusal:
                return refusal
        if is_cloud(self.environ):
            text = self.environ["PADDLE_TRAINER_ID"]
            return int(text) if text.isdecimal() else None
        if not self.node_addresses:
            return self.flags.rank if self.flags.rank >= 0 else None
        try:
            return own_rank(self.flags, self.node_addresses)
        except UserError as refusal:
            return refusal

    @cached_property
    def node_total(self) -> int:
        """How many nodes take part, at most."""
        if self.node_addresses:
            return len(self.node_addresses)
        try:
            return node_count(as_elastic(self.flags))[1]
        except UserError:
            return 1

    @cached_property
    def address(self) -> str:
        if isinstance(self.node_rank, int) and self.node_rank < len(self.node_addresses):
            return self.node_addresses[self.node_rank]
        own = own_address(self.flags.host)
        if self.flags.host or not is_loopback(own):
            return own
        # Many hosts resolve their own name to a loopback address, which says nothing to others.
        place = (self.flags.master or "").removeprefix("etcd://").removeprefix("http://")
        return address_towards(place.rpartition(":")[0] or None) or own

    @cached_property
    def nvml(self) -> Nvml | None:
        """The NVIDIA driver's own library; None where there is none."""
        from pdtriage.launch.plan.nvml import open_nvml

        return open_nvml()

    @property
    def answers(self) -> Answers | None:
        """What the doctors of the other nodes say; None where there is nowhere to meet."""
        # Not cached_property: before Python 3.12 it lets only one thread of a process in, and
        # doctors of several nodes may live in one.
        if not self._met:
            from pdtriage.doctor.exchange import exchange

            self._answers = exchange(self)
            self._met = True
        return self._answers


def _interpreter_at(path: str) -> Interpreter:
    if os.path.samefile(path, sys.executable):
        return Interpreter(path, sys.version.split()[0], tuple(sys.path))
    import json
    import subprocess

    try:
        answer = subprocess.run(
            [path, "-c", _ASK_PYTHON],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PYTHON_SECONDS,
            check=True,
        )
        version, folders = json.loads(answer.stdout.splitlines()[-1])
    except (OSError, ValueError, IndexError, subprocess.SubprocessError) as error:
        from pdtriage.support.language import Text

        raise UserError(
            Text(f"{path} does not run: {error}.", f"{path} 无法运行：{error}。"),
            Text("Check --python.", "请检查 --python。"),
        ) from None
    return Interpreter(path, str(version), tuple(map(str, folders)))
