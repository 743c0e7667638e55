"""Given what consoles and processes say of themselves, when assembled, then ranks are placed."""

from __future__ import annotations

import pytest

from .builders import runs_of
from .test_ranks import STEP, owners

CONFIGURED = (
    "LAUNCH INFO 2023-04-02 10:00:00,101 -----------  Configuration  ----------------------\n"
    "LAUNCH INFO 2023-04-02 10:00:00,101 nnodes: 2\n"
    "{rank}"
    "LAUNCH INFO 2023-04-02 10:00:00,101 --------------------------------------------------\n"
    "LAUNCH INFO 2023-04-02 10:00:03,340 Run Pod: second, replicas 2, status ready\n"
    "LAUNCH ERROR 2023-04-02 10:20:31,067 Container failed !!!\n"
    "Container rank 1 status failed cmd ['python', '-u', 'train.py'] code -11 log log/workerlog.1\n"
    "{environment}"
)
NUMBERED = "LAUNCH INFO 2023-04-02 10:00:00,101 rank: 1\n"
SHOWN = (
    "env {'PADDLE_GLOBAL_SIZE': '4', 'PADDLE_LOCAL_SIZE': '2', 'PADDLE_GLOBAL_RANK': '3', "
    "'PADDLE_LOCAL_RANK': '1', 'PADDLE_NNODES': '2'}\n"
)


@pytest.mark.parametrize(
    ("rank", "environment", "expected"),
    [("", SHOWN, {2, 3}), (NUMBERED, "", {2, 3}), ("", "", {None})],
)
def test_the_console_of_the_second_node_places_its_processes(
    rank: str, environment: str, expected: set[int | None]
) -> None:
    console = CONFIGURED.format(rank=rank, environment=environment)
    (run,) = runs_of({"console.log": console, "log/workerlog.0": STEP})
    assert {r.rank for r in run.ranks if r.files or r.exit} == expected


def test_a_process_that_tells_its_rank_places_its_node() -> None:
    told = (
        "I0303 17:47:30.625275 97 nccl_context.cc:189] init nccl context nranks: 4 local rank: 2 "
        "gpu id: 0 ring id: 0\n"
    )
    (run,) = runs_of({"log/workerlog.0": told + STEP, "log/workerlog.1": STEP})
    assert owners(run) == {"log/workerlog.0": (2, None), "log/workerlog.1": (3, None)}


def test_a_folder_called_by_the_address_of_its_node_places_it() -> None:
    endpoints = "PADDLE_TRAINER_ENDPOINTS: \n10.0.0.1:1\n10.0.0.1:2\n10.0.0.2:1\n10.0.0.2:2\n"
    files = {}
    for host in ("10.0.0.1", "10.0.0.2"):
        files[f"{host}/log/endpoints.log"] = endpoints
        files[f"{host}/log/workerlog.0"] = files[f"{host}/log/workerlog.1"] = STEP
    (run,) = runs_of(files)
    assert {name: rank for name, (rank, _) in owners(run).items()} == {
        "10.0.0.1/log/workerlog.0": 0,
        "10.0.0.1/log/workerlog.1": 1,
        "10.0.0.2/log/workerlog.0": 2,
        "10.0.0.2/log/workerlog.1": 3,
    }
