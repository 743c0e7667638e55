"""Given a launcher's side files and tables, when read, then launch facts come out, nothing else,
and damage costs no time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdtriage.model import FileKind, LogFile
from pdtriage.scan import side_facts
from pdtriage.scan.launcher_output import console_blocks

RULE = b"=" * 60
TABLE = b"\n".join(
    [
        b"    |        Distributed Envs                 Value                 |",
        b"    +" + b"-" * 60 + b"+",
        b"    |      PADDLE_TRAINER_ID                    0                  |\r",
        b"    |     PADDLE_TRAINERS_NUM                   2                  |",
        b"    |   PADDLE_CURRENT_ENDPOINT          127.0.0.1:6070            |",
        b"    +" + RULE + b"+",
    ]
)


def test_every_launch_appends_a_block() -> None:
    block = "AWS_SECRET_ACCESS_KEY=abc\nPADDLE_TRAINER_ID={}\nPATH=/bin\nPOD_NAME={}\n"
    text = block.format(1, "aaa") + block.format(1, "bbb")
    facts = side_facts(LogFile("envlog.1", "env", "log", 1), text.encode())
    assert [dict(b.values) for b in facts.environments] == [
        {"PADDLE_TRAINER_ID": "1", "POD_NAME": "aaa"},
        {"PADDLE_TRAINER_ID": "1", "POD_NAME": "bbb"},
    ]


def test_the_peers_of_a_pod() -> None:
    facts = side_facts(
        LogFile("default.aaa.log", "pod", "log"),
        b"environ({'TOKEN': 's3cret'})\n"
        b"[{'name': 'aaa', 'rank': 0, 'replicas': 2, 'endpoints': '10.0.0.1:1,10.0.0.1:2'}]\n",
    )
    assert facts.environments[0].values["endpoints"] == "10.0.0.1:1,10.0.0.1:2"
    assert "s3cret" not in repr(facts)


def test_endpoints_without_a_final_newline() -> None:
    facts = side_facts(
        LogFile("endpoints.log", "endpoints", "log"),
        b"PADDLE_TRAINER_ENDPOINTS: \n192.168.0.1:3128\n192.168.0.2:4215",
    )
    assert facts.endpoints == ("192.168.0.1:3128", "192.168.0.2:4215")


def test_damage_is_noted() -> None:
    facts = side_facts(LogFile("backup_env.0.json", "backup_env", "log", 0), b'{"PADDLE_')
    assert "damaged" in facts.notes[0].en


def test_a_value_the_table_cut_is_not_believed() -> None:
    (block,) = console_blocks(
        b"    |      Distributed Envs        Value      |\n"
        b"    +---------------------------------------------------------+\n"
        b"    |   PADDLE_TRAINER_ID                  4                  |\n"
        b"    |   PADDLE_TRAINER_ENDPOINTS   ... 0.1:11330,127.0.0.1:54803   |\n"
        b"    +=========================================================+\n"
    )
    assert dict(block.values) == {"PADDLE_TRAINER_ID": "4"}


@given(st.sampled_from(["env", "pod", "backup_env", "endpoints"]), st.binary(max_size=400))
def test_arbitrary_bytes_never_raise(kind: FileKind, raw: bytes) -> None:
    side_facts(LogFile("x", kind, "log", 0), raw)
    console_blocks(raw)


def test_the_rows_of_a_table() -> None:
    [block] = console_blocks(TABLE)
    assert dict(block.values) == {
        "PADDLE_TRAINER_ID": "0",
        "PADDLE_TRAINERS_NUM": "2",
        "PADDLE_CURRENT_ENDPOINT": "127.0.0.1:6070",
    }


@pytest.mark.parametrize("blank", [b"\n", b" ", b"\t", b" \n", b"\r", b"_", b"a_", b"a  ", b"-"])
@pytest.mark.parametrize("before", [b"", b"a_b  ", b"a_b  c"])
def test_a_page_of_nothing_costs_no_time(before: bytes, blank: bytes) -> None:
    began = time.process_time()
    console_blocks(b"Distributed Envs  Value\n" + before + blank * 4000 + b"|x\n")
    assert time.process_time() - began < 2
