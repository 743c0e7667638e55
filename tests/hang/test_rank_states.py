"""What the table of ranks says of each one, by its log and by the kernel."""

from __future__ import annotations

import os
import subprocess
import sys

from pdtriage.hang.kernel_view import VitalsWatch, main_thread_children
from pdtriage.hang.rank_states import RankHistory, RankLine, RankLook, fold_lines
from pdtriage.model.logs import Frame
from pdtriage.model.stacks import ProcessStack

from ..running import wait_until


def ranks(*steps: int | None, **more: object) -> list[RankLook]:
    looks = []
    for number, step in enumerate(steps):
        position = None if step is None else (0, step)
        look = RankLook(f"rank {number}", number, position=position)
        looks.append(look._replace(**more))  # type: ignore[arg-type]
    return looks


def lines_after(seconds: int, *paces: float) -> list[RankLine]:
    """One look a second at ranks that make so many steps a second."""
    history = RankHistory()
    lines: list[RankLine] = []
    for second in range(seconds + 1):
        lines = history.lines(second, ranks(*(int(second * pace) for pace in paces)))
    return lines


def test_the_slowest_stands_first_with_its_rate() -> None:
    lines = lines_after(40, 2.0, 1.0, 2.0)
    assert [line.name for line in lines] == ["rank 1", "rank 0", "rank 2"]
    assert [round(line.rate or 0, 1) for line in lines] == [1.0, 2.0, 2.0]
    assert {line.state for line in lines} == {"training"}


def test_who_is_ahead_of_one_that_stands_waits_for_it() -> None:
    history = RankHistory()
    for second in range(20):
        history.lines(second, ranks(second, second))
    lines = history.lines(60, ranks(19, 20, quiet=40.0))
    lines = history.lines(90, ranks(19, 20, quiet=70.0))
    assert [(line.name, line.state) for line in lines] == [
        ("rank 0", "silent"),
        ("rank 1", "waiting"),
    ]


def test_who_stands_while_others_go_on_from_there_waits_for_nobody() -> None:
    history = RankHistory()
    for second in range(90):
        lines = history.lines(second, ranks(second // 4, min(second, 40), second))
    assert [(line.name, line.state) for line in lines] == [
        ("rank 0", "training"),
        ("rank 1", "silent"),
        ("rank 2", "training"),
    ]


def test_an_epoch_that_begins_anew_is_no_step_back() -> None:
    history = RankHistory()
    for second in range(30):
        epoch, step = divmod(second, 10)
        look = RankLook("rank 0", 0, position=(epoch, step))
        (line,) = history.lines(second, [look])
    assert line.rate is not None
    assert 0.9 < line.rate < 1.1


def test_states_that_the_kernel_and_the_log_tell() -> None:
    history = RankHistory()
    stood = ProcessStack(
        7,
        "worker",
        3,
        frames=(
            Frame(
                "/x/site-packages/paddle/distributed/communication/all_reduce.py", 5, "all_reduce"
            ),
            Frame("/home/me/train.py", 88, "train"),
        ),
    )
    base = RankLook("rank 0", 0, position=(0, 3))
    looks = [
        base._replace(kernel_state="T"),
        base._replace(name="rank 1", evaluating=True),
        base._replace(name="rank 2", kernel_state="D"),
        base._replace(name="rank 3", stack=stood),
        base._replace(name="rank 4", cpu=0.01, helpers_cpu=1.9),
        base._replace(name="rank 5", ended="SIGKILL"),
        base._replace(name="rank 6", position=None),
    ]
    history.lines(0, looks)
    told = {line.name: (line.state, line.detail) for line in history.lines(500, looks)}
    assert told == {
        "rank 0": ("stopped", ""),
        "rank 1": ("evaluating", ""),
        "rank 2": ("disk", ""),
        "rank 3": ("waiting", "all_reduce"),
        "rank 4": ("loading", ""),
        "rank 5": ("ended", "SIGKILL"),
        "rank 6": ("starting", ""),
    }


def test_of_equally_far_ranks_the_one_the_others_wait_for_stands_first() -> None:
    place = "/x/site-packages/paddle/distributed/communication/all_reduce.py"
    script = Frame("/home/me/train.py", 88, "train")
    waiting = ProcessStack(7, frames=(Frame(place, 5, "all_reduce"), script))
    asleep = ProcessStack(8, frames=(script,))
    history = RankHistory()
    looks = [
        RankLook(f"rank {rank}", rank, position=(0, 3), stack=stack)
        for rank, stack in enumerate((waiting, waiting, asleep))
    ]
    history.lines(0, looks)
    assert [line.name for line in history.lines(500, looks)] == ["rank 2", "rank 0", "rank 1"]


def test_many_ranks_that_do_the_same_share_a_line() -> None:
    paces = [2.0] * 64
    paces[40] = 1.0
    lines = fold_lines(lines_after(40, *paces), 16)
    assert len(lines) == 2
    assert lines[0].name == "rank 40"
    assert len(lines[1].numbers) == 63
    assert lines[1].several


def test_ranks_that_began_one_after_the_other_share_a_line_where_there_are_many() -> None:
    history = RankHistory()
    for second in range(60):
        looks = ranks(*(max(0, 4 * second - rank) for rank in range(40)))
        looks[1] = looks[1]._replace(position=(0, second))
        lines = history.lines(second, looks)
    folded = fold_lines(lines, 16)
    assert len(folded) <= 16
    assert folded[0].name == "rank 1", "slower than the others"
    assert folded[0].numbers == (1,)
    assert sorted(number for line in folded for number in line.numbers) == list(range(40))
    assert len(fold_lines(lines[:16], 16)) == 16


def test_memory_and_work_of_a_process_and_of_what_it_started() -> None:
    code = "import os, time\nif os.fork(): time.sleep(600)\nwhile True: pass"
    parent = subprocess.Popen([sys.executable, "-c", code])
    watch = VitalsWatch()
    moment = iter(range(10_000))
    try:

        def sees_the_child_work() -> bool:
            seen = watch.look(next(moment), [parent.pid]).get(parent.pid)
            return seen is not None and seen.memory > 1 << 20 and (seen.helpers_cpu or 0) > 0

        assert wait_until(sees_the_child_work)
    finally:
        for child in main_thread_children(parent.pid):
            os.kill(child, 9)
        parent.kill()
        parent.wait()
    assert watch.look(next(moment), [parent.pid]) == {}
