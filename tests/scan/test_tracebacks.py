"""Given Python tracebacks as logs hold them, when read, then exception and own frame are found."""

from __future__ import annotations

import json

import pytest

from pdtriage.model import Frame

from .builders import facts_of, telling

LIBRARY = "/opt/py/lib/python3.10/site-packages/paddle/io/dataloader/dataloader_iter.py"


def test_the_users_own_frame_is_shown_not_the_librarys() -> None:
    facts = facts_of(
        f"""\
        Traceback (most recent call last):
          File "/srv/train.py", line 40, in <module>
            main()
          File "/srv/train.py", line 31, in main
            for batch in loader:
          File "{LIBRARY}", line 300, in __next__
            raise KeyError("mask")
        KeyError: 'mask'
        """
    )
    (event,) = telling(facts)
    assert event.text == "KeyError: 'mask'"
    assert event.frame == Frame("/srv/train.py", 31, "main")
    assert (event.first_line, event.line, event.last_line) == (1, 8, 8)


@pytest.mark.parametrize(
    ("code", "raised"),
    [
        ("raise Stop('bad sample')", "Stop: bad sample"),
        ("raise Stop", "Stop"),
        ("raise stop_training('x')", "stop_training: x"),
        ("raise error", "Halt: no more"),
        ("step()", "train.<locals>.Stop: bad sample"),
    ],
)
def test_an_exception_may_have_any_name(code: str, raised: str) -> None:
    facts = facts_of(
        f"""\
        Traceback (most recent call last):
          File "/srv/train.py", line 40, in <module>
            {code}
            ^^^^^^^^^^
        {raised}
        """
    )
    (event,) = telling(facts)
    assert event.text == raised


@pytest.mark.parametrize(
    ("code", "line"),
    [("step()", "Stop: 5"), ("raise error", "epoch: 3"), ("raise Stop", "loss: 0.3")],
)
def test_a_line_of_another_writer_is_no_exception(code: str, line: str) -> None:
    facts = facts_of(
        f"""\
        Traceback (most recent call last):
          File "/srv/train.py", line 40, in <module>
            {code}
        {line}
        ValueError: the end
        """
    )
    (event,) = telling(facts)
    assert event.text == "ValueError: the end"


def test_a_chain_is_one_block_and_every_exception_of_it_is_seen() -> None:
    facts = facts_of(
        """\
        Traceback (most recent call last):
          File "config.py", line 3, in load
            return table[key]
        KeyError: 'lr'

        During handling of the above exception, another exception occurred:

        Traceback (most recent call last):
          File "train.py", line 9, in <module>
            load()
        ValueError: bad config
        """
    )
    events = telling(facts)
    assert [event.fields["error_class"] for event in events] == ["KeyError", "ValueError"]
    assert len({event.block for event in events}) == 1


def test_what_was_caught_is_no_part_of_the_next_traceback() -> None:
    facts = facts_of(
        """\
        Traceback (most recent call last):
          File "/srv/train.py", line 9, in load
            import fused
        ModuleNotFoundError: No module named 'fused'
        going on without it
        Traceback (most recent call last):
          File "/srv/train.py", line 40, in <module>
            main()
        KeyError: 'mask'
        """
    )
    caught, ended = telling(facts)
    assert caught.block != ended.block
    assert (caught.ends_at, bool(ended.ends_at)) == (0, True)


def test_a_thread_is_told_with_what_it_raised() -> None:
    facts = facts_of(
        """\
        Exception in thread Thread-1 (reader):
        Traceback (most recent call last):
          File "/srv/train.py", line 9, in reader
            step()
        KeyError: 'mask'
        """
    )
    (event,) = telling(facts)
    assert event.fields["thread"] == "Thread-1 (reader)"


def test_a_thread_is_told_right_below_what_another_one_has_caught() -> None:
    facts = facts_of(
        """\
        Traceback (most recent call last):
          File "/srv/push.py", line 41, in push
            send(data)
        LookupError: gateway is down
        Exception in thread Thread-1 (_thread_loop):
        Traceback (most recent call last):
          File "/srv/train.py", line 50, in __getitem__
            raise KeyError("mask")
        KeyError: 'mask'
        """
    )
    caught, died = telling(facts)
    assert "thread" not in caught.fields
    assert died.fields["thread"] == "Thread-1 (_thread_loop)"


def test_a_workers_traceback_inside_the_parents_message() -> None:
    facts = facts_of(
        f"""\
        Traceback (most recent call last):
          File "train.py", line 5, in <module>
            for batch in loader:
          File "{LIBRARY}", line 195, in reraise
            raise self.exc_type(msg)
        OSError: DataLoader worker(0) caught OSError with message:
        Traceback (most recent call last):
          File "{LIBRARY}", line 380, in _worker_loop
            batch = fetcher.fetch(indices)
          File "dataset.py", line 11, in read
            image.read(16)
        OSError: [Errno 5] Input/output error
        """
    )
    cause = next(event for event in telling(facts) if event.category == "data.io")
    assert cause.line == 12
    assert cause.frame == Frame("dataset.py", 11, "read")
    assert len({event.block for event in telling(facts)}) == 1


def test_two_threads_write_into_each_other() -> None:
    facts = facts_of(
        """\
        Traceback (most recent call last):
          File "train.py", line 181, in <module>
            main()
        Exception in thread Thread-2:
        Traceback (most recent call last):
          File "reader.py", line 8, in run
            raise IndexError("no more shards")
        IndexError: no more shards
          File "train.py", line 177, in main
            step()
        ZeroDivisionError: division by zero
        """
    )
    assert {event.fields["error_class"] for event in telling(facts)} == {
        "IndexError",
        "ZeroDivisionError",
    }


def test_a_header_glued_behind_a_progress_bar() -> None:
    facts = facts_of(
        b" 10%|#   | 1/10\r 20%|##  | 2/10Traceback (most recent call last):\n"
        b'  File "train.py", line 3, in <module>\n    f()\nKeyError: 1\n'
    )
    (event,) = telling(facts)
    assert (event.text, event.line) == ("KeyError: 1", 4)


@pytest.mark.parametrize(
    ("before", "ends"),
    [("Epoch 0:  27%|##   | 3/11", True), ("....", True), ("", True), ("ERROR: ", False)],
)
def test_an_exception_nobody_caught_ends_its_process_behind_a_progress_bar_too(
    before: str, ends: bool
) -> None:
    facts = facts_of(
        f"""\
        {before}Traceback (most recent call last):
          File "/srv/train.py", line 40, in <module>
            train()
        KeyError: 'mask'
        """
    )
    (event,) = telling(facts)
    assert bool(event.ends_at) == ends


def test_a_syntax_error_has_no_header() -> None:
    facts = facts_of(
        """\
          File "train.py", line 7
            x = (1,
                ^
        SyntaxError: '(' was never closed
        """
    )
    (event,) = telling(facts)
    assert event.frame == Frame("train.py", 7, "")


def test_members_of_an_exception_group() -> None:
    facts = facts_of(
        """\
          + Exception Group Traceback (most recent call last):
          |   File "train.py", line 4, in <module>
          |     raise ExceptionGroup("shards", found)
          | ExceptionGroup: shards (2 sub-exceptions)
          +-+---------------- 1 ----------------
            | ValueError: shard 3 is empty
            +---------------- 2 ----------------
            | KeyError: 'shard 4'
            +------------------------------------
        """
    )
    classes = {event.fields.get("error_class") for event in telling(facts)}
    assert {"ValueError", "KeyError"} <= classes


@pytest.mark.parametrize("name", ["样本不足", "my.pkg.Stop", "queue.Empty", "SystemExit"])
def test_unusual_exception_names(name: str) -> None:
    facts = facts_of(
        f'Traceback (most recent call last):\n  File "t.py", line 1, in f\n    g()\n{name}: x\n'
    )
    assert [event.fields.get("error_class", name) for event in telling(facts)] == [name]


def test_steps_after_a_frame_are_not_taken_for_an_exception() -> None:
    facts = facts_of(
        """\
        Traceback (most recent call last):
          File "t.py", line 1, in f
            g()
        Epoch: 3, loss: 0.25
        ValueError: real
        """
    )
    assert [event.text for event in telling(facts)] == ["ValueError: real"]


@pytest.mark.parametrize(
    "above",
    [
        "",
        "    return run(cfg)\n",
        "\n    x = y(\n        z)\n",
        "epoch 1\n" * 40 + "$ tail err.log\n    return run(cfg)\n",
    ],
)
def test_a_log_that_begins_in_the_midst_of_a_traceback_still_tells_its_exception(
    above: str,
) -> None:
    facts = facts_of(
        above.encode() + b'  File "/srv/train.py", line 71, in forward\n    out.append(aux[4])\n'
        b"IndexError: list index out of range\n"
    )
    (event,) = telling(facts)
    assert event.text == "IndexError: list index out of range"
    assert event.frame == Frame("/srv/train.py", 71, "forward")


@pytest.mark.parametrize("head", ["Traceback (most recent call last):\n", ""])
def test_a_text_may_be_indented_as_a_whole(head: str) -> None:
    text = head + '  File "/srv/train.py", line 71, in forward\n    f()\nIndexError: 1\nepoch 2\n'
    facts = facts_of("".join(f"        {line}\n" for line in text.splitlines()).encode())
    (event,) = telling(facts)
    assert event.text.strip() == "IndexError: 1"
    assert event.frame == Frame("/srv/train.py", 71, "forward")


@pytest.mark.parametrize(
    "text",
    [
        'epoch 1\n  File "/srv/train.py", line 71, in forward\n    f()\n\nIndexError: 1\n',
        'epoch 1\n  File "/srv/train.py", line 71, in forward\n    f()\nepoch 2\nIndexError: 1\n',
        '  File "/srv/train.py", line 71, in forward\n    f()\nepoch 1\nepoch 2\n',
    ],
)
def test_frames_elsewhere_or_without_an_exception_are_no_traceback(text: str) -> None:
    assert telling(facts_of(text.encode())) == []


def test_a_traceback_that_rich_has_drawn_is_read() -> None:
    facts = facts_of(
        f"""\
        ╭───────────── Traceback (most recent call last) ──────────────╮
        │ /srv/train.py:31 in main                                     │
        │                                                              │
        │   30 def main():                                             │
        │ ❱ 31 │   raise OSError("No space left on device")            │
        │                                                              │
        │ {LIBRARY}:300 in __next__ │
        ╰──────────────────────────────────────────────────────────────╯
        ValueError: invalid literal for int() with base 10: 'twelve'
        """
    )
    (event,) = telling(facts)
    assert event.fields["error_class"] == "ValueError"
    assert event.frame == Frame("/srv/train.py", 31, "main")
    assert (event.first_line, event.line) == (1, 9)


DRAWN = """\
    ╭──────────── Traceback (most recent call last) ─────────────╮
    │ /srv/train.py:31 in main                                   │
    │                                                            │
    │ ❱ 31 │   step(batch)                                       │
    ╰────────────────────────────────────────────────────────────╯
"""


@pytest.mark.parametrize(
    ("message", "signature"),
    [
        # broken behind the words by which it is known
        (
            "SystemError: (Fatal) DataLoader process (pid 7731) exited is killed by \n"
            "    signal: Killed. (at /paddle/data_loader.cc:185)",
            "memory.loader-killed",
        ),
        # … and within them
        (
            "SystemError: (Fatal) DataLoader process (pid 7731) exited is \n"
            "    killed by signal: Killed.",
            "memory.loader-killed",
        ),
        # in the midst of a word that is longer than the terminal is wide
        (
            "RuntimeError: [/paddle/third_party/gloo/gloo/transport/tcp/pai\n"
            "    r.cc:584] TIMEOUT self_rank = 0 pair_rank = 1",
            "comm.gloo-pair-lost",
        ),
    ],
)
def test_what_rich_has_broken_over_lines_is_known_as_if_it_were_whole(
    message: str, signature: str
) -> None:
    facts = facts_of(f"{DRAWN}    {message}\n    epoch 1 step 3 loss 0.4\n")
    assert [event.signature for event in telling(facts)] == [signature]
    (event,) = telling(facts)
    assert event.line == 6
    assert "\n" not in event.text
    assert event.text.endswith(message[-12:])


def test_lines_of_a_drawn_message_that_were_not_broken_stay_apart() -> None:
    text = f"{DRAWN}    ValueError: the batch is empty\n      [Hint: look at it]\n"
    (event,) = telling(facts_of(text))
    assert event.text == "ValueError: the batch is empty"


def test_the_frame_that_loguru_marks_is_a_frame() -> None:
    facts = facts_of(
        """\
        Traceback (most recent call last):

        > File "/srv/train.py", line 12, in main
            step()
            └ <function step at 0x7f>

        ZeroDivisionError: division by zero
        """
    )
    (event,) = telling(facts)
    assert event.frame == Frame("/srv/train.py", 12, "main")


FOLDED = r"""
    epoch 0 step 1 loss 0.3
    Traceback (most recent call last):
      File "/home/user/job/train.py", line 40, in <module>
        for batch in loader:
      File "/opt/py/site-packages/paddle/io/dataloader/worker.py", line 188, in reraise
        raise self.exc_type(msg)
    KeyError: 'DataLoader worker(1) caught KeyError with message:\nTraceback (most recent call last):\n  File "/opt/py/site-packages/paddle/io/dataloader/worker.py", line 363, in _worker_loop\n    batch = fetcher.fetch(indices)\n  File "/home/user/job/sampling.py", line 169, in sampling\n    annos = self.per_class[name]\nKeyError: \'Car\'\n'
"""  # noqa: E501


def test_a_workers_traceback_that_repr_folded_into_one_line_shows_its_own_frame() -> None:
    (event,) = telling(facts_of(FOLDED))
    assert event.frame is not None
    assert (event.frame.file, event.frame.line) == ("/home/user/job/sampling.py", 169)
    assert event.text == (
        "KeyError: 'DataLoader worker(1) caught KeyError with message: … KeyError: 'Car'"
    )


def test_a_folded_traceback_alone_is_an_exception_too() -> None:
    line = FOLDED.splitlines()[-1].replace("DataLoader worker(1) caught KeyError with", "A")
    (event,) = telling(facts_of(line + "\n"))
    assert event.frame is not None
    assert (event.frame.line, event.fields["error_class"]) == (169, "KeyError")


def test_a_logger_that_folds_a_traceback_into_its_line_is_not_what_was_raised() -> None:
    folded = FOLDED.splitlines()[-1].partition("message:\\n")[2]
    logged = "[2026-03-04 05:06:07,000] [   ERROR] - worker 3 failed: '" + folded
    (event,) = telling(facts_of(logged + "\n"))
    assert event.text == "KeyError: 'Car'"


def test_an_exception_of_any_name_is_known_below_the_frames_of_a_folded_traceback() -> None:
    """As a program puts it into one line of JSON; what stands there is not the words above it."""
    frames = (
        'Traceback (most recent call last):\n  File "a.py", line 3, in step\n    raise Stop(n)\n'
    )
    line = json.dumps({"level": "error", "exc": frames + "step.<locals>.Stop: no labels\nin 3\n"})
    (event,) = telling(facts_of(f"step 1\n{line}\n"))
    assert event.text == "step.<locals>.Stop: no labels"


def test_a_program_that_cannot_be_opened_is_no_part_of_what_was_raised_before() -> None:
    raised, missing = telling(
        facts_of(
            """
            Traceback (most recent call last):
              File "/home/user/job/train.py", line 40, in <module>
                main()
            RuntimeError: lost
            /opt/venv/bin/python: can't open file '/srv/trian.py': [Errno 2] No such file
            """
        )
    )
    assert raised.ends_at == missing.offset


def test_lines_of_ranks_that_torchrun_marks_are_told_apart() -> None:
    facts = facts_of(
        """
        loading
        step 1 loss 0.4
        more words
        [rank1]: Traceback (most recent call last):
        [rank0]: Traceback (most recent call last):
        [rank1]:   File "/home/user/train.py", line 10, in main
        [rank0]:   File "/home/user/train.py", line 12, in main
        [rank1]:     f()
        [rank0]:     g()
        [rank1]: KeyError: 'label'
        [rank0]: OSError: [Errno 5] Input/output error: '/data/1.jpg'
        """,
        kind="console",
    )
    found = {event.writer: event for event in telling(facts)}
    assert {writer: event.category for writer, event in found.items()} == {
        0: "data.io",
        1: "code.python",
    }
    assert found[1].frame == Frame("/home/user/train.py", 10, "main")


def test_a_logger_that_was_given_it_line_by_line_stands_before_every_line() -> None:
    body = [
        "Traceback (most recent call last):",
        '  File "/srv/train.py", line 31, in main',
        "    raise ValueError('no rows')",
        "ValueError: no rows",
    ]
    text = "".join(
        f"[2023-01-02 03:04:05,{n:03}] [   ERROR] - * {line}\n" for n, line in enumerate(body)
    )
    (event,) = telling(facts_of(text))
    assert event.frame == Frame("/srv/train.py", 31, "main")
    assert event.text.endswith("ValueError: no rows")


def test_what_is_caught_right_below_the_end_of_a_thread_is_another_matter() -> None:
    head = "Traceback (most recent call last):\n"
    frame = '  File "t.py", line 3, in push\n    send()\n'
    text = (
        f"Exception in thread pusher:\n{head}{frame}LookupError: gone\n{head}{frame}KeyError: 1\n"
    )
    blocks = {event.text: event.block for event in facts_of(text).events if event.block}
    assert len(blocks) == len(set(blocks.values())) == 2


def test_lines_that_begin_with_one_space_are_no_message() -> None:
    step = " iteration        1/      22 | consumed samples: 4 | lm loss: 1.549662E+00 |\n"
    raised = (
        'Traceback (most recent call last):\n  File "t.py", line 3, in f\n    g()\nKeyError: 1\n'
    )
    facts = facts_of(raised + 3 * step)
    assert [event.last_line for event in facts.events if event.block] == [4]
    assert [progress.step for progress in facts.progress] == [1, 1, 1]


@pytest.mark.parametrize(
    "first_word",
    [
        "grep: warning: GREP_OPTIONS is deprecated; please use an alias or script",
        "WARNING: OMP_NUM_THREADS set to 8, not 1. It may be slow.",
    ],
)
def test_what_the_next_program_says_first_does_not_hide_what_ended_this_one(
    first_word: str,
) -> None:
    """An exception of the user's own, which no literal knows, and the next run in the same file."""
    facts = facts_of(
        f"""\
        Traceback (most recent call last):
          File "/srv/train.py", line 40, in <module>
            step(captured)
        NameError: name 'captured' is not defined
        {first_word}
        Namespace(lr=0.1)
        """
    )
    (event,) = telling(facts)
    assert (event.line, event.signature) == (4, "python.exception")
