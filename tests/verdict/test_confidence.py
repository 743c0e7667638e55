"""Given a sure rank, then the cause is proven only where words say what happened."""

from __future__ import annotations

import pytest

from pdtriage.knowledge import load_knowledge
from pdtriage.model import Cause

from .builders import DISK, STEPS, death, judged, lost, recorded, summary, waited

PADDLE = "/opt/py/lib/python3.9/site-packages/paddle"
POD_FAILED = "LAUNCH INFO 2023-01-02 03:04:05,006 Pod failed\n"
ENDED = "double free or corruption (!prev)\n"


def raised(*frames: str, error: str) -> str:
    """A traceback through `frames`, each `FILE in FUNCTION`, the last of which raised `error`."""
    lines = ["Traceback (most recent call last):"]
    for frame in frames:
        file, _, function = frame.partition(" in ")
        lines += [f'  File "{file}", line 7, in {function}', "    step()"]
    return "\n".join([*lines, error, ""])


FULL = raised("t.py in <module>", error="OSError: [Errno 28] No space left on device")
OWN = raised("train.py in <module>", "net.py in forward", error="KeyError: 'w'")


def cause_of(*texts: str) -> Cause:
    return judged(*texts).causes[0]


@pytest.mark.parametrize(
    ("text", "category"),
    [
        (OWN, "code.python"),
        (
            raised("train.py in <module>", error="ModuleNotFoundError: No module named 'x'"),
            "code.import",
        ),
        (FULL, "storage.disk"),
        (
            raised(
                "train.py in <module>",
                f"{PADDLE}/io/dataloader/fetcher.py in fetch",
                "data.py in __getitem__",
                error="OSError: [Errno 5] Input/output error: '/data/7.jpg'",
            ),
            "data.io",
        ),
    ],
)
def test_words_that_say_what_happened_prove_it(text: str, category: str) -> None:
    for texts in [(text,), (text, text)]:
        cause = cause_of(*texts)
        assert (cause.category, cause.confidence) == (category, "proven")


@pytest.mark.parametrize(
    ("text", "category"),
    [
        (  # by the frames of the loader
            raised(
                f"{PADDLE}/io/dataloader/fetcher.py in fetch",
                "pairs.py in __getitem__",
                error="KeyError: 'q-118'",
            ),
            "data.worker",
        ),
        (  # by the name of a function
            raised(f"{PADDLE}/x.py in load_state_dict", error="KeyError: 'w'"),
            "checkpoint",
        ),
        (  # by nothing but the name of a class
            raised("train.py in main", f"{PADDLE}/x.py in __init__", error="ValueError: '0'"),
            "code.python",
        ),
        (
            raised("train.py in main", error="SystemError: (Fatal) DataLoader process (pid 9) "
                   "exited is killed by signal: Killed."),
            "memory.host",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("console", ["", POD_FAILED], ids=["unseen", "seen"])
def test_where_something_was_said_is_likely_at_most(text: str, category: str, console: str) -> None:
    """Also where somebody saw that the job failed, and so who it was is sure."""
    for texts in [(text,), (text, text)]:
        cause = judged(*texts, console=console).causes[0]
        assert (cause.category, cause.confidence) == (category, "likely")


def test_what_was_only_printed_last_may_be_harmless() -> None:
    """A handler printed it, and nobody saw how the processes ended."""
    assert cause_of(DISK, DISK).confidence == "likely"
    assert judged(DISK, DISK, console=POD_FAILED).causes[0].confidence == "proven"


def test_a_folder_alone_makes_no_data_error() -> None:
    text = raised(
        "tools/train.py in <module>",
        "/w/ppocr/data/__init__.py in <module>",
        f"{PADDLE}/fluid/dygraph/parallel.py in __init__",
        error="""ValueError: invalid literal for int() with base 10: "'0'\"""",
    )
    assert not cause_of(text).category.startswith("data")


def test_a_path_that_does_not_exist_is_no_malformed_annotation() -> None:
    text = raised(
        "/w/ppcls/data/dataloader/imagenet_dataset.py in _load_anno",
        error="AssertionError: depth map /data/8.png does not exist.",
    )
    assert cause_of(text, text).category == "data.io"


def test_another_line_of_the_rank_may_state_what_a_frame_suggests() -> None:
    worker = "ValueError: DataLoader worker(1) caught ValueError with message:\n" + raised(
        f"{PADDLE}/io/dataloader/worker.py in _worker_loop", "t.py in read", error="ValueError: big"
    )
    assert judged(worker, console=POD_FAILED).causes[0].confidence == "proven"


def test_what_came_after_the_end_of_a_process_is_of_a_later_one() -> None:
    assert cause_of(ENDED).confidence == "proven"
    assert cause_of(ENDED + OWN).confidence == "likely"


def test_what_came_before_it_speaks_against_it() -> None:
    assert cause_of(FULL, FULL).confidence == "proven"
    after = waited("-1") + FULL
    assert (cause_of(after, after).category, cause_of(after, after).confidence) == (
        "storage.disk",
        "likely",
    )


def test_no_signature_that_asks_only_for_a_place_states_a_cause() -> None:
    by_place = [
        signature.id
        for signature in load_knowledge().signatures.values()
        if signature.trigger == "traceback" and signature.stack and "states-cause" in signature.says
    ]
    assert not by_place


def test_of_three_that_disagree_the_one_that_complains_need_not_be_the_odd_one() -> None:
    size = "  what():  [enforce fail at /paddle/gloo/pair.cc:495] op.preamble.length <= op.nbytes. "
    complains = "epoch 0 step 0 loss 1.5\n" + size + "512 vs 256\n"
    quiet = "epoch 0 step 0 loss 1.5\n"
    assert cause_of(complains, quiet, quiet).confidence == "guess"
    assert cause_of(complains, complains, complains).confidence == "guess"
    assert cause_of(complains, quiet).confidence != "guess"
    # but where all others were sent the same, it is the one that sent it
    odd = [(c.rank, c.category, c.confidence) for c in judged(complains, quiet, complains).causes]
    assert odd == [(1, "config.rank", "guess")]
    other = complains.replace("512 vs", "128 vs")
    assert cause_of(complains, quiet, other).rank != 1
    # or, where several do not complain, the one from which broadcasts come
    odd = [(c.rank, c.ranks) for c in judged(quiet, complains, complains, quiet).causes]
    assert odd == [(0, (0,))]
    assert cause_of(complains, complains, quiet, quiet).ranks == (0, 1)


def test_what_is_older_than_the_launch_is_not_proven() -> None:
    """The newer run left nothing with a time in the logs; an error of the one before is there."""
    console = (
        "LAUNCH INFO 2024-01-02 03:{}:01,378 Run Pod: pod, replicas 1, status ready\n"
        "LAUNCH INFO 2024-01-02 03:{}:09,997 Pod failed\n"
    )
    text = "2024-01-02 03:04:05,000 step 1 loss 0.5\n" + FULL
    assert judged(text, console=console.format("04", "04")).causes[0].confidence == "proven"
    assert judged(text, console=console.format("14", "14")).causes[0].confidence != "proven"


@pytest.mark.parametrize(
    ("behind", "code", "confidence"),
    [("", 1, "proven"), ("", 3, "likely"), ("one more batch, and another\n", 1, "likely")],
    ids=["its last word", "another code", "more was said"],
)
def test_a_thread_that_died_need_not_have_ended_its_process(
    behind: str, code: int, confidence: str
) -> None:
    died = raised("threading.py in run", "t.py in push", error="LookupError: no gateway")
    text = f"ready\nException in thread pusher:\n{died}{behind}"
    deaths = (death(0, 0, code, None), death(1, 1, None, 15)._replace(stopped=True))
    found = judged(text, "ready\n", records=[recorded(*deaths)])
    assert (found.causes[0].rank, found.causes[0].confidence) == (0, confidence)


@pytest.mark.parametrize("kept", ["the whole", "up to the traceback", "up to the block's head"])
def test_where_a_log_breaks_off_nothing_is_proven(kept: str) -> None:
    """Another run may have followed, of which the missing end would tell."""
    block = f"{lost(1, 0)}{summary(71, 71)}"
    cut = {"the whole": block, "up to the traceback": OWN.rpartition("\n")[0].rpartition("\n")[0]}
    text = cut.get(kept, block.partition("FatalError")[0])
    cause = judged(OWN, STEPS + text, STEPS + lost(2, 0)).causes[0]
    assert (cause.rank, cause.confidence == "proven") == (0, kept == "the whole")
    seen = judged(OWN, STEPS + text, STEPS + lost(2, 0), console=POD_FAILED).causes[0]
    assert (seen.rank, seen.confidence) == (0, "proven")
