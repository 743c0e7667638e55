"""Stacks of ranks, folded: who stands where, and who keeps the others waiting."""

from __future__ import annotations

import json

from pdtriage.hang.stack_groups import call_site_of, fold_of, telling_stacks
from pdtriage.hang.stack_words import summary_of
from pdtriage.model.logs import Frame
from pdtriage.model.stacks import ProcessStack, Standstill
from pdtriage.record.reader import parse_record
from pdtriage.record.stack_codec import plain_standstill, read_standstill

LIBRARY = "/venv/lib/python3.11/site-packages/paddle"
TRAIN = "/home/me/train.py"


def in_collective(
    rank: int, line: int = 88, name: str = "all_reduce", **more: object
) -> ProcessStack:
    frames = (
        Frame(f"{LIBRARY}/distributed/communication/stream/{name}.py", 51, f"_{name}_in_dygraph"),
        Frame(f"{LIBRARY}/distributed/communication/{name}.py", 89, name),
        Frame(TRAIN, line, "train"),
        Frame(TRAIN, 120, "<module>"),
    )
    return ProcessStack(100 + rank, rank=rank, frames=frames, state="S", **more)  # type: ignore[arg-type]


def in_own_code(
    rank: int, file: str = "/home/me/reader.py", line: int = 23, **more: object
) -> ProcessStack:
    frames = (Frame(file, line, "read_sample"), Frame(TRAIN, 80, "train"))
    return ProcessStack(100 + rank, rank=rank, frames=frames, state="S", **more)  # type: ignore[arg-type]


def taken(*stacks: ProcessStack, **more: object) -> Standstill:
    return Standstill(0.0, "hang", stacks=stacks, **more)  # type: ignore[arg-type]


def odd_ranks(*stacks: ProcessStack, **more: object) -> list[int | None]:
    return [stack.rank for stack in fold_of(taken(*stacks, **more)).odd]


def test_seven_wait_and_one_reads() -> None:
    stacks = [in_collective(rank) for rank in (0, 1, 2, 4, 5, 6, 7)]
    stacks.append(in_own_code(3, waits_in="openat", quiet=212.0))
    found = taken(*stacks)
    said = summary_of(found, fold_of(found))
    assert said.en == (
        "7 ranks in `all_reduce` (train.py:88); "
        "rank 3 in `read_sample` (reader.py:23), system call `openat` for 212 s"
    )
    assert "rank 3 停在 `read_sample` (reader.py:23)，系统调用 `openat`，已 212 秒" in said.zh


def test_of_two_the_one_that_does_not_wait_is_named() -> None:
    assert odd_ranks(in_collective(0), in_own_code(1)) == [1]


def test_of_two_in_different_collectives_nobody_is_named_but_by_steps() -> None:
    two = in_collective(0), in_collective(1, 91, "broadcast")
    assert odd_ranks(*two) == []
    assert odd_ranks(two[0]._replace(step=8), two[1]._replace(step=7)) == [1]


def test_of_three_in_different_collectives_the_odd_one_is_named() -> None:
    assert odd_ranks(in_collective(0), in_collective(1, 91, "barrier"), in_collective(2)) == [1]


def test_a_stopped_process_is_named_wherever_it_stands() -> None:
    stopped = in_collective(2)._replace(state="T")
    assert odd_ranks(in_collective(0), in_collective(1), stopped) == [2]


def test_all_in_one_place_are_nobodys_fault_unless_somebody_is_gone() -> None:
    waiting = [in_collective(rank) for rank in (0, 1, 3)]
    assert odd_ranks(*waiting) == []
    assert fold_of(taken(*waiting, gone=(2,))).missing == (2,)


def test_who_does_not_wait_is_named_before_one_that_is_gone() -> None:
    fold = fold_of(taken(in_collective(0), in_collective(1), in_own_code(3), gone=(2,)))
    assert ([stack.rank for stack in fold.odd], fold.missing) == ([3], ())


def test_who_waits_in_a_backward_may_wait_for_others() -> None:
    frames = (Frame(f"{LIBRARY}/base/dygraph/tensor_patch_methods.py", 335, "Tensor.backward"),)
    waits = ProcessStack(100, rank=0, frames=(*frames, Frame(TRAIN, 70, "train")), state="S")
    assert odd_ranks(waits, in_own_code(1)) == [1]
    assert call_site_of(waits).doing == "backward"


def test_many_different_places_accuse_nobody() -> None:
    assert odd_ranks(*(in_own_code(rank, line=20 + rank) for rank in range(4))) == []


def polling(rank: int, line: int, calls: str = "") -> ProcessStack:
    inner = (Frame("/usr/lib/python3.11/genericpath.py", 19, calls),) if calls else ()
    return ProcessStack(100 + rank, rank=rank, frames=(*inner, Frame(TRAIN, line, "wait")))


def test_who_polls_in_one_function_waits_at_one_place_whichever_line_it_is_at() -> None:
    waiting = polling(0, 8, "exists"), polling(2, 9), polling(3, 9)
    assert odd_ranks(*waiting, in_own_code(1)) == [1]


def test_a_group_is_told_though_a_process_of_another_host_has_the_pid_of_the_odd_one() -> None:
    others = [in_collective(rank) for rank in (2, 3)]
    away = in_collective(4, host="10.0.0.2")._replace(pid=101)
    found = taken(in_own_code(1), away, *others)
    assert summary_of(found, fold_of(found)).en.startswith("ranks 2-4 in `all_reduce`")


def test_a_rank_that_waits_for_data_shows_the_worker_that_does_not_deliver() -> None:
    frames = (
        Frame("/usr/lib/python3.11/threading.py", 320, "wait"),
        Frame(f"{LIBRARY}/io/dataloader/dataloader_iter.py", 800, "_DataLoaderIter.__next__"),
        Frame(TRAIN, 60, "train"),
    )
    rank = ProcessStack(101, rank=1, frames=frames, state="S")
    worker = ProcessStack(
        201, rank=1, helper=True, frames=(Frame("/home/me/data.py", 12, "Data.__getitem__"),)
    )
    for ranks in ((in_collective(0), rank), (rank,)):
        found = taken(*ranks, worker, worker._replace(pid=202))
        said = summary_of(found, fold_of(found)).en
        assert "rank 1 in `__next__` (train.py:60), waiting for its loader worker (pid 201)" in said
        assert "`__getitem__` (data.py:12)" in said
        told = telling_stacks(found, fold_of(found))
        assert [stack.pid for stack in told] == [101, 201], "one of each place"


def test_without_python_the_kernels_word_is_all() -> None:
    found = taken(*(ProcessStack(100 + r, rank=r, state="S", waits_in="read") for r in (0, 1)))
    assert summary_of(found, fold_of(found)).en == "ranks 0, 1 in the system call `read`"


def test_what_is_kept_is_read_back_and_nonsense_is_left_out() -> None:
    found = taken(in_collective(0), in_own_code(1), still=70.0, limit=60.0, gone=(2,))
    assert read_standstill(plain_standstill(found)) == found
    odd = {"stacks": [{"pid": "x"}, 7, {"pid": 3, "frames": [{"line": "a"}, None]}], "still": "no"}
    read = read_standstill(odd)
    assert [stack.pid for stack in read.stacks] == [3]
    assert read.still is None


def test_of_one_hang_the_stacks_that_say_most_are_kept() -> None:
    hang = taken(in_collective(0), in_own_code(1), still=70.0, limit=60.0)
    poor = ProcessStack(100, rank=0, state="S", waits_in="futex")
    asked = hang._replace(time=9.0, reason="asked", still=80.0, stacks=(poor,))
    assert asked.with_stacks_of(hang) == hang._replace(time=9.0, still=80.0)
    assert asked.with_stacks_of(None) == asked
    assert asked.with_stacks_of(hang._replace(moved_on=True)) == asked
    assert hang._replace(reason="asked").with_stacks_of(asked) == hang._replace(reason="asked")
    gone_on = hang._replace(moved_on=True, stacks=())
    assert gone_on.with_stacks_of(hang) == gone_on
    moving = asked._replace(still=1.0)
    assert moving.with_stacks_of(hang) == moving


def test_a_record_keeps_the_stacks_of_the_hang_when_somebody_asks_again() -> None:
    hang = taken(in_collective(0), in_own_code(1), still=70.0, limit=60.0)
    poor = ProcessStack(100, rank=0, state="S", waits_in="futex")
    asked = hang._replace(reason="asked", still=80.0, stacks=(poor,))
    lines = [json.dumps({"kind": "stacks", **plain_standstill(one)}) for one in (hang, asked)]
    record = parse_record("\n".join(lines).encode(), "run-0001.jsonl")
    assert record is not None
    assert record.standstill == hang._replace(still=80.0)
