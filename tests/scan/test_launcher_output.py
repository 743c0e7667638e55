"""Given a launcher's side files and tables, when read, then launch facts come out, nothing else,
and damage costs no time."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdtriage.model import FileKind, LogFile
from pdtriage.scan import launcher_output, side_facts
from pdtriage.scan.launcher_output import console_blocks
from pdtriage.scan.peer_list import peers_in

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


PLAIN = st.one_of(st.text(), st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False))


@given(st.lists(st.dictionaries(st.text(), PLAIN, max_size=6), min_size=1, max_size=4))
def test_peers_are_read_as_python_prints_them(peers: list[dict[str, object]]) -> None:
    assert list(peers_in(repr(peers))) == [
        {name: str(value) for name, value in peer.items()} for peer in peers
    ]


@pytest.mark.parametrize(
    "raw",
    [
        b"[{'a': " + b"[" * 7_000_000 + b"]" * 7_000_000 + b"}]",
        b"[{" + b"'a': 1, " * 1_000_000 + b"'b': 2}]",
        b"[{'a': '" + b"\\'" * 4_000_000 + b"'}]",
    ],
    ids=["nested", "long", "escapes"],
)
def test_a_list_of_pods_takes_no_more_memory_than_its_text(raw: bytes) -> None:
    tracemalloc.start()
    facts = side_facts(LogFile("default.aaa.log", "pod", "log"), raw)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "damaged" in facts.notes[0].en
    assert most < 8 * len(raw) + (100 << 20)


@pytest.mark.parametrize("raw", [b"[" + b"{}," * 30 + b"{}]", b"[{'name': 'a'}]\n" * 30])
def test_more_pods_than_any_job_has(raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher_output, "MOST_PEERS", 20)
    facts = side_facts(LogFile("default.aaa.log", "pod", "log"), raw)
    assert not facts.environments
    assert "damaged" in facts.notes[0].en


def test_numbers_that_nobody_counted_are_not_believed() -> None:
    nines = "9" * 5000
    facts = side_facts(
        LogFile("envlog.0", "env", "log", 0),
        f"PADDLE_TRAINER_ID={nines}\nPADDLE_TRAINERS_NUM=2\n".encode(),
    )
    assert [dict(b.values) for b in facts.environments] == [{"PADDLE_TRAINERS_NUM": "2"}]
    (block,) = console_blocks(TABLE.replace(b"2         ", b"2" * 5000))
    assert "PADDLE_TRAINERS_NUM" not in block.values
