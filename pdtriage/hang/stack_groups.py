"""Where processes stand, by their stacks: equal places folded, and who is the odd one out. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pdtriage.model.logs import Frame
from pdtriage.model.stacks import ProcessStack, Standstill
from pdtriage.support.fast_namedtuple import NamedTuple

_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3", "/lib64/python3", "<frozen")
_COMMUNICATION = "/paddle/distributed/"
_LOADING = "/paddle/io/dataloader/"
_COLLECTIVES = frozenset(
    (
        *("all_reduce", "all_gather", "all_gather_object", "all_to_all", "alltoall"),
        *("alltoall_single", "barrier", "broadcast", "broadcast_object_list", "gather"),
        *("reduce", "reduce_scatter", "scatter", "scatter_object_list", "send", "recv"),
        *("isend", "irecv", "batch_isend_irecv", "wait", "monitored_barrier"),
        *("init_parallel_env", "sync_params_buffers", "fused_allreduce_gradients"),
        *("p2p_send_recv", "recv_forward", "recv_backward", "send_forward", "send_backward"),
    )
)
"""Functions of Paddle in which one rank waits for others."""
_MAY_WAIT = frozenset({"backward", "synchronize", "item", "numpy", "step", "_wait", "apply"})
"""Functions of a library in which a collective may hide; so may work."""
_NATIVE_WAITS = ("gloo::", "nccl", "bkcl", "Hccl", "ProcessGroup", "TCPStore")
STOPPED = frozenset("Tt")


class CallSite(NamedTuple):
    """Where a process stands, in the words of whoever wrote the script."""

    frame: Frame | None
    """The innermost frame of their own code; of any code where none is theirs."""
    doing: str
    """What that calls: a collective, a function of a library; else the function itself."""
    collective: bool
    """It waits there for other ranks."""


class StackGroup(NamedTuple):
    """Processes in one place."""

    where: CallSite
    members: tuple[ProcessStack, ...]

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(sorted(m.rank for m in self.members if m.rank is not None))


class StackFold(NamedTuple):
    """All places, those of most processes first, and who keeps the others waiting."""

    groups: tuple[StackGroup, ...]
    odd: tuple[ProcessStack, ...] = ()
    """Whom the others wait for; nobody where the stacks do not tell."""
    missing: tuple[int, ...] = ()
    """Ranks that are gone while others wait for everybody."""


def fold_of(taken: Standstill) -> StackFold:
    """The stacks of ranks, without their helpers, and what they say together."""
    ranks = [stack for stack in taken.stacks if not stack.helper]
    groups = _grouped(ranks)
    waiting = [group for group in groups if group.where.collective]
    if taken.gone and waiting and len(waiting) == len(groups):
        return StackFold(groups, missing=taken.gone)
    return StackFold(groups, _odd_ones(ranks, groups))


def call_site_of(stack: ProcessStack) -> CallSite:
    """Where its main thread stands."""
    frames = stack.frames
    if not frames:
        return CallSite(None, stack.waits_in, False)
    own = next((at for at, frame in enumerate(frames) if not is_library(frame.file)), None)
    collective = _collective_of(frames[: len(frames) if own is None else own])
    hidden = any(mark in name for name in stack.native for mark in _NATIVE_WAITS)
    if own is None:
        doing = collective or _short(frames[0])
        return CallSite(frames[0], doing, bool(collective) or hidden)
    called = _short(frames[own - 1]) if own else _short(frames[0])
    return CallSite(frames[own], collective or called, bool(collective) or hidden)


def helpers_in_the_way(stack: ProcessStack, stacks: Iterable[ProcessStack]) -> list[ProcessStack]:
    """Loader workers a rank waits for: those that are not idle themselves."""
    if not waits_for_data(stack):
        return []
    who = (stack.role, stack.rank)
    own = [one for one in stacks if one.helper and (one.role, one.rank) == who and one.frames]
    return [one for one in own if not is_library(_own_frame(one).file)]


def telling_stacks(taken: Standstill, fold: StackFold) -> list[ProcessStack]:
    """Those of the odd ones out, of all ranks where nobody is one; each with the loader workers
    that keep it waiting, one of each place."""
    shown: list[ProcessStack] = []
    for stack in fold.odd or [one for one in taken.stacks if not one.helper]:
        helpers = helpers_in_the_way(stack, taken.stacks)
        shown += [stack, *{call_site_of(one): one for one in reversed(helpers)}.values()]
    return shown


def culprit_stacks(taken: Standstill | None, role: str, ranks: Sequence[int]) -> list[ProcessStack]:
    """Those of ranks that kept the others waiting, and of the loader workers these waited for."""
    if taken is None:
        return []
    fold = fold_of(taken)
    told = telling_stacks(taken, fold) if fold.odd else []
    return [stack for stack in told if stack.role == role and stack.rank in ranks]


def is_library(file: str) -> bool:
    """Whether a frame's file is of a library, not written by whoever wrote the script."""
    return file.startswith("<") or any(part in file for part in _LIBRARIES)


def _grouped(stacks: Sequence[ProcessStack]) -> tuple[StackGroup, ...]:
    places: dict[CallSite, list[ProcessStack]] = {}
    for stack in stacks:
        places.setdefault(call_site_of(stack), []).append(stack)
    groups = [StackGroup(place, tuple(members)) for place, members in places.items()]
    return tuple(sorted(groups, key=lambda group: (-len(group.members), group.ranks)))


def _odd_ones(
    ranks: Sequence[ProcessStack], groups: Sequence[StackGroup]
) -> tuple[ProcessStack, ...]:
    """The processes that differ: stopped by a signal, elsewhere than those that wait, behind, or
    alone."""
    if len(ranks) < 2:
        return ()
    stopped = [stack for stack in ranks if stack.state in STOPPED]
    if stopped and len(stopped) < len(ranks):
        return tuple(stopped)
    if len(groups) < 2:
        return _behind(ranks)
    patience = {id(group): _waits_for_others(group.where) for group in groups}
    least, most = min(patience.values()), max(patience.values())
    if most > least:
        busy = [group for group in groups if patience[id(group)] == least]
        odd = [member for group in busy for member in group.members]
        return tuple(odd) if len(busy) == 1 or len(odd) * 2 <= len(ranks) else _behind(odd)
    if behind := _behind(ranks):
        return behind
    # Who polls stands now at one line of a loop, now at another: the function counts as well.
    return _alone([group.members for group in groups]) or _alone(_by_function(groups))


def _by_function(groups: Sequence[StackGroup]) -> list[tuple[ProcessStack, ...]]:
    functions: dict[object, tuple[ProcessStack, ...]] = {}
    for group in groups:
        frame = group.where.frame
        key = group.where if frame is None else (frame.file, frame.function)
        functions[key] = (*functions.get(key, ()), *group.members)
    return list(functions.values())


def _alone(places: Sequence[tuple[ProcessStack, ...]]) -> tuple[ProcessStack, ...]:
    """Those of the one place with fewest processes, where these are few."""
    fewest = min(map(len, places))
    smallest = [members for members in places if len(members) == fewest]
    few = len(smallest) == 1 and fewest * 2 < sum(map(len, places))
    return smallest[0] if few else ()


def _waits_for_others(place: CallSite) -> int:
    if place.collective:
        return 2
    return int(place.doing in _MAY_WAIT)


def _behind(ranks: Sequence[ProcessStack]) -> tuple[ProcessStack, ...]:
    """The one rank with a lower step than all others."""
    steps = [stack.step for stack in ranks if stack.step is not None]
    if len(steps) < len(ranks) or len(steps) < 2:
        return ()
    lowest = [stack for stack in ranks if stack.step == min(steps)]
    return tuple(lowest) if len(lowest) == 1 else ()


def _collective_of(frames: Sequence[Frame]) -> str:
    """The outermost function that waits for others, below the frame of the script."""
    for frame in reversed(frames):
        if _COMMUNICATION in frame.file and _short(frame) in _COLLECTIVES:
            return _short(frame)
    return ""


def waits_for_data(stack: ProcessStack) -> bool:
    return any(_LOADING in frame.file for frame in stack.frames)


def _own_frame(stack: ProcessStack) -> Frame:
    frame = call_site_of(stack).frame
    return stack.frames[0] if frame is None else frame


def _short(frame: Frame) -> str:
    return frame.function.rpartition(".")[2]
