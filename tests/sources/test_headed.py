"""Several logs in one text, each below its name, as `tail` prints them, or with ranks in lines."""

from __future__ import annotations

import time
from itertools import zip_longest
from pathlib import Path

import pytest

import pdtriage
from pdtriage.sources import Limits, find

from .builders import TRACEBACK, content, paths

TEXT = (
    b"==> log/workerlog.0 <==\nstep 1\n\n==> log/workerlog.1 <==\n" + TRACEBACK + b"\n"
    b"==> log/workerlog.0 <==\nstep 2\n"
)


@pytest.mark.parametrize("name", ["all.txt", "mail"])
def test_each_is_a_log_of_its_own(tmp_path: Path, name: str) -> None:
    text = tmp_path / name
    text.write_bytes(TEXT)

    found = find([text])

    assert paths(found) == [f"{name}/log/workerlog.0", f"{name}/log/workerlog.1"]
    assert [content(source) for source in found.sources] == [b"step 1\nstep 2\n", TRACEBACK]


def test_the_rank_is_known_by_the_name_above_its_words(tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_bytes(TEXT)
    cause = pdtriage.analyze(tmp_path).root_causes[0]
    assert cause.rank == 1
    assert cause.evidence[0].file.endswith("all.txt/log/workerlog.1")


def test_a_console_may_be_the_first_of_them(tmp_path: Path) -> None:
    text = tmp_path / "all.txt"
    text.write_bytes(b"==> node0/console.txt <==\nLAUNCH INFO 2024 x\n\n" + TEXT)
    names = ["log/workerlog.0", "log/workerlog.1", "node0/console.txt"]
    assert sorted(paths(find([text]))) == [f"all.txt/{name}" for name in names]


def test_names_of_other_files_make_no_logs(tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_bytes(TEXT.replace(b"workerlog", b"poem"))
    assert paths(find([tmp_path / "all.txt"])) == ["all.txt"]


def test_nothing_leads_out_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_bytes(TEXT.replace(b"log/", b"../../etc/"))
    assert paths(find([tmp_path / "all.txt"]))[0] == "all.txt/etc/workerlog.0"


def test_what_is_too_large_to_be_held_is_told(tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_bytes(TEXT)
    found = find([tmp_path / "all.txt"], limits=Limits(in_memory=20))
    assert not found.sources
    assert found.notes


def test_turns_without_end_cost_no_more_than_their_length(tmp_path: Path) -> None:
    def seconds(turns: int) -> float:
        text = tmp_path / f"{turns}.txt"
        line = "step 1 loss 0.5 " + "y" * 200
        text.write_text("".join(f"==> workerlog.{n % 2} <==\n{line}\n" for n in range(turns)))
        began = time.process_time()
        assert len(find([text]).sources) == 2
        return time.process_time() - began

    few = seconds(5_000)
    assert seconds(50_000) < 40 * max(few, 0.01)  # a copy of all for each turn: a hundred times


def test_names_without_end_are_read_up_to_the_limit(tmp_path: Path) -> None:
    text = tmp_path / "all.txt"
    text.write_text("".join(f"==> workerlog.{n} <==\nstep 1\n" for n in range(50)))
    found = find([text], limits=Limits(entries=20))
    assert len(found.sources) == 20
    assert any("all.txt" in note.en for note in found.notes)


def labelled(rank: int, log: bytes) -> bytes:
    return b"".join(b"[rank %d] %s\n" % (rank, line) for line in log.split(b"\n")[:-1])


def test_lines_that_name_their_rank_are_of_its_log(tmp_path: Path) -> None:
    text = tmp_path / "ranks.txt"
    text.write_bytes(labelled(0, b"step 1\n") + labelled(1, TRACEBACK) + labelled(0, b"step 2\n"))
    found = find([tmp_path])
    assert paths(found) == [f"{tmp_path.name}/ranks.txt/workerlog.{n}" for n in (0, 1)]
    assert [content(source) for source in found.sources] == [b"step 1\nstep 2\n", TRACEBACK]
    assert pdtriage.analyze(tmp_path).root_causes[0].rank == 1


def test_a_rank_that_labels_its_own_lines_is_no_file_of_several(tmp_path: Path) -> None:
    """It does not label what Python prints of its end; who labels all lines of one rank does."""
    name = tmp_path / "ranks.txt"
    name.write_bytes(labelled(0, 80 * b"step 1\n") + TRACEBACK)
    assert paths(find([name])) == ["ranks.txt"]
    name.write_bytes(labelled(0, 3 * b"step 1\n" + TRACEBACK))
    assert paths(find([name])) == ["ranks.txt/workerlog.0"]


LONG = b"step 1\n" + TRACEBACK.replace(b"OSError", b"ValueError")


@pytest.mark.parametrize(
    ("label", "names"),
    [
        (b"[pod/job-worker-%d/paddle] ", ["job-worker-0.log", "job-worker-1.log"]),  # kubectl logs
        (b"worker_%d  | ", ["worker_0.log", "worker_1.log"]),  # docker compose logs
        (b"gpu-node%d: ", ["gpu-node0.log", "gpu-node1.log"]),  # pdsh
        (b"[1,%d]<stderr>:", ["workerlog.0", "workerlog.1"]),  # mpirun --tag-output
        (b"[default%d]:", ["workerlog.0", "workerlog.1"]),  # torchrun
        (b"%d: ", ["workerlog.0", "workerlog.1"]),  # srun --label
    ],
    ids=["kubectl", "compose", "pdsh", "mpirun", "torchrun", "srun"],
)
def test_output_that_a_wrapper_labelled_is_taken_apart(
    tmp_path: Path, label: bytes, names: list[str]
) -> None:
    """Line by line in turns, with a progress bar that goes back to the beginning of its line."""
    logs = [b"10%\r20%\n" + TRACEBACK, LONG]
    turns = zip_longest(*[log.split(b"\n")[:-1] for log in logs])
    lines = [(rank, line) for turn in turns for rank, line in enumerate(turn) if line is not None]
    (tmp_path / "job.log").write_bytes(b"".join(label % n + line + b"\n" for n, line in lines))
    found = find([tmp_path])
    assert paths(found) == [f"{tmp_path.name}/job.log/{name}" for name in names]
    assert [content(source) for source in found.sources] == logs


def test_numbers_that_a_program_puts_before_its_lines_are_no_ranks(tmp_path: Path) -> None:
    steps = b"".join(b"%d: loss 0.%d\n" % (n, n) for n in range(30))
    for text in (steps, steps.replace(b":", b"-worker | x:"), steps + TRACEBACK):
        (tmp_path / "job.log").write_bytes(text)
        assert paths(find([tmp_path / "job.log"])) == ["job.log"]


def test_a_wrapper_with_words_of_its_own_is_read_as_it_is(tmp_path: Path) -> None:
    said = b"".join(b"[1,%d]<stderr>:step 1\n" % n for n in (0, 1))
    (tmp_path / "job.log").write_bytes(said + b"mpirun noticed that process rank 1 died\n")
    assert paths(find([tmp_path / "job.log"])) == ["job.log"]


def test_labelled_lines_that_cannot_be_held_are_read_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "ranks.txt").write_bytes(labelled(0, TRACEBACK) + labelled(1, TRACEBACK))
    found = find([tmp_path / "ranks.txt"], limits=Limits(in_memory=20))
    assert (paths(found), found.notes) == (["ranks.txt"], ())
