"""Whether a failed attempt is followed by another one, and why: decided by what failed.

`decide` is pure: it knows the policy and what came of the attempts so far, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, cast

from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.options.unsupported import is_given, run_mode_of
from pdtriage.launch.plan.cluster import how_to_meet
from pdtriage.launch.plan.process_plan import Plan
from pdtriage.launch.supervise.outcome import Conclusion, Failure, Reached
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

RestartPolicy = Literal["auto", "always", "never"]
_UNKNOWN = Failure(Text("the cause is unknown", "原因不明"))
_MET_BEFORE = Text(
    "the same failure came back after a restart: another one would not help",
    "重启后又出现同样的失败：再重启也无济于事",
)
ASKS_FOR_RESTART = (101, 102)
"""Exit codes by which a trainer of a legacy elastic job asks to be started again."""


class Decision(NamedTuple):
    """What follows a failed attempt."""

    again: bool
    why: Text


TOLD_TO_STOP = Decision(False, Text("told to stop", "收到停止信号"))


def decide(
    policy: RestartPolicy,
    attempts: Sequence[Conclusion],
    max_restart: int,
    *,
    elastic: bool = False,
    interrupted: bool = False,
) -> Decision:
    """What follows the last of `attempts`, which did not succeed.

    `attempts` are those that failed, oldest first; a restart for another reason (a node came or
    left) does not count. `interrupted`: somebody told us to stop meanwhile.
    """
    last = attempts[-1]
    if interrupted or (last.verdict == "interrupted" and last.failure is None):
        return TOLD_TO_STOP
    if policy == "never":
        return Decision(False, Text("--restart-on never", "--restart-on never"))
    if len(attempts) > max_restart:
        return Decision(False, _limit(max_restart))
    if elastic and last.code in ASKS_FOR_RESTART:
        return Decision(True, _exit_code_asks(last.code))
    if policy == "always":
        return Decision(True, Text("--restart-on always", "--restart-on always"))
    return _judge(attempts)


class Restarts:
    """Remembers how the attempts of one launch ended and decides what follows."""

    def __init__(
        self, policy: RestartPolicy | None, max_restart: int, *, elastic: bool = False
    ) -> None:
        """`policy` None: nobody asked for restarts, so there is nothing to decide nor to tell."""
        self.policy = policy
        self.max_restart = max_restart
        self.elastic = elastic
        self.failed: list[Conclusion] = []
        self.stopped_by: int | None = None
        """The signal that came while there was something to wait for."""

    def after(
        self,
        conclusion: Conclusion,
        *,
        interrupted: bool,
        reason: str = "",  # noqa: ARG002 (elastic jobs need it)
    ) -> Decision | None:
        """What follows an attempt that ended so; None where nothing has to be decided.

        `reason`: of the ending on this node, see `supervise.Ending`.
        """
        if self.policy is None or conclusion.verdict == "succeeded":
            return None
        self.failed.append(conclusion)
        return decide(
            self.policy,
            self.failed,
            self.max_restart,
            elastic=self.elastic,
            interrupted=interrupted,
        )


def restarts_for(flags: LaunchFlags, environ: Mapping[str, str]) -> Restarts:
    """The policy of restarts by the flags: `auto` for elastic jobs, else none unless asked for."""
    elastic = is_elastic(flags)
    if flags.restart_on in (None, "never") or elastic:
        asked = flags.restart_on or ("auto" if elastic else None)
        return Restarts(cast("RestartPolicy | None", asked), flags.max_restart, elastic=elastic)
    several = how_to_meet(flags, environ)[0] in ("cloud", "master")
    several = several or "," in (flags.ips or "") or is_given(run_mode_of(flags), environ)
    if several:
        raise _needs_etcd(flags.restart_on)
    return Restarts(cast(RestartPolicy, flags.restart_on), flags.max_restart)


def refuse_several_nodes(restarts: Restarts, plan: Plan) -> None:
    """Refuses restarts on several nodes where only the plan tells how many: `--servers`,
    `--workers`."""
    if restarts.policy in (None, "never") or restarts.elastic:
        return
    if len(plan.cluster.nodes) > 1:
        raise _needs_etcd(restarts.policy)


def refuse_under_paddle(flags: LaunchFlags) -> None:
    if flags.etcd_user or flags.etcd_ca:
        raise UserError(
            Text(
                "Paddle's launcher cannot log in to an etcd, nor speak TLS with it.",
                "Paddle 的启动器不能登录 etcd，也不能与它使用 TLS。",
            ),
            Text("Leave out --launcher paddle.", "请去掉 --launcher paddle。"),
        )
    if flags.restart_on is None:
        return
    raise UserError(
        Text(
            "--restart-on does not work with --launcher paddle: Paddle's launcher restarts by "
            "its own rule.",
            "--restart-on 不能与 --launcher paddle 一起用：Paddle 的启动器按自己的规则重启。",
        ),
        Text(
            "Leave out one of the two; --max_restart and --elastic_level are passed on to Paddle.",
            "请去掉其中一个；--max_restart 和 --elastic_level 会原样传给 Paddle。",
        ),
    )


def not_started_again(refusal: UserError) -> Decision:
    """The note that another attempt was to follow, and could not."""
    why = refusal.message
    return Decision(False, Text(why.en.rstrip("."), why.zh.rstrip("。")))


def is_elastic(flags: LaunchFlags) -> bool:
    """The nodes meet at etcd, so that they may come and go."""
    return (flags.master or "").startswith("etcd://") or bool(flags.elastic_server)


def _judge(attempts: Sequence[Conclusion]) -> Decision:
    """`auto`: by what failed, and by whether it has failed so before."""
    failures = [attempt.failure or _UNKNOWN for attempt in attempts]
    last, earlier = failures[-1], failures[:-1]
    if last.retry == "no":
        return Decision(False, _comes_back(last.why))
    if earlier and earlier[-1].fingerprint == last.fingerprint:
        gained = _compare(earlier[-1].reached, last.reached)
        if gained > 0:
            return Decision(True, _further(earlier[-1].reached))
        if gained == 0:
            return Decision(False, _same(last.reached))
    if last.retry == "yes":
        return Decision(True, _may_not(last.why))
    if any(failure.fingerprint == last.fingerprint for failure in earlier):
        return Decision(False, _MET_BEFORE)
    return Decision(True, _once(last.why))


def _compare(before: Reached | None, after: Reached | None) -> int:
    """More than 0 when the later attempt came further, 0 when it stopped at the same place."""
    first, second = (
        (-1, -1) if reached is None else (reached.epoch or 0, reached.step)
        for reached in (before, after)
    )
    return (second > first) - (second < first)


def _comes_back(why: Text | None) -> Text:
    return _with_reason(Text("it would fail the same way again", "再试也会同样失败"), why)


def _may_not(why: Text | None) -> Text:
    return why or Text("it need not happen again", "未必会再次发生")


def _once(why: Text | None) -> Text:
    return _with_reason(Text("worth one more try", "值得再试一次"), why)


def _with_reason(head: Text, why: Text | None) -> Text:
    return head if why is None else Text(f"{head.en}: {why.en}", f"{head.zh}：{why.zh}")


def _same(reached: Reached | None) -> Text:
    en = "" if reached is None else f" at {_position(reached).en}"
    zh = "" if reached is None else f"在{_position(reached).zh}"
    return Text(
        f"it failed the same way twice in a row{en} and would do so again",
        f"连续两次{zh}以同样的方式失败，再试也一样",
    )


def _further(before: Reached | None) -> Text:
    if before is None:
        return Text("it came further than last time", "比上次进展更多")
    return Text(
        f"it came further than last time ({_position(before).en})",
        f"比上次（{_position(before).zh}）进展更多",
    )


def _position(reached: Reached) -> Text:
    if reached.epoch is None:
        return Text(f"step {reached.step}", f"第 {reached.step} 步")
    return Text(
        f"epoch {reached.epoch}, step {reached.step}",
        f"第 {reached.epoch} 轮第 {reached.step} 步",
    )


def _limit(most: int) -> Text:
    return Text(
        f"the limit of {most} restart{'' if most == 1 else 's'} is reached (--max_restart)",
        f"已达到重启上限 {most} 次（--max_restart）",
    )


def _exit_code_asks(code: int | None) -> Text:
    return Text(
        f"exit code {code} asks for a restart",
        f"退出码 {code} 表示要求重启",
    )


def _needs_etcd(policy: str) -> UserError:
    return UserError(
        Text(
            f"--restart-on {policy} on several nodes needs etcd: without it the nodes cannot "
            "agree on a restart.",
            f"多节点任务使用 --restart-on {policy} 需要 etcd：否则各节点无法就重启达成一致。",
        ),
        Text(
            "Meet at --master etcd://host:2379 with --nnodes MIN:MAX, or leave --restart-on out.",
            "请用 --master etcd://host:2379 和 --nnodes 最小:最大，或去掉 --restart-on。",
        ),
    )
