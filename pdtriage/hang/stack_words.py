"""What stacks say, in sentences: who stands where, and who keeps the others waiting."""

from __future__ import annotations

import os

from pdtriage.hang.stack_groups import (
    STOPPED,
    CallSite,
    StackFold,
    StackGroup,
    call_site_of,
    helpers_in_the_way,
)
from pdtriage.model.kinds import process_name
from pdtriage.model.stacks import ProcessStack, Standstill
from pdtriage.support.language import Text
from pdtriage.support.number_spans import numbers

MOST_STACKS = 4
"""That are shown whole where there is little room."""
_SMALL = 3
"""Ranks that are listed by number; of more it is said how many."""


def summary_of(taken: Standstill, fold: StackFold) -> Text:
    """`7 ranks in `all_reduce` (train.py:88); rank 3 in `open` (reader.py:23) for 212 s`."""
    odd = set(fold.odd)  # by pid alone they may be of several hosts
    parts = [_group(group, taken) for group in fold.groups if odd.isdisjoint(group.members)]
    parts += [odd_one(stack, taken) for stack in fold.odd]
    if fold.missing:
        who = f"rank{'s' * (len(fold.missing) > 1)} {numbers(fold.missing)}"
        parts.append(Text(f"{who} had ended before", f"rank {numbers(fold.missing)} 此前已结束"))
    return Text("; ".join(part.en for part in parts), "；".join(part.zh for part in parts))


def stacks_title(taken: Standstill) -> Text:
    """What stands above stacks in a report."""
    if taken.still is None or taken.reason == "asked":
        return Text("Stacks", "调用栈")
    return Text(
        f"Stacks, when nothing had moved for {taken.still:.0f} s",
        f"调用栈（当时已 {taken.still:.0f} 秒没有前进）",
    )


def odd_one(stack: ProcessStack, taken: Standstill) -> Text:
    """Where the odd one out stands, for how long, and which of its helpers it waits for."""
    text = _with_helper(stack, taken)
    seconds = stack.quiet if stack.quiet is not None else taken.still
    if seconds is None:
        return text
    return Text(f"{text.en} for {seconds:.0f} s", f"{text.zh}，已 {seconds:.0f} 秒")


def _with_helper(stack: ProcessStack, taken: Standstill) -> Text:
    """Where one rank stands, and which of its loader workers it waits for."""
    where = _at(call_site_of(stack), stack)
    text = Text(f"{stack_owner(stack)} {where.en}", f"{stack_owner(stack)} {where.zh}")
    for helper in helpers_in_the_way(stack, taken.stacks)[:1]:
        at = _at(call_site_of(helper), helper)
        text = Text(
            f"{text.en}, waiting for its loader worker (pid {helper.pid}), which is {at.en}",
            f"{text.zh}，在等待它的数据加载进程（pid {helper.pid}，{at.zh}）",
        )
    return text


def stack_title(stack: ProcessStack) -> Text:
    """What stands above one stack: `rank 2 (pid 316, child process)`."""
    child = Text(", child process", "，子进程") if stack.helper else Text("", "")
    who = f"{stack_owner(stack)} (pid {stack.pid}"
    return Text(f"{who}{child.en})", f"{who}{child.zh})")


def stack_owner(stack: ProcessStack) -> str:
    return f"pid {stack.pid}" if stack.rank is None else process_name(stack.role, stack.rank)


def where_text(place: CallSite, stack: ProcessStack) -> Text:
    """Where one process of a table stands, in few words."""
    return _at(place, stack)


def frame_line(file: str, line: int, function: str) -> str:
    """A frame as py-spy and Python write it: `load (reader.py:23)`."""
    return f"{function} ({file}:{line})" if line else f"{function} ({file})"


def _group(group: StackGroup, taken: Standstill) -> Text:
    ranks = group.ranks
    if len(group.members) == 1:
        return _with_helper(group.members[0], taken)
    where = _at(group.where, group.members[0])
    if not ranks or len(ranks) < len(group.members):
        count = len(group.members)
        return Text(f"{count} processes {where.en}", f"{count} 个进程{where.zh}")
    if len(ranks) == 1:
        return Text(f"rank {ranks[0]} {where.en}", f"rank {ranks[0]} {where.zh}")
    if len(ranks) <= _SMALL:
        return Text(f"ranks {numbers(ranks)} {where.en}", f"rank {numbers(ranks)} {where.zh}")
    return Text(f"{len(ranks)} ranks {where.en}", f"{len(ranks)} 个 rank {where.zh}")


def _at(place: CallSite, stack: ProcessStack) -> Text:
    frame = place.frame
    call = stack.waits_in
    if stack.state in STOPPED:
        doing = Text("stopped by a signal (SIGSTOP)", "被信号暂停（SIGSTOP）")
    elif frame is None and call:
        doing = Text(f"in the system call `{call}`", f"停在系统调用 `{call}`")
    elif frame is None:
        busy = stack.state == "R"
        doing = Text("running", "正在运行") if busy else Text("waiting", "正在等待")
    else:
        doing = Text(f"in `{place.doing}`", f"停在 `{place.doing}`")
    if frame is None:
        return doing
    at = f"({os.path.basename(frame.file)}:{frame.line})"
    tells = not place.collective and call and call not in ("futex", place.doing)
    if tells and stack.state not in STOPPED:
        return Text(f"{doing.en} {at}, system call `{call}`", f"{doing.zh} {at}，系统调用 `{call}`")
    return Text(f"{doing.en} {at}", f"{doing.zh} {at}")
