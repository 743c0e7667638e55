"""Values of a log line in the texts of its signature."""

from __future__ import annotations

import random
import shlex
import string
import subprocess

import pytest

from pdtriage.knowledge.load import load_knowledge
from pdtriage.knowledge.signature import Case, Signature
from pdtriage.knowledge.slots import (
    fill_slots,
    general,
    general_steps,
    slots_in,
    steps_with,
    title_with,
)
from pdtriage.model import Text
from pdtriage.support.text_width import columns


def text(words: str) -> Text:
    return Text(words, words)


SIGNATURE = Signature(
    id="import.of-this-test",
    family="test",
    role="cause",
    category="code.import",
    title=text("a module is missing"),
    full_title=text("the module {module} is missing"),
    advice=(text("Run `pip install {module}`."), text("Look at {path}."), text("Ask somebody.")),
)


@pytest.mark.parametrize(
    ("message", "title"),
    [
        (
            "AssertionError: Input image size (96*96) does not match that of the model (224*224).",
            "Input image size (96*96) does not match that of the model (224*224).",
        ),
        (
            "RuntimeError: The checkpoint out/kitti is not empty! Set `resume: True`, or not",
            "RuntimeError: The checkpoint out/kitti is not empty!",
        ),
        (
            "ValueError: The value that was given does not fit the shape of the target: [512, 64], "
            "because its own is [513, 64]",
            "ValueError: The value that was given does not fit the shape of the target",
        ),
        (
            "ValueError: The shape of the value that was given must match that of its target: "
            "[512, 640, 640, 3]",
            "The shape of the value that was given must match that of its target",
        ),
        (
            "ValueError: (InvalidArgument) In operator matmul, the first dimension of the left "
            "matrix must equal the last dimension of the right one.",
            "In operator matmul, the first dimension of the left matrix must equal the last "
            "dimension of the right one.",
        ),
        (
            "FileNotFoundError: /mnt/storage/datasets/coco/train2017/all/instances.json is no file",
            "FileNotFoundError: …/instances.json is no file",
        ),
        (
            "ValueError: (InvalidArgument) The shape of a value is to be as of a target [2, 3].",
            "The shape of a value is to be as of a target [2, 3].",
        ),
    ],
)
def test_a_message_loses_what_says_least(message: str, title: str) -> None:
    signature = SIGNATURE._replace(full_title=text("{message}"))
    assert title_with(signature, {"message": message}).en == title


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("31.502197MB", "31.5 MB"),
        ("504.000244MB", "504 MB"),
        ("25600000000", "23.8 GiB"),
        ("37888 bytes", "37.0 KiB"),
        ("23.8 GiB", "23.8 GiB"),
    ],
)
def test_sizes_are_said_as_people_say_them(value: str, said: str) -> None:
    signature = SIGNATURE._replace(full_title=text("no room for {bytes}"))
    assert title_with(signature, {"bytes": value}) == text(f"no room for {said}")


def test_a_title_has_a_whole_path_where_there_is_room() -> None:
    path = "/home/user/.cache/paddle/to_static_tmp/880142"
    assert title_with(SIGNATURE, {"module": path}) == text(f"the module {path} is missing")


def test_a_value_stands_in_the_text() -> None:
    assert fill_slots(text("missing: {module}"), {"module": "cv2"}) == text("missing: cv2")
    assert slots_in(text("{a} {b_c} {D} {e: f}")) == {"a", "b_c"}


def test_a_page_about_no_log_names_the_slot() -> None:
    assert general(text("`pip install {module}`")) == text("`pip install <module>`")


def test_a_step_whose_value_is_missing_falls_away() -> None:
    steps = steps_with(SIGNATURE, {"module": "cv2"})
    assert steps == (text("Run `pip install cv2`."), text("Ask somebody."))


def test_a_step_stands_in_for_the_one_above_it() -> None:
    signature = SIGNATURE._replace(instead=(1,))
    look = text("Look at x.bin.")
    assert steps_with(signature, {"path": "x.bin"})[0] == look
    one = steps_with(signature, {"module": "cv2", "path": "x.bin"})
    assert one == (text("Run `pip install cv2`."), text("Ask somebody."))
    assert [step.en for step in general_steps(signature)] == [
        "Run `pip install <module>`.",
        "Ask somebody.",
    ]


def test_so_does_one_of_a_case() -> None:
    case = Case("signal 15", (text("Look at {path}."), text("Look at it."), text("Ask.")), (1,))
    signature = SIGNATURE._replace(cases=(case,))
    known = steps_with(signature, {"path": "x.bin"}, "signal 15")
    assert known == (text("Look at x.bin."), text("Ask."))
    assert steps_with(signature, {}, "signal 15") == (text("Look at it."), text("Ask."))


def test_no_answer_gives_the_same_step_twice() -> None:
    """With all values known, a step that does without them is not given beside the one with."""
    for signature in load_knowledge().signatures.values():
        slots = slots_in(*signature.advice)
        steps = steps_with(signature, dict.fromkeys(slots, "7"), "")
        beginnings = [" ".join(step.en.split()[:5]) for step in steps]
        assert len(set(beginnings)) == len(beginnings), (signature.id, beginnings)


def test_a_title_without_its_value_is_the_general_one() -> None:
    assert title_with(SIGNATURE, {"module": "cv2"}) == text("the module cv2 is missing")
    assert title_with(SIGNATURE, {}) == SIGNATURE.title


def test_a_title_stays_within_a_line() -> None:
    for length in range(1, 200):
        title = title_with(SIGNATURE, {"module": "m" * length})
        assert columns(title.en) <= 78
        assert title.en.endswith("is missing")


def test_of_a_long_path_a_title_shows_the_end() -> None:
    path = "/mnt/" + "deep/" * 20 + "part-017.bin"
    assert title_with(SIGNATURE, {"module": path}) == text("the module …/part-017.bin is missing")


@pytest.mark.parametrize("value", ["", "   ", "a\nb", "a\x1b[31m", "a`id`b", "x" * 301, "a\u202eb"])
def test_what_is_no_plain_value_is_not_shown(value: str) -> None:
    assert fill_slots(text("see {path}"), {"path": value}) is None


@pytest.mark.parametrize("value", ["-rf", "--help"])
def test_a_value_is_no_option(value: str) -> None:
    assert fill_slots(text("`rm {path}`"), {"path": value}) is None
    assert fill_slots(text("see {path}"), {"path": value}) == text(f"see {value}")


def test_within_quotes_only_harmless_values() -> None:
    step = text("""`python -c 'open("{path}")'`""")
    assert fill_slots(step, {"path": "/mnt/x/part-017.bin"}) is not None
    for value in ("a'b", 'a"b', "a b", "$(id)", "a;b", "a\\b", "é"):
        assert fill_slots(step, {"path": value}) is None


def test_a_shell_takes_a_value_for_nothing_else() -> None:
    """Whatever a log says, the pasted command has the words it was written with."""
    draw = random.Random(7)
    letters = string.printable.strip() + " é模'\"$;&|<>(){}*?~!#\\\\"
    for _ in range(300):
        value = "".join(draw.choices(letters, k=draw.randint(1, 12)))
        step = fill_slots(text("`printf %s {path}`"), {"path": value})
        if step is not None:
            assert shlex.split(step.en.strip("`")) == ["printf", "%s", value.strip()]


def test_a_real_shell_agrees() -> None:
    value = 'it\'s $HOME; "$(id)" é'
    step = fill_slots(text("`printf %s {path}`"), {"path": value})
    assert step is not None
    command = step.en.strip("`")
    shown = subprocess.run(["sh", "-c", command], capture_output=True, check=True, text=True)
    assert shown.stdout == value


def test_the_answer_names_the_module() -> None:
    knowledge = load_knowledge()
    signature = knowledge.signatures["import.module-not-found"]
    values = {"module": "paddlenlp.trainer", "package": "paddlenlp"}
    assert (
        title_with(signature, values).en == "The Python module paddlenlp.trainer is not installed"
    )
    assert "`python -m pip install paddlenlp`" in steps_with(signature, values)[0].zh


@pytest.mark.parametrize(
    "message",
    [
        "x" * 10_000,
        "E: " + "word " * 3000,
        "a\x1b[31mb\u202ec\nd `id` $(id)",
        "路径 " * 400,
        "",
        "| ",
    ],
)
def test_whatever_a_message_is_its_title_is_one_plain_line(message: str) -> None:
    signature = SIGNATURE._replace(full_title=text("{message}"))
    title = title_with(signature, {"message": message})
    assert title.en
    assert title.en.isprintable()
    assert "`" not in title.en
    assert columns(title.en) <= 78


def test_an_exception_gets_the_advice_of_its_class() -> None:
    signature = load_knowledge().signatures["python.exception"]
    message = "FileNotFoundError: [Errno 2] No such file or directory: '/mnt/x y/$(id)'"
    steps = steps_with(signature, {"message": message, "code": "train.py:3"}, message)
    assert "`ls -ld '/mnt/x y/$(id)'`" in steps[0].en
    assert "`ls -ld '/mnt/x y/$(id)'`" in steps[0].zh
    other = steps_with(signature, {"code": "train.py:3"}, "MyOwnError: no")
    assert other[0] == Text(
        "Open train.py:3: it raised this.", "打开 train.py:3，异常由这一行抛出。"
    )


@pytest.mark.parametrize(
    ("message", "first"),
    [
        ("KeyError: 'LOCAL_RANK'", "PADDLE_RANK_IN_NODE for LOCAL_RANK"),
        ("KeyError: 'POD_IP'", "`env | grep POD_IP`"),
        ("KeyError: 'label'", "Print the keys"),
        ("AttributeError: 'DataParallel' object has no attribute 'module'", "write model._layers;"),
        ("AttributeError: 'DataParallel' object has no attribute 'neck'", "model._layers.neck"),
        ("ValueError: Default process group has not been initialized", "paddle.distributed"),
        ("RuntimeError: The folder out/run-1/ is not empty", "`mv out/run-1 out/run-1.old`"),
        ("Exception: No video found in data/clips", "`ls -la data/clips | head`"),
        ("RuntimeError: No checkpoint was found", "Open train.py:3"),
    ],
)
def test_the_first_step_is_for_that_message(message: str, first: str) -> None:
    signature = load_knowledge().signatures["python.exception"]
    values = {"message": message, "code": "train.py:3", "script": "train.py"}
    assert first in steps_with(signature, values, message)[0].en


@pytest.mark.parametrize(
    ("module", "package"), [("cv2", "opencv-python-headless"), ("yaml", "pyyaml"), ("x1", "x1")]
)
def test_a_package_is_installed_by_its_own_name(module: str, package: str) -> None:
    signature = load_knowledge().signatures["import.module-not-found"]
    values = {"module": module, "package": module}
    assert f"`python -m pip install {package}`" in steps_with(signature, values)[0].en
    assert module in title_with(signature, values).en
