"""Given a file, when a process in it ends, then what follows is of the next one, if it is."""

from __future__ import annotations

import pytest

from .builders import environment, runs_of

WARNING = "/opt/lib/x.py:7: UserWarning: No ccache found\n  warnings.warn(message)\n"
IMPORTED = f"{25 * '='} Modified FLAGS detected {25 * '='}\n"
IMPORTS = (
    "/opt/lib/depends.py:2: DeprecationWarning: the imp module is deprecated in favour of "
    "importlib; see the module's documentation for alternative uses\n  import imp\n"
)
STEPS = "epoch 0 step 0 loss 1.5\nepoch 0 step 1 loss 1.4\nepoch 0 step 2 loss 1.3\n"
MORE_STEPS = "epoch 0 step 3 loss 1.2\nepoch 0 step 4 loss 1.1\n"
DONE = "Training finished\n"
NO_SCRIPT = (
    "/usr/bin/python: can't open file 'tools/train.py': [Errno 2] No such file or directory\n"
)
WRONG_FLAG = "usage: train.py [-h] [--lr LR]\ntrain.py: error: unrecognized arguments: --rl 3\n"
SYNTAX = '  File "/srv/train.py", line 4\n    if rank == 0\n           ^\nSyntaxError: invalid\n'


def uncaught(message: str = "KeyError: 'a'") -> str:
    return (
        "Traceback (most recent call last):\n"
        '  File "/srv/train.py", line 30, in <module>\n    main()\n'
        f'  File "/srv/train.py", line 9, in main\n    step()\n{message}\n'
    )


def caught(message: str = "KeyError: 'a'") -> str:
    return (
        "Traceback (most recent call last):\n"
        f'  File "/srv/train.py", line 9, in main\n    step()\n{message}\n'
    )


def no_module() -> str:
    return (
        "Traceback (most recent call last):\n"
        '  File "/srv/train.py", line 1, in <module>\n    import extras\n'
        "ModuleNotFoundError: No module named 'extras'\n"
    )


def connects(pid: int, minute: int = 1, port: int = 6170) -> str:
    at = f"I0102 03:{minute:02}:05.000006 {pid}"
    return f"{at} tcp_utils.cc:132] Successfully connected to 127.0.0.1:{port}\n"


def signal(pid: int) -> str:
    return (
        "\n\n--------------------------------------\nC++ Traceback (most recent call last):\n"
        "--------------------------------------\n0   paddle::x()\n\n"
        "----------------------\nError Message Summary:\n----------------------\n"
        "FatalError: `Termination signal` is detected by the operating system.\n"
        "  [TimeInfo: *** Aborted at 1672628465 (unix time) try it ***]\n"
        f"  [SignalInfo: *** SIGTERM (@0x1) received by PID {pid} (TID 0x7f00) from PID 77 ***]\n\n"
    )


ENDS = {
    "no script": NO_SCRIPT,
    "wrong flag": WRONG_FLAG,
    "syntax error": SYNTAX,
    "uncaught exception": connects(100) + STEPS + uncaught(),
    "signal": connects(100) + STEPS + signal(100),
    "exception and signal": connects(100) + STEPS + uncaught() + signal(100),
}
BEGINNINGS = {
    "connects": connects(200, minute=9),
    "counts anew": STEPS,
    "no script": NO_SCRIPT,
    "uncaught exception": uncaught("ValueError: 3"),
    "no module": no_module(),
    "imports": IMPORTS + "the configuration is read\n",
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_what_follows_the_end_of_a_process_is_another_run(end: str, beginning: str) -> None:
    runs = runs_of({"log/workerlog.0": ENDS[end] + BEGINNINGS[beginning]})
    assert len(runs) == 2


def test_runs_that_fail_alike_follow_each_other_at_once() -> None:
    assert len(runs_of({"log/workerlog.0": NO_SCRIPT * 3})) == 3
    assert len(runs_of({"log/workerlog.0": uncaught() * 3})) == 3


def test_modules_warn_once_in_a_process() -> None:
    """Between these runs nothing ends and no step is made: a card is not there."""
    told = (
        "E0102 03:{0:02}:07.000006 {1} pybind.cc:1584] Invalid CUDAPlace(2), must inside [0, 2)\n"
    )
    text = "".join(IMPORTS + told.format(number, 100 + number) for number in range(5))
    runs = runs_of({"log/workerlog.2": text})
    assert [len(run.ranks[0].events) for run in runs] == [2] * 5
    children = connects(100) + IMPORTS + STEPS + IMPORTS * 3 + MORE_STEPS + IMPORTS
    assert len(runs_of({"log/workerlog.0": children})) == 1


def test_a_process_that_says_again_how_it_starts_is_another_one() -> None:
    runs = runs_of({"log/workerlog.0": connects(100) + STEPS + connects(200, 2) + MORE_STEPS})
    assert len(runs) == 2


def opens_card(pid: int, minute: int = 1) -> str:
    at = f"W0102 03:{minute:02}:07.000006 {pid}"
    note = f"{at} gpu_resources.cc:61] Please NOTE: device: 0, GPU Compute Capability: 7.0\n"
    return f"{note}{at} gpu_resources.cc:91] device: 0, cuDNN Version: 8.2.\n"


def joins(pid: int, minute: int = 1) -> str:
    at = f"I0102 03:{minute:02}:06.000006 {pid}"
    return f"{at} nccl_context.cc:74] init nccl context nranks: 2 local rank: 0 gpu id: 0\n"


@pytest.mark.parametrize("before", [joins(200, 2), connects(200, 2)])
def test_what_another_process_says_before_it_starts_like_the_first_is_of_its_run(
    before: str,
) -> None:
    text = WARNING + opens_card(100) + STEPS + before + opens_card(200, 2) + MORE_STEPS
    first, second = runs_of({"log/workerlog.0": text + uncaught()})
    assert not any(event.role == "cause" for _, event in first.ranks[0].events)
    assert [step.step for step in first.ranks[0].progress] == [0, 1, 2]
    assert [step.step for step in second.ranks[0].progress] == [3, 4]


def test_a_thread_that_was_heard_before_the_last_step_is_no_other_process() -> None:
    opened = opens_card(100) + joins(200)
    text = WARNING + opened + STEPS + joins(200, 2) + opens_card(200, 2) + MORE_STEPS
    assert len(runs_of({"log/workerlog.0": text})) == 1


LOADING = "loading annotations into memory...\nDone (t=0.65s)\ncreating index...\nindex created!\n"
RESULT = " Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.412\n"


def test_an_evaluation_that_begins_with_the_words_of_the_file_is_no_run() -> None:
    text = LOADING + opens_card(100) + STEPS + LOADING + RESULT + MORE_STEPS
    assert len(runs_of({"log/workerlog.0": text + LOADING + RESULT})) == 1


@pytest.mark.parametrize("opened", [opens_card(200, 2), ""])
def test_a_training_that_begins_with_them_is_one(opened: str) -> None:
    text = LOADING + opens_card(100) + STEPS + LOADING + opened + STEPS + LOADING + RESULT
    assert len(runs_of({"log/workerlog.0": text})) == 2


def test_what_a_thread_says_last_is_of_the_run_that_ends() -> None:
    last = "I0102 03:01:50.000006 140 tcp_store.cc:273] receive shutdown event\n"
    done = WARNING + connects(100) + STEPS + "Training completed.\n" + last
    text = done + connects(200, 30) + MORE_STEPS
    first, second = runs_of({"log/workerlog.0": text})
    assert first.ranks[0].last_time is not None
    assert second.run.started is not None
    assert second.run.started > first.ranks[0].last_time + 1000


def test_a_main_program_that_tells_of_its_start_again_is_another_one() -> None:
    told = (
        "2021-11-25 19:4{}:05 [INFO]\t\n------------Environment Information-------------\n"
        "Python: 3.7.4\nGPUs used: 2\n------------------------------------------------\n"
    )
    text = "".join(told.format(minute) + WARNING for minute in (2, 6, 7, 9)) + connects(100)
    assert len(runs_of({"log/workerlog.0": text + STEPS})) == 4


def test_who_shuts_down_is_not_the_process_that_starts_below() -> None:
    said = "receive shutdown event and so quit from MasterDaemon run loop"
    last = f"I0102 03:01:50.000006 140 tcp_store.cc:273] {said}\n"
    flags = "======================= Modified FLAGS detected =======================\n"
    text = WARNING + connects(100) + uncaught() + last + flags + connects(200, 30)
    runs = runs_of({"log/workerlog.0": text})
    told = [["shutdown" in event.text for _, event in run.ranks[0].events] for run in runs]
    assert [*map(any, told)] == [True, False]


def test_what_cannot_be_imported_made_no_steps_whatever_the_reason() -> None:
    reason = "ImportError: DLL load failed while importing core_avx: 页面文件太小，无法完成操作。"
    failed = no_module().replace("ModuleNotFoundError: No module named 'extras'", reason)
    assert len(runs_of({"log/workerlog.0": WARNING + STEPS + failed})) == 2


def test_a_container_that_is_started_again_gives_the_same_pid() -> None:
    text = WARNING + opens_card(100) + STEPS + uncaught() + opens_card(100, 30) + MORE_STEPS
    assert len(runs_of({"log/workerlog.0": text})) == 2


def test_how_a_child_ended_is_the_last_word_of_its_parent() -> None:
    message = "SystemError: (Fatal) DataLoader process (pid 140) exited is killed by signal: "
    last = uncaught(message + "Terminated. (at /paddle/data_loader.cc:188)")
    text = WARNING + opens_card(100) + STEPS + signal(100) + last + opens_card(200, 3) + MORE_STEPS
    first, second = runs_of({"log/workerlog.0": text})
    assert any("DataLoader process" in event.text for _, event in first.ranks[0].events)
    assert not any("DataLoader process" in event.text for _, event in second.ranks[0].events)


def test_a_process_may_connect_again() -> None:
    text = connects(100) + STEPS + connects(100, 2, port=7000) + MORE_STEPS
    assert len(runs_of({"log/workerlog.0": text})) == 1


def test_training_that_finished_is_followed_by_one_that_cannot_import() -> None:
    runs = runs_of({"log/workerlog.0": WARNING + STEPS + "training finished\n" + no_module()})
    assert len(runs) == 2


@pytest.mark.parametrize(
    "text",
    [
        connects(100) + STEPS + caught() + MORE_STEPS,
        connects(100) + STEPS + uncaught() + MORE_STEPS,  # printed by a handler of the main program
        connects(100) + STEPS + signal(140) + MORE_STEPS,  # of a worker process
        connects(100) + STEPS + uncaught() + signal(100),
        connects(100) + STEPS + uncaught() + signal(140) + signal(100),
        connects(100)
        + STEPS
        + uncaught()
        + "I0102 03:09:05.000006 145 tcp_store.cc:273] receive shutdown event and so quit\n",
        connects(100)
        + STEPS
        + uncaught()
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + uncaught("ValueError: 3"),
        connects(100) + STEPS + "Exception in thread Thread-1:\n" + caught() + MORE_STEPS,
        connects(100) + STEPS + caught() + IMPORTS + MORE_STEPS,
        connects(100) + STEPS + DONE + IMPORTS,  # what exports the model
        no_module() + IMPORTS + "goes on without extras\n",
    ],
)
def test_one_process_remains_one_run(text: str) -> None:
    assert len(runs_of({"log/workerlog.0": text})) == 1


def test_the_last_words_of_a_process_stay_with_it() -> None:
    first = connects(100) + STEPS + uncaught() + signal(100)
    runs = runs_of({"log/workerlog.0": first + WARNING + connects(200, 9) + MORE_STEPS})
    told = [{e.role for r in run.ranks for _, e in r.events} - {"start"} for run in runs]
    assert told == [{"cause", "victim"}, set()]


FLAGS = "======================= Modified FLAGS detected =======================\n"


@pytest.mark.parametrize(
    "start", [FLAGS, FLAGS + connects(200), STEPS], ids=["flags", "all", "steps"]
)
def test_a_start_behind_the_end_of_training_is_that_of_another_process(start: str) -> None:
    assert len(runs_of({"log/workerlog.0": connects(100) + STEPS + DONE + start})) == 2


def test_a_process_that_trains_for_each_fold_of_its_data_is_one() -> None:
    fold = STEPS + DONE + "W0102 03:09:05.000006 100 reducer.cc:618] the next fold\n"
    assert len(runs_of({"log/workerlog.0": connects(100) + fold + fold + STEPS})) == 1


def test_children_that_import_paddle_are_no_run() -> None:
    text = FLAGS + connects(100) + STEPS + FLAGS + MORE_STEPS + FLAGS + uncaught()
    assert len(runs_of({"log/workerlog.0": text})) == 1


def test_a_second_import_is_a_run_where_another_rank_shows_two() -> None:
    text = FLAGS + connects(100) + STEPS + FLAGS + uncaught()
    other = FLAGS + connects(101) + STEPS + uncaught() + FLAGS + connects(201, minute=9) + STEPS
    runs = runs_of({"log/workerlog.0": text, "log/workerlog.1": other})
    assert [len(run.ranks) for run in runs] == [2, 2]


def test_a_main_program_that_cannot_be_compiled_made_no_steps() -> None:
    assert len(runs_of({"log/workerlog.0": STEPS + SYNTAX})) == 2
    assert len(runs_of({"log/workerlog.0": connects(100) + "Done.\n" + SYNTAX})) == 2
    imported = uncaught().replace("KeyError: 'a'\n", "") + SYNTAX
    assert len(runs_of({"log/workerlog.0": STEPS + imported})) == 1


def test_the_last_words_of_a_thread_are_not_the_first_of_the_next_run() -> None:
    opening = "Load 2207 items\nLoad 14 cars\nLoad 7 cycles\nAfter filtering\n"
    first = opening + connects(100) + STEPS + uncaught()
    last_words = "I0102 03:01:45.000006 177 tcp_store.cc:257] receive shutdown event\n"
    runs = runs_of({"log/workerlog.0": first + last_words + opening + connects(200, minute=30)})
    begin = len(first + last_words)
    assert [run.ranks[0].parts[0][1:] for run in runs] == [(0, begin), (begin, None)]


def test_a_run_that_tells_of_its_start_twice_is_one() -> None:
    """Where it does so first, no time is told; where it does so again, the other rank began."""
    opening = "Load 2207 items\nLoad 14 cars\nLoad 7 cycles\nAfter filtering\n"
    config = "  type: SamplePoint\n" * 600
    first = {pid: opening + connects(pid) + STEPS + signal(pid) for pid in (100, 101)}
    later = {pid: connects(pid, minute=30) + STEPS for pid in (200, 201)}
    files = {
        "log/workerlog.0": first[100] + FLAGS + config + later[200],
        "log/workerlog.1": first[101] + opening + later[201],
    }
    assert [len(run.ranks) for run in runs_of(files)] == [2, 2]


def test_a_run_without_a_step_or_an_end_is_one_where_other_ranks_began_then() -> None:
    words = {rank: f"only rank {name} says so\n" for rank, name in enumerate(("zero", "one"))}
    files = {
        "log/workerlog.0": words[0] + connects(100) + words[0] + connects(200, minute=30),
        "log/workerlog.1": words[1] + connects(101) + "again\n" + stamp(201, minute=30),
    }
    assert [len(run.ranks) for run in runs_of(files)] == [2, 2]


def stamp(pid: int, minute: int) -> str:
    return f"W0102 03:{minute:02}:05.000006 {pid} reducer.cc:618] ready\n"


FAULTHANDLER = (
    "Fatal Python error: {}\n\nCurrent thread 0x00007f1e (most recent call first):\n"
    '  File "/srv/train.py", line 10 in <module>\n'
)


def crash(pid: int) -> str:
    told = signal(pid).replace("Termination", "Process abort").replace("SIGTERM", "SIGABRT")
    return told.replace("from PID 77", f"from PID {pid}")


def test_a_process_that_a_signal_killed_is_hit_by_no_other_kind() -> None:
    """Of the second run nothing is here but what faulthandler prints: no pid, no time."""
    text = connects(60) + STEPS + crash(60)
    assert len(runs_of({"log/workerlog.0": text + FAULTHANDLER.format("Segmentation fault")})) == 2
    assert len(runs_of({"log/workerlog.0": text + FAULTHANDLER.format("Aborted")})) == 1
    stopped = connects(60) + STEPS + signal(60)
    again = runs_of({"log/workerlog.0": stopped + FAULTHANDLER.format("Segmentation fault")})
    assert len(again) == 1  # it may crash on its way out


def test_a_child_that_crashes_ends_no_run_where_its_parent_counts_on_and_speaks() -> None:
    crash = "Floating point exception (core dumped)\n"
    told = connects(100) + STEPS + crash + MORE_STEPS
    assert len(runs_of({"log/workerlog.0": told + connects(100, minute=5)})) == 1
    assert len(runs_of({"log/workerlog.0": told})) == 2, "nobody knows whose steps follow"


def test_what_a_main_program_tries_again_before_its_first_step_is_one_run() -> None:
    tried = uncaught("TimeoutError: read timed out") + "vocab: attempt failed\n"
    assert len(runs_of({"log/workerlog.0": WARNING + connects(100) + tried * 3 + STEPS})) == 1


def test_a_module_that_it_can_do_without_ends_no_process() -> None:
    overcome = no_module() + "extras not available, falling back to python\n"
    assert len(runs_of({"log/workerlog.0": overcome + WARNING + connects(100) + STEPS})) == 1


def test_one_that_tells_no_more_did_end() -> None:
    assert len(runs_of({"log/workerlog.0": no_module() + WARNING + connects(100) + STEPS})) == 2


def test_the_words_of_a_bus_error_begin_no_run() -> None:
    """They stand two lines above the signal's own line, and below what had been caught."""
    caught = (
        'Traceback (most recent call last):\n  File "t.py", line 1, in f\n    g()\nOSError: 1\n'
    )
    words = (
        "`Access to an undefined portion of a memory object` is detected by the operating system"
    )
    told = crash(60).replace("`Process abort signal` is detected by the operating system", words)
    told = told.replace("SIGABRT", "SIGBUS")
    assert words in told
    assert len(runs_of({"log/workerlog.0": connects(60) + caught + STEPS + told})) == 1


def test_a_process_that_was_stopped_raises_nothing_after_that() -> None:
    """What stands below is of the next one, which died before it said anything else."""
    raised = 'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\n    g()\n'
    text = connects(60) + "ready\n" + signal(60) + raised + "OSError: libops.so: cannot open\n"
    runs = runs_of({"log/workerlog.0": text})
    assert len(runs) == 2


def test_a_log_without_steps_has_as_many_runs_as_it_was_started() -> None:
    """Its second process dies of an import before it says anything that another one had not."""
    ends = "127.0.0.1:617{0},127.0.0.1:618{0}"
    starts = [("a", ends.format(1)), ("b", ends.format(2))]
    first = [IMPORTED + connects(pid, 1, 6171) for pid in (100, 101)]
    runs = runs_of(
        {
            "log/workerlog.0": first[0] + IMPORTED + connects(200, 9, 6172),
            "log/workerlog.1": first[1] + "done: 0 errors\n" + IMPORTED + no_module(),
            "log/envlog.0": "".join(environment(0, 2, *start) for start in starts),
            "log/envlog.1": "".join(environment(1, 2, *start) for start in starts),
        }
    )
    told = [[e.category for _, e in run.ranks[1].events if e.ends_at] for run in runs]
    assert told == [[], ["code.import"]]


def test_an_exception_that_a_logger_printed_and_that_is_raised_on_is_one_end() -> None:
    """As ``logger.catch(reraise=True)`` of loguru has it: Python prints it again right below."""
    logged = "2024-01-02 03:04:05.264 | ERROR    | __main__:<module>:1 - An error has been caught\n"
    once = connects(100) + STEPS + logged + uncaught()
    assert len(runs_of({"log/workerlog.0": once + uncaught()})) == 1
    assert len(runs_of({"log/workerlog.0": once + uncaught("ValueError: 3")})) == 2
    assert len(runs_of({"log/workerlog.0": once + uncaught() + uncaught("ValueError: 3")})) == 2
    assert len(runs_of({"log/workerlog.0": once + uncaught() + connects(200, 9) + STEPS})) == 2


def trains(minute: int) -> str:
    """How PaddleOCR begins: imports, a configuration of many lines, and only then its own start."""
    at = f"[2024/01/02 03:{minute:02}:05] ppocr INFO:"
    configuration = "".join(f"{at}     key_{number} : {number}\n" for number in range(150))
    return f"{IMPORTED}{configuration}{at} train with paddle 2.6.1 and device Place(gpu:0)\n"


@pytest.mark.parametrize("workers", ["", IMPORTED * 2])
def test_what_a_program_says_before_it_tells_of_its_start_is_of_its_own_run(workers: str) -> None:
    """However long that is; spawned workers import the same, but make no run."""
    before = "nohup: ignoring input\n" + trains(1) + workers + STEPS
    between = before + "Exception in thread Thread-3:\n" + caught("ValueError: odd shapes")
    text = between + trains(2) + workers + MORE_STEPS + trains(3) + STEPS
    runs = runs_of({"log/workerlog.0": text})
    begun = [run.ranks[0].parts[0][1] for run in runs]
    assert begun == [0, len(between), text.rindex(IMPORTED)]
