"""Names and beginnings, and what they are taken for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdtriage.sources import find
from pdtriage.sources.find.recognise import archive_by_name, recognise
from tests.sources.builders import TRACEBACK


@pytest.mark.parametrize(
    ("name", "kind", "index"),
    [
        ("workerlog.0", "worker", 0),
        ("workerlog.127", "worker", 127),
        ("workerlog.3.txt", "worker", 3),
        ("WORKERLOG.3.LOG", "worker", 3),
        ("workerlog.0.2.gz", "worker", 0),
        ("workerlog.0-20240101", "worker", 0),
        ("workerlog.n0.c3", "worker", 3),
        ("workerlog.n1.c3.log.1.gz", "worker", 3),
        ("serverlog.1", "server", 1),
        ("heterlog.1", "heter", 1),
        ("coordinator.0", "coordinator", 0),
        ("envlog.5", "env", 5),
        ("backup_env.12.json", "backup_env", 12),
        ("endpoints.log", "endpoints", None),
        ("dmesg", "kernel", None),
        ("dmesg.1", "kernel", None),
        ("node3-dmesg.txt", "kernel", None),
        ("kern.log.2.gz", "kernel", None),
        ("node3-ncclras.txt", "ras", None),
    ],
)
def test_names_that_settle_it(name: str, kind: str, index: int | None) -> None:
    told = recognise(name, b"whatever it holds")
    assert told is not None
    assert (told.kind, told.index) == (kind, index)


def test_logs_that_name_their_node_are_of_nodes_of_their_own(tmp_path: Path) -> None:
    for name in ("n0.c0", "n0.c1", "n1.c0", "n1.c1"):
        (tmp_path / f"workerlog.{name}").write_text("epoch: 1, step: 20, loss: 0.31\n")
    found = [source.file for source in find([tmp_path]).sources]
    assert [file.index for file in found] == [0, 1, 0, 1]
    folders = [file.folder for file in found]
    assert folders[0] == folders[1] != folders[2] == folders[3]


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"environ({'A': 'b'})\n[{'name': 'x'}]", "pod"),
        (b"[{'name': 'abcdef', 'rank': -1, 'endpoints': '10.0.0.1:1'}]", "pod"),
        (b"PADDLE_TRAINER_ENDPOINTS: \n1.2.3.4:6070", "endpoints"),
        (
            b"$ ncclras -v\nNCCL version 2.28.3 compiled with CUDA 12.9\n\nJob summary\n====\n",
            "ras",
        ),
        (b"index,uuid,driver_version,name\n0,GPU-1,535\n", "gpu"),
        (b'{\n "PADDLE_TRAINER_ID": "0"}', "backup_env"),
        (b"HOME=/x\nPADDLE_RANK_IN_NODE=0\nPATH=/bin\n", "env"),
        (b"[Mon Jan  1 00:00:00 2024] NVRM: Xid (PCI:0000:3b:00): 79\n", "kernel"),
        (b"Jan  1 00:00:00 host kernel: [ 1.0] python[12]: segfault at 0 ip\n", "kernel"),
        (b"LAUNCH INFO 2024-01-01 00:00:00,000 Job: default, mode collective\n", "console"),
        (b"-----------  Configuration Arguments -----------\n", "console"),
        (
            b"x\nINFO 2021-01-01 00:00:00,000 launch_utils.py:327] terminate all the procs",
            "console",
        ),
        (b"\xef\xbb\xbf" + TRACEBACK, "console"),
        (b"\0\0\0\0" + TRACEBACK, "console"),
        (b"I0101 00:00:00.123456   42 init.cc:97] Before Parse\n", "console"),
        (b"2024-01-01T00:00:00.0000000Z " + TRACEBACK, "console"),
        (b"[2024/01/01 00:00:00] ppcls INFO: start\n", "console"),
        (b"/opt/py/bin/python: can't open file 'train.py': [Errno 2] No such file\n", "console"),
        (b"epoch: 1, step: 20, loss: 0.31\n", "console"),
        (b"Pass 0, Batch 100, Cost 0.693147, {}\n", "console"),
        (b"t=2017-10-28T07:31:09+0000 lvl=eror msg=x\n", "console"),
        (b"[1,12]<stderr>:+ python train.py\n", "console"),
    ],
)
def test_beginnings_that_tell(head: bytes, kind: str) -> None:
    told = recognise("some.txt", head)
    assert told is not None
    assert told.kind == kind


@pytest.mark.parametrize("name", ["console.log", "nohup.out", "stdout", "slurm-42.out", "stderr.0"])
def test_captured_output_is_meant_whatever_it_says(name: str) -> None:
    told = recognise(name, "随便什么文字\n".encode())
    assert told is not None
    assert told.kind == "console"
    assert recognise(name, bytes(range(256)) * 10) is None


@pytest.mark.parametrize(
    "name",
    ["train.py", "run.sh", "label.json", "mtimes.json", "model.pdparams", "a.jpg", "README.md",
     "console.py", "dmesg_parser.py", "x.gz", "envlog.init.0"],
)  # fmt: skip
def test_other_files_are_left_alone_even_if_they_speak_of_failures(name: str) -> None:
    assert recognise(name, TRACEBACK) is None
    assert recognise(name, TRACEBACK, asked=True) is not None


@pytest.mark.parametrize(
    "name", ["train.log", "run1", "train_0", "x.txt", "job.o123", "job.e7", "a.err", "log.txt.1"]
)
def test_likely_names_need_a_known_content(name: str) -> None:
    assert recognise(name, TRACEBACK) is not None
    assert recognise(name, b"cat\ndog\n") is None


def test_archives_by_name() -> None:
    for name in ("a.tar", "a.tgz", "A.TAR.GZ", "a.tar.zst", "a.tar.xz", "a.tar.bz2"):
        assert archive_by_name(name) == "tar"
    assert archive_by_name("logs.zip") == "zip"
    assert archive_by_name("logs.7z") == "foreign"
    assert archive_by_name("workerlog.0.gz") is None
