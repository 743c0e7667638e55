"""Given a line that looks bad and a process that lived on, then it is no cause of its end."""

from __future__ import annotations

import pytest

from pdtriage.verdict import Judgement, judge

from ..scan.builders import engine
from .builders import (
    DISK,
    ERROR,
    STEPS,
    judged,
    last_run,
    logs,
    lost,
    raised_at,
    summary,
    waited,
)

FULL = "2023-01-15 10:00:00 ERROR cannot write cache: [Errno 28] No space left on device\n"
"""A mere line: nothing says that the process ended with it."""
EVALUATED = "2023-01-15 10:00:09 INFO [EVAL] #Images: 380 mIoU: 0.7640 Acc: 0.8681\n"
SAVED = "2023-01-15 10:00:09 INFO Save checkpoint: output/unet\n"
DONE = "2023-01-15 10:00:09 INFO Training finished\n"
QUIET = "loading\n"
POD_FAILED = "LAUNCH INFO 2023-01-02 03:04:05,006 Pod failed\n"


def ordinary(lines: int, last: str = "10:30:00") -> str:
    return "".join(f"batch {n} was read\n" for n in range(lines)) + _milestone_free(last)


def _milestone_free(time: str) -> str:
    return f"I0115 {time}.000000 70 tcp_utils.cc:132] Successfully connected to 10.0.0.1:1\n"


def steps(first: int, last: int, minute: int) -> str:
    return "".join(
        f"[2023-01-15 10:{minute + n // 60:02}:{n % 60:02}] epoch: 0, step: {n}/1000, loss: 0.5\n"
        for n in range(first, last)
    )


def blamed(found: Judgement) -> list[str]:
    return [cause.category for cause in found.causes]


def test_a_line_is_believed_while_nothing_comes_after_it() -> None:
    assert blamed(judged(QUIET + FULL)) == ["storage.disk"]


@pytest.mark.parametrize(
    "later",
    [EVALUATED, DONE, 40 * QUIET + SAVED, ordinary(60), ordinary(600, "10:00:01")],
    ids=["evaluation", "end of training", "saved model", "half an hour of lines", "many lines"],
)
def test_what_no_dying_process_writes_clears_it(later: str) -> None:
    found = judged(QUIET + FULL + later)
    assert blamed(found) == []
    (reading,) = found.readings
    assert [f.category for f in reading.outlived] == ["storage.disk"]


@pytest.mark.parametrize(
    "later",
    [SAVED, ordinary(5), ordinary(60, "10:00:30"), summary(70, 60)],
    ids=["a model saved in haste", "one late line", "a long message", "the end of a long wait"],
)
def test_what_a_dying_process_may_write_does_not(later: str) -> None:
    assert "storage.disk" in blamed(judged(QUIET + FULL + later))


def test_what_ends_a_process_by_itself_is_cleared_by_steps_alone() -> None:
    uncaught = DISK.replace("in f", "in <module>")
    assert blamed(judged(QUIET + uncaught + EVALUATED)) == ["storage.disk"]
    assert blamed(judged(QUIET + DISK + steps(0, 100, 5))) == []


@pytest.mark.parametrize("later", [EVALUATED, DONE, 40 * QUIET + SAVED, ordinary(600)])
def test_what_was_caught_is_cleared_by_what_no_dying_process_writes(later: str) -> None:
    assert blamed(judged(QUIET + DISK + later)) == []


@pytest.mark.parametrize(
    "line",
    [
        "ERROR: cannot decode sample 17.jpg (image file is truncated), skipped\n",
        "fused kernel unavailable, using the plain one: (InvalidArgument) In operator matmul\n",
        "known issues: RuntimeError: (PreconditionNotMet) in operator roi_pool, see the notes\n",
        "样本解码失败：image file is truncated，已跳过\n",
    ],
)
def test_a_line_that_says_what_was_done_instead_is_no_cause(line: str) -> None:
    assert blamed(judged(QUIET + line)) == []


def test_what_was_caught_is_no_cause_beside_what_nobody_caught() -> None:
    uncaught = ERROR.replace("in f", "in <module>")
    (cause,) = judged(QUIET + DISK + "the next batch\n" + uncaught).causes
    assert (cause.category, cause.confidence) == ("code.python", "proven")


THROWN = "terminate called after throwing an instance of 'paddle::memory::allocation::BadAlloc'\n"


def native(message: str) -> str:
    dashes = 22 * "-"
    return f"\n{dashes}\nError Message Summary:\n{dashes}\n{message}\n"


def test_what_a_runtime_prints_while_it_ends_its_process_was_not_caught() -> None:
    full = native("ResourceExhaustedError: \n\nOut of memory error on GPU 0. Cannot allocate 2MB.")
    signal = "  [SignalInfo: *** SIGABRT (@0x1) received by PID 7 (TID 0x7f) from PID 7 ***]"
    abort = native(
        f"FatalError: `Process abort signal` is detected by the operating system.\n{signal}"
    )
    (cause,) = judged(QUIET + THROWN + "  what():  \n" + full + abort).causes
    assert cause.category == "memory.gpu"
    assert any("Out of memory error" in line.text for line in cause.evidence)
    (reading,) = judged(QUIET + full + "the next batch\n" + abort).readings
    assert "memory.gpu" in {found.category for found in reading.outlived}


def test_a_line_below_what_was_caught_says_what_was_done_instead() -> None:
    assert blamed(judged(QUIET + DISK + "going on without the cache\n")) == []


def test_a_line_in_a_traceback_says_before_the_error_what_was_done_instead() -> None:
    instead = "no fused kernel, using the plain one: (InvalidArgument) In operator matmul, no.\n"
    assert blamed(judged(QUIET + ERROR + instead + "  [Hint: Expected K == L.]\n")) == []


@pytest.mark.parametrize(
    ("before", "blame"),
    [
        (DISK, []),
        ("Exception in thread Thread-1:\n" + DISK, ["storage.disk"]),
        ("Exception in thread pusher:\n" + ERROR, []),
    ],
    ids=["caught", "in a thread that may have been waited for", "in a thread aside"],
)
def test_what_was_caught_did_not_end_a_process_that_lost_a_peer(
    before: str, blame: list[str]
) -> None:
    abort = "terminate called after throwing an instance of 'gloo::TimeoutException'\n"
    found = judged(QUIET + before + "the next batch\n" + abort + lost(0, 1), QUIET)
    assert [c for c in blamed(found) if c in ("storage.disk", "code.python")] == blame


def test_a_reader_that_dies_may_only_end_its_epoch_early() -> None:
    broken = "2023-01-15 10:00:00 ERROR cannot read /data/7.jpg: [Errno 5] Input/output error\n"
    assert [c.partition(".")[0] for c in blamed(judged(broken + EVALUATED))] == ["data"]


@pytest.mark.parametrize(("many", "blames"), [(2, True), (40, False)])
def test_one_that_skips_sample_after_sample_lives(many: int, blames: bool) -> None:
    """PaddleOCR prints the traceback of each picture that it leaves out."""
    skipped = "".join(
        f"[2023/01/15 10:00:00] ppocr ERROR: When parsing line word_{n}.jpg\tred\n"
        ", error happened with msg: Traceback (most recent call last):\n"
        '  File "/srv/ppocr/data/simple_dataset.py", line 148, in __getitem__\n'
        '    raise Exception("{} does not exist!".format(img_path))\n'
        f"Exception: /data/word_{n}.jpg does not exist!\n\n"
        for n in range(many)
    )
    result = "[2023/01/15 10:05:00] ppocr INFO: metric eval ***************\n"
    assert [*map(bool, blamed(judged(skipped)))] == [True]
    assert bool(blamed(judged(skipped + result))) is blames


@pytest.mark.parametrize(
    ("minute", "cleared"), [(20, True), (0, False)], ids=["minutes later", "in the same minute"]
)
def test_steps_of_a_rank_that_waits_for_it_show_that_it_lives(minute: int, cleared: bool) -> None:
    found = judged(steps(0, 5, minute), QUIET + FULL)
    assert (blamed(found) == []) is cleared
    trainers = judged(steps(0, 5, minute), QUIET + DISK)
    assert blamed(trainers) == ["storage.disk"]  # it ended with that


def test_an_hour_that_stands_in_a_line_far_above_is_not_that_of_the_error() -> None:
    unstamped = FULL.partition("ERROR ")[2]
    found = judged(steps(0, 5, 20), _milestone_free("09:00:00") + QUIET + unstamped)
    assert blamed(found) == ["storage.disk"]


def test_several_peers_that_are_late_once_are_no_peer_that_is_late_often() -> None:
    def retry(port: int) -> str:
        return (
            "I0115 10:00:00.000000 70 tcp_utils.cc:107] Retry to connect to "
            f"10.0.0.1:{port} while the server is not yet listening.\n"
        )

    assert blamed(judged("".join(map(retry, range(7001, 7006))))) == []
    assert blamed(judged(5 * retry(7001))) == ["comm.init"]


IGNORED = ERROR.replace("KeyError: 1", "OSError: [Errno 28] No space left on device")


@pytest.mark.parametrize(
    "words",
    [
        "Exception ignored in: <function Cache.__del__ at 0x7f3>\n" + IGNORED,
        "--- Logging error ---\n" + IGNORED,
        'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n'
        "ModuleNotFoundError: No module named 'gpustat'\n",
        "loss is nan for one batch, batch skipped, scale reduced to 32768\n",
    ],
    ids=["in a destructor", "of logging", "of a command that was run", "a batch that was skipped"],
)
def test_what_ends_no_process_is_not_why_its_peers_lost_it(words: str) -> None:
    found = judged(QUIET + words, QUIET + lost(1, 0))
    (cause,) = found.causes
    assert (cause.category, cause.ranks, cause.confidence) == ("unknown", (0,), "likely")


def test_two_exceptions_in_a_row_are_two() -> None:
    """The second was caught by its own word, so the first was as well."""
    caught = ERROR + DISK + "going on without a cache\n"
    found = judged(QUIET + caught, QUIET + lost(1, 0))
    assert [(c.category, c.ranks) for c in found.causes] == [("unknown", (0,))]


@pytest.mark.parametrize(("more", "culprit"), [(32, 0), (33, None)])
def test_a_queue_holds_so_many_steps_that_a_dead_reader_had_prepared(
    more: int, culprit: int | None
) -> None:
    """Whoever goes on for longer than its queue lasts has outlived the thread that died."""
    above = STEPS + "Exception in thread Thread-1:\n" + ERROR
    first = above.count("\n") + 1
    after = "".join(f"batch {number} is done\n" for number in range(more))
    facts = last_run({**logs(above + after, STEPS), "console.log": POD_FAILED})
    zero, one = facts.ranks
    went_on = facts._replace(ranks=(zero._replace(ordinary=(*range(first, first + more),)), one))
    (cause,) = judge(went_on, engine().knowledge).causes
    assert cause.rank == culprit


@pytest.mark.parametrize(
    ("loss", "category"), [("1.2", "unknown"), ("nan", "numeric.nan"), ("", "numeric.nan")]
)
def test_a_single_loss_that_is_a_number_again_clears_those_that_were_none(
    loss: str, category: str
) -> None:
    """Steps alone do not: they are made with spoilt parameters, too."""
    spoilt = "epoch 0 step 2 loss nan\nepoch 0 step 3 loss nan\n"
    after = f"epoch 0 step 4 loss {loss}\n" if loss else "epoch 0 step 4\n"
    (cause,) = judged(STEPS + spoilt + after, STEPS, console=POD_FAILED).causes
    assert cause.category == category


@pytest.mark.parametrize(("more", "category"), [(4, "storage.disk"), (5, "unknown")])
def test_an_exception_of_the_main_program_was_caught_where_lines_go_on_as_before(
    more: int, category: str
) -> None:
    """A few may come of threads and of what tidies up; more than these write no ended process."""
    above = STEPS + DISK.replace("in f\n", "in <module>\n")
    first = above.count("\n") + 1
    after = "".join(f"batch {number} is done\n" for number in range(more))
    facts = last_run({**logs(above + after, STEPS), "console.log": POD_FAILED})
    zero, one = facts.ranks
    went_on = facts._replace(ranks=(zero._replace(ordinary=(*range(first, first + more),)), one))
    (cause,) = judge(went_on, engine().knowledge).causes
    assert cause.category == category


def test_what_a_thread_met_before_more_steps_does_not_hide_what_was_raised_later() -> None:
    thread = ERROR.replace("KeyError: 1", "ConnectionRefusedError: [Errno 111] Connection refused")
    own = ERROR.replace("in f", "in <module>").replace("KeyError: 1", "ValueError: 3")
    text = "Exception in thread heartbeat:\n" + thread + STEPS + own
    (cause,) = judged(QUIET, text).causes
    assert (cause.rank, cause.title.en) == (1, "ValueError: 3")


def test_who_aborts_after_waiting_for_another_is_no_cause_though_python_tells_of_it() -> None:
    abort = "Fatal Python error: Aborted\n\nCurrent thread 0x7f (most recent call first):\n"
    reader = ERROR.replace("KeyError: 1", "OSError: [Errno 5] Input/output error: 'a.rec'")
    found = judged(STEPS + waited("-1") + abort, "Exception in thread Thread-1:\n" + reader + STEPS)
    assert [(cause.rank, cause.category) for cause in found.causes] == [(1, "data.io")]


@pytest.mark.parametrize(
    ("logged", "blames"),
    [("sample 5 has no annotation, ignored", []), ("cannot read sample 5", ["code.python"])],
)
def test_the_words_a_logger_was_given_with_an_exception(logged: str, blames: list[str]) -> None:
    text = STEPS + f"2023-01-15 10:00:00 ERROR {logged}\n" + ERROR
    assert blamed(judged(STEPS, text)) == blames


def test_a_column_that_is_called_after_nan_is_no_loss() -> None:
    text = "".join(f"iter {n}: loss nan_count=0 grad 0.5\n" for n in range(9))
    assert blamed(judged(text, STEPS)) == []


def test_a_thread_that_speaks_in_the_midst_of_another_one_says_what_ended_both() -> None:
    reader = "/opt/py/lib/python3.9/site-packages/paddle/io/dataloader/dataloader_iter.py"
    torn = (
        "Exception in thread Thread-3:\nTraceback (most recent call last):\n"
        f'  File "{reader}", line 285, in _thread_loop\n'
        "Traceback (most recent call last):\n"
        '  File "/srv/train.py", line 285, in <module>\n    main()\n'
        f'  File "{reader}", line 301, in __next__\n    self._reader.read_next_list()[0]\n'
        "SystemError: (Fatal) Blocking queue is killed because the data reader raises an exception."
        "\n  [Hint: Expected killed_ != true, but received killed_:1 == true:1.] (at /p/q.h:179)\n"
        "\n    raise e\n"
        f'  File "{reader}", line 270, in _thread_loop\n    tmp.set(slot, place)\n'
        "ValueError: (InvalidArgument) Sample 7 holds nothing. (at /paddle/pybind/x.h:569)\n"
    )
    (cause,) = judged(torn).causes
    assert cause.signature == "op.enforce"


def test_what_the_main_program_had_caught_is_not_why_its_readers_ended() -> None:
    """A cache that is missing was printed; then the workers of the loader ran out of memory."""
    missing = ERROR.replace(
        "KeyError: 1", "FileNotFoundError: [Errno 2] No such file or directory: '/data/x'"
    )
    full = (
        "ERROR: Unexpected BUS error encountered in DataLoader worker. This might be caused by "
        "insufficient shared memory (shm), please check whether use_shared_memory is set and "
        "storage space in /dev/shm is enough\n"
    )
    end = ERROR.replace("in f", "in <module>").replace(
        "KeyError: 1",
        "SystemError: (Fatal) Blocking queue is killed because the data reader raises an exception."
        "\n  [Hint: Expected killed_ != true, but received killed_:1 == true:1.] (at /p/q.h:179)",
    )
    assert blamed(judged(missing + full + end)) == ["memory.shm"]
    assert blamed(judged(missing + end)) == ["data.io"]


OPTIONAL = (
    "optional plugin missing:\n"
    'Traceback (most recent call last):\n  File "/srv/train.py", line 13, in <module>\n'
    "    import paddle_plugin_xyz\n"
    "ModuleNotFoundError: No module named 'paddle_plugin_xyz'\n\n"
)
BEGINS = "I1119 20:12:44.437265 251 tcp_utils.cc:132] Successfully connected to 10.0.0.1:46332\n"


def test_what_stands_above_the_first_words_of_a_process_has_not_ended_it() -> None:
    """A script says on every rank, before it begins, that an optional module is missing."""
    wrong = ERROR.replace("in f", "in <module>").replace("KeyError: 1", "ValueError: bad batch")
    found = judged(OPTIONAL + BEGINS + lost(0, 1), OPTIONAL + BEGINS + wrong)
    assert [(cause.ranks, cause.category) for cause in found.causes] == [((1,), "code.python")]
    assert blamed(judged(OPTIONAL, OPTIONAL)) == ["code.import"]


def test_a_connection_that_is_tried_again_is_not_what_the_exception_below_follows_from() -> None:
    reset = "[Errno 104] Connection reset by peer while listing the bucket, attempt {} of 3\n"
    raised = (
        'Traceback (most recent call last):\n  File "t.py", line 3, in f\n    g()\n'
        "ValueError: (InvalidArgument) The axis of concat must be less than 2. (at /c.cc:6)\n"
    )
    again = [reset.format(1), reset.format(2), "listed\n"]
    cause = judged("".join(again) + raised, "".join(again) + lost(1, 0)).causes[0]
    assert (cause.rank, cause.category) == (0, "code.operator")
    last = judged(reset.format(3) + raised, reset.format(3) + lost(1, 0)).causes[0]
    assert last.category != "code.operator"


def test_a_crash_that_follows_from_something_earlier_does_not_show_that_it_was_caught() -> None:
    """A trainer prints its exception and leaves; its client of the servers is torn down by that."""
    frames = "0   paddle::distributed::BrpcPsClient::PushDenseTaskConsume()\n"
    head = f"{38 * '-'}\nC++ Traceback (most recent call last):\n{38 * '-'}\n"
    crash = (
        f"\n\n{head}{frames}\n{22 * '-'}\nError Message Summary:\n{22 * '-'}\n"
        "FatalError: `Segmentation fault` is detected by the operating system.\n"
        "  [SignalInfo: *** SIGSEGV (@0x28) received by PID 71 (TID 0x7f10) from PID 40 ***]\n"
    )
    flush = "I0115 10:00:09.480829 71 brpc_ps_client.cc:684] BrpcPsClient::flush begin\n"
    cause = judged(STEPS + ERROR + flush + crash, STEPS).causes[0]
    assert (cause.rank, cause.category) == (0, "code.python")
    other = judged(STEPS + ERROR + flush + crash.replace(frames, "0   f()\n"), STEPS).causes[0]
    assert other.category == "code.crash"


def test_a_refused_connection_that_all_ranks_caught_is_no_place_where_one_waits() -> None:
    """Those that ended by something else show that it was caught; one of them stood still."""
    refused = (
        'Traceback (most recent call last):\n  File "t.py", line 9, in track\n    g()\n'
        "ConnectionRefusedError: [Errno 111] Connection refused\nnumbers are kept here\n"
    )
    gave_up = raised_at(20, waited("2")).replace("in f", "in <module>")
    others = [STEPS + refused + gave_up] * 2
    causes = judged(STEPS + refused + summary(70, 60), *others).causes
    assert [(c.signature, c.rank) for c in causes] == [("verdict.hang", 0)]


def test_a_thread_that_died_explains_nothing_where_all_ranks_were_stopped() -> None:
    """None of them had ended by itself, and all made steps until then."""
    died = (
        "Exception in thread pusher:\nTraceback (most recent call last):\n"
        '  File "t.py", line 9, in push\n    g()\nLookupError: no gateway\n'
    )
    stopped_all = [died + STEPS + summary(70 + rank, 60) for rank in range(3)]
    judgement = judged(*stopped_all)
    assert (judgement.verdict, judgement.causes[0].category) == ("interrupted", "external.kill")
    one = judged(died + STEPS, *stopped_all[1:])
    assert one.causes[0].rank == 0


def test_a_thread_that_died_on_all_ranks_explains_nothing_on_the_one_that_stopped() -> None:
    """Who lost a peer later had not waited for that thread; nor had the peer for its own."""
    died = (
        "Exception in thread pusher:\nTraceback (most recent call last):\n"
        '  File "t.py", line 9, in push\n    g()\nLookupError: no gateway\n'
    )
    stopped = summary(71, 60)
    gave_up = lost(0, 1).replace("in f", "in <module>")
    causes = judged(died + STEPS + gave_up, died + STEPS + stopped).causes
    assert "code.python" not in [cause.category for cause in causes]
    (alone,) = judged(QUIET + STEPS + gave_up, died + STEPS + stopped).causes
    assert (alone.category, alone.rank) == ("code.python", 1)


def test_what_a_caught_exception_was_raised_from_was_caught_with_it() -> None:
    """The line below the last of them says what was done instead."""
    chained = (
        ERROR.replace("KeyError: 1", "ValueError: invalid literal for int() with base 10: '7,5'")
        + "\nThe above exception was the direct cause of the following exception:\n\n"
        + ERROR.replace("KeyError: 1", "RuntimeError: cannot parse the cached rate")
    )
    assert blamed(judged(chained + "using the default learning rate\n")) == []
    assert blamed(judged(chained)) == ["code.python"]
