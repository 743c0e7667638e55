"""Given code that a traceback quotes, when read, then its words are no messages."""

from __future__ import annotations

import pytest

from pdtriage.model import Event

from .builders import facts_of, telling

FULL = "No space left on device"


def only(text: str) -> Event:
    (event,) = telling(facts_of(text))
    return event


def test_strings_comments_and_markers_of_quoted_code() -> None:
    text = f"""\
        Traceback (most recent call last):
          File "train.py", line 40, in <module>
            train(on_error="CUDA error(2), out of memory")
            ~~~~~^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          File "train.py", line 31, in train
            rate = table["lr"]  # {FULL}
                   ~~~~~^^^^^^
        KeyError: 'lr'
        """
    assert only(text).text == "KeyError: 'lr'"
    assert len(telling(facts_of(text, piece=7))) == 1


def test_a_statement_over_several_lines() -> None:
    event = only(
        f"""\
        Traceback (most recent call last):
          File "train.py", line 40, in <module>
            report(
            ~~~~~~^
                "{FULL}",
                ^^^^^^^^^^^^^^^^^^^^^^^^^^
            ...<2 lines>...
                otherwise="CUDA error(2), out of memory",
            )
            ^
        KeyError: 'lr'
        """
    )
    assert event.text == "KeyError: 'lr'"


def test_what_is_raised_counts_where_it_is_said_not_where_it_is_coded() -> None:
    event = only(
        f"""\
        Traceback (most recent call last):
          File "train.py", line 9, in <module>
            raise OSError(28, "{FULL}")
        OSError: [Errno 28] {FULL}
        """
    )
    assert (event.line, event.category) == (4, "storage.disk")


@pytest.mark.parametrize("code", ["    save(model)\n", ""], ids=["code", "no code"])
def test_messages_below_the_exceptions_own_line_still_count(code: str) -> None:
    facts = facts_of(
        'Traceback (most recent call last):\n  File "io.pyx", line 9, in save\n'
        f"{code}Stopped: could not save\n    {FULL}\n"
    )
    (event,) = (event for event in telling(facts) if event.category == "storage.disk")
    assert event.text == FULL


def test_a_stack_without_a_header() -> None:
    event = only(
        f"""\
        Python Call Stacks (More useful to users):
          File "model.py", line 9, in forward
            check(x, "{FULL}")
        ----------------------
        Error Message Summary:
        ----------------------
        InvalidArgumentError: The shapes do not fit (at /paddle/phi/infermeta/unary.cc:100)
        """
    )
    assert event.line == 7


def test_members_of_a_group_have_a_margin() -> None:
    found = telling(
        facts_of(
            f"""\
              + Exception Group Traceback (most recent call last):
              |   File "train.py", line 4, in <module>
              |     raise ExceptionGroup("{FULL}", found)
              | ExceptionGroup: shards (1 sub-exception)
              +-+---------------- 1 ----------------
                | Traceback (most recent call last):
                |   File "train.py", line 2, in read
                |     read()  # {FULL}
                | KeyError: 'shard 4'
                +------------------------------------
            """
        )
    )
    assert [event.line for event in found if event.category == "storage.disk"] == []
    assert 9 in [event.line for event in found]


def test_writers_told_apart_by_a_prefix() -> None:
    texts = (
        (1, "Traceback (most recent call last):"),
        (3, "Traceback (most recent call last):"),
        (1, '  File "train.py", line 9, in <module>'),
        (3, '  File "train.py", line 9, in <module>'),
        (3, f"    save()  # {FULL}"),
        (3, f"OSError: [Errno 28] {FULL}"),
        (1, f"    save()  # {FULL}"),
        (1, "KeyError: 'lr'"),
    )
    raw = "".join(f"[1,{rank}]<stderr>:{text}\n" for rank, text in texts).encode()
    found = telling(facts_of(raw))
    assert {(event.line, event.writer) for event in found} == {(6, 3), (8, 1)}


def test_writers_that_nothing_tells_apart() -> None:
    found = telling(
        facts_of(
            f"""\
            Traceback (most recent call last):
              File "train.py", line 9, in <module>
            [rank 2] OSError: [Errno 28] {FULL}
                train(on_error="CUDA error(2), out of memory")
            KeyError: 'lr'
            """
        )
    )
    assert {event.line for event in found} == {3, 5}


def test_where_the_log_breaks_off_what_was_raised_is_a_hint() -> None:
    facts = facts_of(
        f"""\
        Traceback (most recent call last):
          File "train.py", line 9, in <module>
            save()  # CUDA error(2), out of memory
          File "train.py", line 5, in save
            raise OSError(28, "{FULL}")
        """
    )
    assert telling(facts) == []
    assert [(event.line, event.role) for event in facts.events] == [(5, "context")]
