"""Given log folders of one or many nodes, when assembled, then every log has its owner."""

from __future__ import annotations

import pytest

from pdtriage.model import RunFacts
from pdtriage.runs.numbering import host_of

from .builders import environment, runs_of

TWO_HOSTS = "10.0.0.1:1,10.0.0.1:2,10.0.0.2:1,10.0.0.2:2"
STEP = "epoch 0 step 1 loss 0.5\n"


def owners(run: RunFacts) -> dict[str, tuple[int | None, str | None]]:
    return {file: (r.rank, r.host) for r in run.ranks for file in r.files}


def test_the_first_log_of_the_second_node_is_not_rank_0() -> None:
    (run,) = runs_of(
        {
            f"node{node}/log/{name}.{local}": text
            for node in (0, 1)
            for local in (0, 1)
            for name, text in (
                ("workerlog", STEP),
                ("envlog", environment(2 * node + local, 4, f"pod{node}", TWO_HOSTS, local)),
            )
        }
    )
    assert owners(run) == {
        "node0/log/workerlog.0": (0, "10.0.0.1"),
        "node0/log/workerlog.1": (1, "10.0.0.1"),
        "node1/log/workerlog.0": (2, "10.0.0.2"),
        "node1/log/workerlog.1": (3, "10.0.0.2"),
    }
    assert run.world_size == 4


def test_a_rank_without_a_log_is_known_by_its_endpoint() -> None:
    (run,) = runs_of(
        {
            "log/workerlog.0": STEP,
            "log/envlog.0": environment(0, 4, "pod", TWO_HOSTS),
        }
    )
    unseen = {r.rank: r.host for r in run.ranks if not r.files}
    assert unseen == {1: "10.0.0.1", 2: "10.0.0.2", 3: "10.0.0.2"}


def test_endpoints_of_one_host_place_the_ranks_of_a_legacy_job() -> None:
    (run,) = runs_of(
        {
            "log/workerlog.0": STEP,
            "log/workerlog.1": STEP,
            "log/endpoints.log": "PADDLE_TRAINER_ENDPOINTS: \n10.0.0.1:1\n10.0.0.1:2",
        }
    )
    assert owners(run)["log/workerlog.1"] == (1, "10.0.0.1")


def test_endpoints_of_two_hosts_do_not_say_which_node_this_is() -> None:
    (run,) = runs_of(
        {
            "log/workerlog.0": STEP,
            "log/workerlog.1": STEP,
            "log/endpoints.log": "PADDLE_TRAINER_ENDPOINTS: \n" + TWO_HOSTS.replace(",", "\n"),
        }
    )
    assert owners(run)["log/workerlog.0"] == (None, None)
    assert "of 10.0.0.1 (ranks 0-1) or of 10.0.0.2 (ranks 2-3)" in run.notes[0].en


def test_a_rank_that_names_itself_places_its_whole_node() -> None:
    lost = (
        "what():  [/paddle/gloo/pair.cc:584] TIMEOUT self_rank = 3 pair_rank = 0 "
        "peer_str = [10.0.0.1]:4\n"
    )
    (run,) = runs_of(
        {
            "log/workerlog.0": STEP,
            "log/workerlog.1": STEP + lost,
            "log/endpoints.log": "PADDLE_TRAINER_ENDPOINTS: \n" + TWO_HOSTS.replace(",", "\n"),
        }
    )
    assert owners(run) == {
        "log/workerlog.0": (2, "10.0.0.2"),
        "log/workerlog.1": (3, "10.0.0.2"),
    }


def test_servers_and_trainers_have_numbers_of_their_own() -> None:
    server = (
        "PADDLE_PORT=5\nPADDLE_PSERVERS_IP_PORT_LIST=10.0.0.1:5\nPOD_IP=10.0.0.1\nPOD_NAME=p\n"
        "TRAINING_ROLE=PSERVER\n"
    )
    trainer = "PADDLE_TRAINER_ID=0\nPOD_IP=10.0.0.1\nPOD_NAME=p\nTRAINING_ROLE=TRAINER\n"
    (run,) = runs_of(
        {
            "log/serverlog.0": STEP,
            "log/workerlog.0": STEP,
            "log/envlog.0": server,
            "log/envlog.1": trainer,
        }
    )
    assert {(r.role, r.rank) for r in run.ranks if r.files} == {("server", 0), ("worker", 0)}
    assert run.mode == "ps"


def test_what_the_console_says_of_a_failed_process_goes_by_the_path() -> None:
    (run,) = runs_of(
        {
            "log/serverlog.0": STEP,
            "log/workerlog.0": STEP,
            "console.log": """\
            LAUNCH INFO 2023-01-02 03:04:05,006 Job: a, mode ps, replicas 1[1:1], elastic False
            LAUNCH ERROR 2023-01-02 03:04:05,006 Container failed !!!
            Container rank 1 status failed cmd ['python', '-u', 't.py'] code 3 log log/workerlog.0
            """,
        }
    )
    failed = [(r.role, r.exit.code) for r in run.ranks if r.exit]
    assert failed == [("worker", 3)]


def test_words_streamed_before_are_of_the_rank_whose_log_the_launcher_shows() -> None:
    (run,) = runs_of(
        {
            "console.log": """\
            LAUNCH INFO 2023-01-02 03:04:05,006 Job: a, mode collective, replicas 1[1:1]
            OSError: (External) NCCL error(2), unhandled system error.
            LAUNCH ERROR 2023-01-02 03:04:05,006 Container failed !!!
            Container rank 1 status failed cmd ['python', '-u', 't.py'] code 1 log log/workerlog.1
            LAUNCH INFO 2023-01-02 03:04:06,006 ---------- ERROR LOG DETAIL ----------
            OSError: (External) NCCL error(2), unhandled system error.
            """,
        }
    )
    said = {r.rank for r in run.ranks for _, e in r.events if e.signature == "comm.nccl-system"}
    assert said == {1}


def test_a_rank_that_contradicts_its_environment_is_noted() -> None:
    lost = "what():  [/gloo/pair.cc:584] TIMEOUT self_rank = 3 pair_rank = 0 peer_str = none\n"
    (run,) = runs_of(
        {
            "log/workerlog.0": STEP + lost,
            "log/envlog.0": environment(1, 4, "pod", TWO_HOSTS),
        }
    )
    assert owners(run)["log/workerlog.0"] == (1, "10.0.0.1")
    assert any("rank 1, its messages say 3" in note.en for note in run.notes)


@pytest.mark.parametrize(
    ("endpoint", "host"),
    [
        ("10.0.0.1:6170", "10.0.0.1"),
        ("[fe80::7]:6170", "fe80::7"),
        ("trainer-7:http", "trainer-7:http"),
        ("trainer-7", "trainer-7"),
        ("6170", "6170"),
        (":6170", None),
        ("", None),
        (None, None),
    ],
)
def test_the_host_of_an_endpoint_is_what_stands_before_the_port(
    endpoint: str | None, host: str | None
) -> None:
    assert host_of(endpoint) == host
