"""What NCCL's RAS answered beside logs that say nothing. The texts have the form of NCCL's source
(src/ras/client_support.cc); no job here has cards."""

from __future__ import annotations

from pathlib import Path

import pytest

import pdtriage
from pdtriage.verdict import Judgement
from pdtriage.verdict.explanation import WITHOUT_KERNEL, WITHOUT_RAS, explain_verdict

from ...scan.builders import engine
from ..builders import (
    DISK,
    HOST,
    STEPS,
    glog,
    judged_files,
    last_run,
    logs,
    raised_at,
    summary,
    waited,
)

COMMUNICATOR = "78db921d1c117b4a"
MISSING = "INCOMPLETE\n  Missing communicator data from 1 {what}\n{who}"
ENDED = STEPS + "training finished\n"


def row(size: int, errors: str, group: int = 0) -> str:
    return f"{group:5d}  {1:8d}  {1:8d}  {size:>8}  {size:8d}  {size:8d}   RUNNING  {errors:>6}\n"


def process(rank: int, pid: int | None = None, card: str = "", host: str = HOST) -> str:
    return f" -- GPU {card or rank} managed by process {pid or 500 + rank} on node {host}\n"


def launched(operation: int, *ranks: int, many: int = 0, pid: int | None = None) -> str:
    """Either one or a few that are listed, or many that are not."""
    done = f"launched up to operation {operation}" if operation else "not launched any operations"
    if many or len(ranks) > 1:
        listed = "".join(f"  Rank {rank}{process(rank, pid)}" for rank in ranks)
        return f"  {many or len(ranks)} ranks have {done}\n{listed}"
    return f"  Rank {ranks[0]} has {done}{process(ranks[0], pid)}"


def mismatch(*groups: str, operation: str = "AllReduce", name: str = COMMUNICATOR) -> str:
    counts = f"  Communicator ranks have different {operation} operation counts\n{''.join(groups)}"
    return f"#0-0 ({name}) MISMATCH\n{counts}\n"


def answer(table: str, errors: str = "", warnings: str = "") -> str:
    return (
        "NCCL version 2.30.7 compiled with CUDA 12.8\n"
        "CUDA runtime version 12080, driver version 13000\n\nJob summary\n===========\n\n"
        "  Nodes    Processes          GPUs  Processes      GPUs\n"
        "  (total)   per node   per process    (total)   (total)\n"
        "      1            4             1          4         4\n\n"
        "Communicators... (0.00s)\n=============\n\n"
        "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
        "    #  in group  per comm  per node  per comm  in group\n"
        f"{table}\nErrors\n======\n\n{errors}\nWarnings\n========\n\n{warnings}"
    )


def asked(*answers: str, ranks: int = 4, text: str = STEPS) -> Judgement:
    return judged_files({**logs(*[text] * ranks), "log/ras.txt": "".join(answers)})


def blamed(found: Judgement) -> tuple[str, list[int | None]]:
    return found.verdict, sorted(rank for cause in found.causes for rank in cause.ranks or (None,))


ONE_BEHIND = answer(row(4, "MISMATCH"), "", mismatch(launched(64, many=3), launched(60, 2)))


def test_the_rank_that_launched_fewer_operations_kept_the_others_waiting(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    for name, text in logs(*[STEPS] * 4).items():
        (tmp_path / name).write_text(text)
    (tmp_path / "log" / "what-it-said.txt").write_text(ONE_BEHIND)
    report = pdtriage.analyze(tmp_path)
    (cause,) = report.root_causes
    assert (report.verdict, cause.rank, cause.confidence) == ("hung", 2, "likely")
    line = cause.evidence[0]
    assert (Path(line.file).name, "operation 60" in line.text) == ("what-it-said.txt", True)
    assert "60 AllReduce operations that it launched, 64" in cause.why[0].en
    assert all("RAS" in why for why in cause.why[0])


def test_without_the_answer_nothing_would_be_known() -> None:
    facts = last_run({**logs(*[STEPS] * 4), "log/ras.txt": ONE_BEHIND})
    changes = explain_verdict(facts, engine().knowledge).changes
    assert [c.given for c in changes if c.given in (WITHOUT_RAS, WITHOUT_KERNEL)] == [WITHOUT_RAS]


def test_an_answer_that_was_pasted_into_a_console_says_as_much() -> None:
    files = {**logs(*[STEPS] * 4), "console.log": f"launch proc_id:71 idx:0\n{ONE_BEHIND}"}
    assert blamed(judged_files(files)) == ("hung", [2])


@pytest.mark.parametrize(
    ("groups", "ranks"),
    [
        ([launched(64, many=6), launched(63, 1, 5)], [1, 5]),
        ([launched(64, many=5), launched(63, 1, 5), launched(7, 3)], [3]),
        ([launched(64, many=7), launched(0, 3)], [3]),
        ([launched(64, many=6), launched(0, 4, 5)], [4, 5]),
    ],
)
def test_those_with_the_fewest_operations_are_meant(groups: list[str], ranks: list[int]) -> None:
    found = asked(answer(row(8, "MISMATCH"), "", mismatch(*groups)), ranks=8)
    assert blamed(found) == ("hung", ranks)


def test_who_is_ahead_of_all_others_blames_nobody() -> None:
    found = asked(answer(row(4, "MISMATCH"), "", mismatch(launched(63, many=3), launched(64, 0))))
    assert found.verdict == "unknown"
    more = mismatch(launched(9, many=3), launched(8, 2), name="0" * 16)
    found = asked(
        answer(row(4, "MISMATCH"), "", mismatch(launched(63, many=3), launched(64, 0)) + more)
    )
    assert blamed(found) == ("hung", [2])


def test_who_waits_in_one_communicator_is_not_to_blame_in_the_next() -> None:
    first = mismatch(launched(64, many=3), launched(60, 2))
    second = mismatch(launched(9, many=2), launched(8, 1, 2), operation="Broadcast", name="0" * 16)
    assert blamed(asked(answer(row(4, "MISMATCH"), "", first + second))) == ("hung", [2])
    other = mismatch(launched(9, many=3), launched(8, 1), name="0" * 16)
    assert asked(answer(row(4, "MISMATCH"), "", first + other)).verdict == "unknown"


def test_numbers_in_a_communicator_of_some_ranks_are_no_ranks_of_the_job() -> None:
    text = answer(
        row(2, "MISMATCH"), "", mismatch(launched(64, 0, pid=73), launched(60, 1, pid=72))
    )
    assert asked(text).verdict == "unknown"
    files = logs(*(glog(70 + rank) + STEPS for rank in range(4)))
    assert blamed(judged_files({**files, "log/ras.txt": text})) == ("hung", [2])


@pytest.mark.parametrize(
    "errors",
    [
        MISSING.format(what="job process", who=f"  Process 73 on node {HOST} managing GPU 3\n"),
        "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
        f"  Process 73 on node {HOST} managing GPU 3\n",
        f"#0-0 ({COMMUNICATOR}) " + MISSING.format(what="rank", who=f"  Rank 3{process(3, 9)}"),
        f"#0-0 ({COMMUNICATOR}) " + MISSING.format(what="rank", who="  The missing rank: 3\n"),
    ],
    ids=["asked in vain", "dead", "of a communicator", "as NCCL 2.24 says it"],
)
def test_a_process_that_does_not_answer_is_named(errors: str) -> None:
    waits = mismatch(launched(64, many=2), launched(63, 0))
    files = logs(*(glog(70 + rank) + STEPS for rank in range(4)))
    found = judged_files({**files, "log/ras.txt": answer(row(4, "INCOMPLETE"), errors, waits)})
    assert blamed(found) == ("hung", [3])
    assert "could not reach it" in found.causes[0].why[0].en


def test_ranks_that_report_an_error_did_answer() -> None:
    missing = f"#0-0 ({COMMUNICATOR}) " + MISSING.format(what="rank", who=f"  Rank 3{process(3)}")
    errors = (
        f"{missing}\n#0-0 ({COMMUNICATOR}) ERROR\n  Asynchronous errors on 2 ranks\n"
        f"  2 ranks reported Remote process error\n  Rank 0{process(0)}  Rank 1{process(1)}"
    )
    assert blamed(asked(answer(row(4, "INCOMPLETE,ERROR"), errors))) == ("hung", [3])


def test_a_job_whose_numbers_rise_does_not_stand_still() -> None:
    later = answer(row(4, "MISMATCH"), "", mismatch(launched(80, many=3), launched(79, 2)))
    assert asked(ONE_BEHIND, later).verdict == "unknown"
    assert asked(ONE_BEHIND, answer(row(4, "OK"))).verdict == "unknown"
    assert blamed(asked(later, ONE_BEHIND, ONE_BEHIND)) == ("hung", [2])


def test_ranks_of_different_status_are_not_behind() -> None:
    status = (
        f"#0-0 ({COMMUNICATOR}) MISMATCH\n  Communicator ranks have different status\n"
        f"  3 ranks have status RUNNING\n  Rank 1 has status FINALIZE{process(1)}"
    )
    assert asked(answer(row(4, "MISMATCH"), "", status)).verdict == "unknown"


def test_a_job_that_ended_is_judged_by_its_end() -> None:
    assert asked(ONE_BEHIND, text=ENDED).verdict == "succeeded"
    files = {**logs(STEPS, STEPS + DISK, STEPS, STEPS), "log/ras.txt": ONE_BEHIND}
    found = judged_files(files)
    assert (found.causes[0].rank, found.causes[0].category) == (1, "storage.disk")


def test_who_ran_into_the_time_limit_waited_for_the_one_that_nccl_saw_behind() -> None:
    gave_up = STEPS + raised_at(14, waited("-1"))
    files = {**logs(*[gave_up] * 4), "log/ras.txt": ONE_BEHIND}
    assert blamed(judged_files(files))[1] == [2]


def test_a_job_that_was_stopped_in_motion_did_not_hang() -> None:
    moving = "".join(f"2023-01-02 03:04:0{n} epoch 0 step {n} loss 1.5\n" for n in range(5))
    files = logs(*(moving + summary(70 + rank, 60) for rank in range(4)))
    files["console.log"] = "LAUNCH INFO 2023-01-02 03:04:05,006 Terminating with signal 2\n"
    assert judged_files({**files, "log/ras.txt": ONE_BEHIND}).verdict == "interrupted"
    files["console.log"] = "LAUNCH INFO 2023-01-02 03:24:05,006 Terminating with signal 2\n"
    assert blamed(judged_files({**files, "log/ras.txt": ONE_BEHIND})) == ("hung", [2])
