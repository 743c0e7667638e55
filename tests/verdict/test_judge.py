"""Given what every rank said, when judged, then the one who failed first is blamed, no victim."""

from __future__ import annotations

import pytest

from pdtriage.launch.record import DeathRecord, ProcessRecord, RunRecord
from pdtriage.model import Rank, RankRow, Victim
from pdtriage.verdict import Judgement, judge
from pdtriage.verdict.reading import Reading
from pdtriage.verdict.rows import rank_rows

from ..events.builders import engine
from ..jobs.builders import environment, runs_of

HOST = "10.0.0.1"
ENDPOINTS = ",".join(f"{HOST}:{port}" for port in (1, 2, 3))
STEPS = "epoch 0 step 0 loss 1.5\nepoch 0 step 1 loss 1.4\n"
ERROR = 'Traceback (most recent call last):\n  File "t.py", line 1, in f\n    g()\nKeyError: 1\n'


def lost(own: int, peer: int) -> str:
    return (
        f"  what():  [/paddle/gloo/pair.cc:584] TIMEOUT self_rank = {own} pair_rank = {peer} "
        f"peer_str = [{HOST}]:40001\n"
    )


def stopped(pid: int, sender: int) -> str:
    return (
        f"  [SignalInfo: *** SIGTERM (@0x3fe) received by PID {pid} (TID 0x7f6c) "
        f"from PID {sender} ***]\n"
    )


def judged(*logs: str, console: str = "", records: list[RunRecord] | None = None) -> Judgement:
    """The newest run of one node whose rank N wrote `logs[N]`."""
    files = {f"log/workerlog.{rank}": text for rank, text in enumerate(logs)}
    if not records:
        for rank in range(len(logs)):
            files[f"log/envlog.{rank}"] = environment(rank, len(logs), "pod", ENDPOINTS)
    if console:
        files["console.log"] = console
    runs = runs_of(files, [("log", record) for record in records or []])
    return judge(runs[-1], engine().knowledge)


def test_the_accused_with_an_error_of_its_own_is_the_cause() -> None:
    found = judged(STEPS + lost(0, 1), STEPS + ERROR, STEPS + lost(2, 1))
    (cause,) = found.causes
    assert (cause.rank, cause.category, cause.confidence) == (1, "code.python", "proven")
    assert {(v.rank, v.reason, v.because_of) for v in found.victims} == {
        (0, "peer", 1),
        (2, "peer", 1),
    }


def test_what_is_made_of_tuples_has_every_field_in_its_place() -> None:
    found = judged(STEPS, STEPS + ERROR)
    (victim,) = found.victims
    quiet = found.readings[0]
    assert victim == Victim(0, "worker", HOST, "collateral", 1, 0)
    assert quiet == Reading(quiet.rank)
    assert quiet.rank == Rank(*quiet.rank)
    row = rank_rows(found)[0]
    assert row == RankRow(
        *(0, "worker", HOST, 0, None, ("log/workerlog.0",), "victim"), last_step=1
    )


def test_code_that_a_traceback_quotes_accuses_nobody() -> None:
    raised = (
        'Traceback (most recent call last):\n  File "t.py", line 9, in <module>\n'
        '    train(on_error="CUDA error(2), out of memory")\n  File "t.py", line 3, in train\n'
        "    rate = table['lr']  # No space left on device\nKeyError: 'lr'\n"
    )
    (cause,) = judged(STEPS + lost(0, 1), STEPS + raised, STEPS + lost(2, 1)).causes
    assert (cause.rank, cause.signature, cause.confidence) == (1, "python.exception", "proven")
    assert cause.evidence[0].text == "KeyError: 'lr'"
    assert not any("train(" in line.text or "table[" in line.text for line in cause.evidence)


def test_arrows_are_followed_to_their_end() -> None:
    found = judged(STEPS + lost(0, 1), STEPS + lost(1, 2), STEPS)
    (cause,) = found.causes
    assert (cause.rank, cause.signature) == (2, "verdict.silent")
    assert cause.confidence != "proven"


def test_the_stopped_are_victims_by_the_sender_they_share() -> None:
    found = judged(STEPS + stopped(70, 60), STEPS + ERROR, STEPS + stopped(72, 60))
    assert [cause.rank for cause in found.causes] == [1]
    assert {victim.reason for victim in found.victims} == {"stopped"}


def test_what_a_process_says_while_it_is_torn_down_is_no_cause() -> None:
    found = judged(STEPS + stopped(70, 60) + ERROR, STEPS + ERROR.replace("1\n", "2\n"))
    assert [cause.ranks for cause in found.causes] == [(1,)]


def test_the_same_error_everywhere_is_one_cause() -> None:
    found = judged(ERROR, ERROR, ERROR)
    (cause,) = found.causes
    assert cause.ranks == (0, 1, 2)
    assert not found.victims


def test_an_error_that_was_survived_is_no_cause() -> None:
    found = judged(ERROR + STEPS * 40, ERROR + STEPS * 40)
    assert not found.causes


def test_a_reader_that_died_leaves_a_few_prepared_steps() -> None:
    reader = (
        "Exception in thread Thread-1:\n" + ERROR.replace("KeyError: 1", "OSError: [Errno 5] x")
    ).replace("[Errno 5] x", "[Errno 5] Input/output error")
    timeout = "what():  [/gloo/unbound_buffer.cc:80] TIMEOUT self_rank = none pair_rank = none\n"
    found = judged(STEPS * 3 + timeout, reader + STEPS)
    assert (found.causes[0].rank, found.causes[0].category) == (1, "data.io")


def test_a_rank_missing_from_the_folder_can_be_accused() -> None:
    files = {
        "log/workerlog.0": STEPS + lost(0, 2),
        "log/envlog.0": environment(0, 3, "pod", ENDPOINTS),
    }
    found = judge(runs_of(files)[-1], engine().knowledge)
    assert (found.causes[0].rank, found.causes[0].host) == (2, HOST)
    assert found.causes[0].confidence != "proven"


def test_success_is_silent_about_scary_words() -> None:
    console = "LAUNCH INFO 2023-01-02 03:04:05,006 Exit code 0\n"
    found = judged("ERROR: retrying\n" + STEPS + ERROR, STEPS, console=console)
    assert (found.verdict, found.causes) == ("succeeded", ())


def test_an_interrupted_job_blames_nobody() -> None:
    console = "LAUNCH INFO 2023-01-02 03:04:05,006 Terminating with signal 2\n"
    found = judged(STEPS + stopped(70, 60), STEPS + lost(1, 0), console=console)
    assert found.verdict == "interrupted"
    assert found.causes[0].ranks == ()


def test_completed_after_abort_is_no_success() -> None:
    console = (
        "ERROR 2022-01-28 08:12:55,119 launch_utils.py:604] ABORT!!! Out of all 2 trainers, the "
        "trainer process with rank=[1] was aborted. Please check its log.\n"
        "INFO 2022-01-28 08:12:55,125 launch.py:311] Local processes completed.\n"
    )
    found = judged(STEPS + stopped(70, 60), "", console=console)
    assert (found.verdict, found.causes[0].rank) == ("failed", 1)


@pytest.mark.parametrize(
    ("code", "signal", "category"),
    [(3, None, "unknown"), (None, 9, "external.kill"), (None, 11, "code.crash")],
)
def test_the_parents_word_names_a_silent_one(
    code: int | None, signal: int | None, category: str
) -> None:
    processes = tuple(_process(rank, STEPS) for rank in (0, 1))
    deaths = (_death(0, 1, code, signal), _death(1, 0, 1, None))
    record = RunRecord(
        "run-1.jsonl", 1, "L", pid=60, world_size=2, processes=processes, deaths=deaths,
        ended=9.0, reason="failed",
    )  # fmt: skip
    found = judged(STEPS + lost(0, 1), STEPS, records=[record])
    assert (found.causes[0].rank, found.causes[0].category) == (1, category)


DISK = ERROR.replace("KeyError: 1", "OSError: [Errno 28] No space left on device")


@pytest.mark.parametrize(
    ("code", "signal", "shown", "ranks"),
    [
        pytest.param(None, 9, ERROR, [0], id="killed, a traceback elsewhere"),
        pytest.param(None, 9, ERROR + STEPS, [0], id="killed, a survived one elsewhere"),
        pytest.param(None, 9, DISK, [0, 1], id="killed, a clear cause elsewhere"),
        pytest.param(7, None, ERROR, [0], id="an exit code, a traceback elsewhere"),
        pytest.param(7, None, ERROR + STEPS, [0], id="an exit code, a survived one elsewhere"),
        pytest.param(7, None, DISK, [1], id="an exit code, a clear cause elsewhere"),
    ],
)
def test_who_shows_an_error_and_lives_on_is_not_blamed_for_a_silent_death(
    code: int | None, signal: int | None, shown: str, ranks: list[int]
) -> None:
    deaths = (_death(0, 0, code, signal), _death(1, 1, None, 15)._replace(stopped=True))
    found = judged(STEPS, STEPS + shown, records=[_recorded(deaths)])
    assert [cause.rank for cause in found.causes] == ranks
    assert "proven" not in {cause.confidence for cause in found.causes}


def test_who_dies_of_its_error_is_blamed_although_another_one_died_in_silence_before() -> None:
    deaths = (_death(0, 0, 7, None), _death(1, 1, 1, None))
    found = judged(STEPS, STEPS + ERROR, records=[_recorded(deaths)])
    assert found.causes[0].rank == 1


def test_the_first_to_fail_is_not_the_first_to_die_where_others_had_finished() -> None:
    deaths = (_death(0, 0, 0, None), _death(1, 1, 4, None))
    (cause,) = judged(STEPS, STEPS, records=[_recorded(deaths)]).causes
    assert (cause.rank, cause.confidence) == (1, "likely")
    said = " ".join(why.en for why in cause.why)
    assert "nobody fail before it" in said
    assert "die first" not in said


def test_an_end_whose_status_nobody_saw_says_less_than_an_error_code() -> None:
    deaths = (_death(0, 0, None, None), _death(1, 1, 3, None))
    assert [c.rank for c in judged(STEPS, STEPS, records=[_recorded(deaths)]).causes] == [1]
    complains = judged(STEPS, STEPS + lost(1, 0), records=[_recorded(deaths)])
    assert [cause.rank for cause in complains.causes] == [0]


def test_one_log_of_several_is_not_the_only_process() -> None:
    alone = judge(runs_of({"log/workerlog.0": STEPS + ERROR})[-1], engine().knowledge)
    one_of_two = judge(runs_of({"log/workerlog.1": STEPS + ERROR})[-1], engine().knowledge)
    assert alone.causes[0].confidence == "proven"
    assert one_of_two.causes[0].confidence == "likely"


def _recorded(deaths: tuple[DeathRecord, ...]) -> RunRecord:
    processes = tuple(_process(rank, STEPS) for rank in (0, 1))
    return RunRecord(
        "run-1.jsonl", 1, "L", pid=60, world_size=2, processes=processes, deaths=deaths,
        ended=9.0, reason="failed",
    )  # fmt: skip


def _process(rank: int, _text: str) -> ProcessRecord:
    return ProcessRecord(
        role="worker", rank=rank, local_rank=rank, device=None, endpoint=f"{HOST}:{rank + 1}",
        pid=70 + rank, log=f"workerlog.{rank}", offset=0, started=1.0, monotonic=1.0,
    )  # fmt: skip


def _death(order: int, rank: int, code: int | None, signal: int | None) -> DeathRecord:
    return DeathRecord(
        order=order, role="worker", rank=rank, local_rank=rank, pid=70 + rank, time=2.0,
        monotonic=2.0, code=code, signal=signal, core=False, stopped=False,
    )  # fmt: skip
