"""What happens to this node's membership of an elastic job, and the words for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

if TYPE_CHECKING:
    # Every launch imports this module, few are elastic.
    from pdtriage.launch.elastic.generation import Generation

_MOST_SHOWN = 4


class WorldChanges(NamedTuple):
    """The generation this node runs is over: all of its nodes stop, and meet again."""

    number: int
    text: Text


class EtcdSilent(NamedTuple):
    """Etcd does not answer; what was agreed on still holds."""

    place: str
    error: str

    @property
    def text(self) -> Text:
        return Text(
            f"etcd at {self.place} does not answer ({self.error}); training goes on",
            f"etcd {self.place} 没有响应（{self.error}）；训练继续进行",
        )


class EtcdBack(NamedTuple):
    """Etcd answers again, and this node is registered again."""

    place: str
    seconds: float

    @property
    def text(self) -> Text:
        return Text(
            f"etcd at {self.place} answers again after {self.seconds:.1f} s",
            f"etcd {self.place} 在 {self.seconds:.1f} 秒后恢复响应",
        )


class Expelled(NamedTuple):
    """What keeps this node in the job has failed: a mistake of ours, and no trainer's fault."""

    error: BaseException

    @property
    def text(self) -> Text:
        what = " ".join(f"{type(self.error).__name__}: {self.error}".split())[:200]
        return Text(
            f"pdtriage cannot keep this node in the job any more ({what})",
            f"pdtriage 无法再让本节点留在任务中（{what}）",
        )


MembershipEvent = WorldChanges | EtcdSilent | EtcdBack | Expelled


def why_it_changes(generation: Generation, number: int) -> Text:
    """Why generation `number` cannot go on, given what etcd shows now."""
    if generation.number > number:
        return Text(
            "the other nodes have re-formed the job without this one",
            "其他节点已在没有本节点的情况下重新组成任务",
        )
    who, more = _listed(generation.who), len(generation.who) > 1
    texts = {
        "joined": Text(f"node{'s' * more} {who} joined", f"节点 {who} 加入"),
        "left": Text(f"node{'s' * more} {who} left", f"节点 {who} 离开"),
        "lost": Text(
            f"node{'s' * more} {who} {'are' if more else 'is'} gone", f"节点 {who} 已失联"
        ),
        "late": Text(f"node{'s' * more} {who} did not start in time", f"节点 {who} 没有及时启动"),
        "foreign": Text(
            "nodes under Paddle's launcher restart", "由 Paddle 启动器管理的节点正在重启"
        ),
        "failed": Text("the attempt failed", "本次尝试失败"),
        "completed": Text("the job has completed", "任务已完成"),
    }
    return texts.get(generation.why, Text("the job re-forms", "任务重新组成"))


def _listed(addresses: Sequence[str]) -> str:
    # Written by other nodes: nothing but an address may come through.
    clean = ["".join(c for c in a if c.isalnum() or c in ".:-_")[:64] for a in addresses]
    more = f", … ({len(clean)})" if len(clean) > _MOST_SHOWN else ""
    return ", ".join(clean[:_MOST_SHOWN]) + more
