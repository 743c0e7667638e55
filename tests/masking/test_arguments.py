"""Words of a command line lose their secrets, one by one; all other words stay as they were."""

from __future__ import annotations

import pytest

from pdtriage.launch.console.event_lines import invitation
from pdtriage.masking.secrets import masked_arguments, masked_value, masked_variable

DRAWN = "Zx9Qw3Er7Ty1Ui5Op2As8Df4"


def test_a_flag_tells_what_the_next_word_is() -> None:
    words = ["run", "--devices", "0,1", "t.py", "--password", "let me in", "-p", "8080", "--token"]
    assert masked_arguments([*words, DRAWN, "--lr", "1e-4"]) == (
        *("run", "--devices", "0,1", "t.py", "--password", "***", "-p", "8080", "--token"),
        *("***", "--lr", "1e-4"),
    )


def test_words_without_a_secret_stay() -> None:
    words = (
        "pdtriage",
        "run",
        "--log_dir",
        "log",
        "train.py",
        "--pad_token",
        "<pad>",
        "--key",
        "a/b",
    )
    assert masked_arguments(words) == words


def test_a_word_may_hold_quotes() -> None:
    assert masked_arguments(["--password", "it's me"]) == ("--password", "***")


def test_settings_are_masked_by_name_and_by_shape() -> None:
    assert masked_value("etcd_password", "hunter2") == "***"
    assert masked_value("master", "etcd://root:hunter2@h:2379") == "etcd://root:***@h:2379"
    assert masked_value("training_script_args", ["--api-key", DRAWN]) == ["--api-key", "***"]
    assert masked_value("job_id", "train-7") == "train-7"
    assert masked_value("nnodes", 2) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MY_PASSWORD", "o'Brien"),
        ("HF_TOKEN", "hf_abcdefabcdef"),
        ("AWS_SECRET_ACCESS_KEY", "abcd"),
        ("redis_auth", "short"),
    ],
)
def test_a_variables_name_is_enough(name: str, value: str) -> None:
    assert masked_variable(name, value) == "***"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOKENIZERS_PARALLELISM", "false"),
        ("SSH_AUTH_SOCK", "/tmp/agent.1"),
        ("OLDPWD", "/root"),
        ("KEY_COUNT", "12"),
        ("API_TOKEN", ""),
        ("KEYBOARD", "us"),
    ],
)
def test_variables_that_only_sound_like_it_stay(name: str, value: str) -> None:
    assert masked_variable(name, value) == value


def test_a_variable_may_hold_a_secret_within_its_value() -> None:
    assert masked_variable("DB_URL", "mysql://root:hunter2@db/x") == "mysql://root:***@db/x"


def test_the_command_for_other_nodes_keeps_what_they_need_to_join() -> None:
    command = ("pdtriage", "run", "--job-secret", DRAWN, "t.py", "--password", "hunter2")
    text = invitation(command)
    assert f"--job-secret {DRAWN} t.py --password '***'" in text.en
    assert "instead of ***" in text.en
    assert "请换成" in text.zh
    assert "***" not in invitation(("pdtriage", "run", "t.py")).en
