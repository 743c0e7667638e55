"""Secrets are masked, and nothing else is. The secrets are put together here, so that no scanner of
repositories takes them for real ones."""

from __future__ import annotations

import time

import pytest

from pdtriage.masking.redact import mask_secrets, masked_text
from pdtriage.model import Difference, Evidence, Moment, Text
from tests.report import reports

A = "Zx9Qw3Er7Ty1Ui5Op2As8Df4Gh6Jk0Lz9Xc3Vb7N"
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c"

SECRETS = {
    "amazon": ("key AKIA" + A.upper()[:16] + " used", "AKIA" + A.upper()[:16]),
    "amazon-secret": (f"aws_secret_access_key = {A}", A),
    "alibaba": ("LTAI" + A[:20], "LTAI" + A[:20]),
    "baidu": ("bce-auth-v1/" + HEX + "/2024-01-01T00:00:00Z/1800", HEX),
    "google": ("AIza" + A[:35] + "!", A[:35]),
    "github": ("fatal: ghp_" + A[:36] + " rejected", A[:36]),
    "gitlab": ("glpat-" + A[:20], A[:20]),
    "huggingface": ("hf_" + A[:34], A[:34]),
    "openai": ("sk-proj-" + A, A),
    "slack": ("xoxb-" + "123456789012-" + A[:24], A[:24]),
    "jwt": ("token eyJhbGciOiJI.eyJzdWIiOiIx." + A, A),
    "bearer": (f"Authorization: Bearer {A}", A),
    "basic": (f"'Authorization': 'Basic {A}=='", A),
    "cookie": (f"Cookie: session={A}", A),
    "url": (f"https://bob:{A}@mirror.example/simple", A),
    "url-token": (f"git clone https://{A}@git.example/x.git", A),
    "database": (f"mysql://root:{A}@10.0.0.1/db", A),
    "short-password-in-url": ("ftp://bob:hunter2@10.0.0.1/", "hunter2"),
    "query": (f"GET /x?access_token={A}&page=2", A),
    "presigned": (f"https://b.example/o?X-Amz-Signature={HEX}&a=1", HEX),
    "password": ("password=hunter2", "hunter2"),
    "password-quoted": ("{'user': 'bob', 'passwd': 'let me in'}", "let me in"),
    "environment": (f"export WANDB_API_KEY={HEX}", HEX),
    "yaml": (f"  secret_key: {A}", A),
    "flag": (f"train.py --token {A} --lr 0.1", A),
    "flag-list": (f"['train.py', '--api-key', '{A}']", A),
    "token": (f"HF_TOKEN={A}", A),
    "azure": (f"AccountName=x;AccountKey={A}==;EndpointSuffix", A),
    "session": (f"AWS_SESSION_TOKEN={A}", A),
    "admin": (f"'ADMIN_TOKEN': '{A}'", A),
    "bytes": (f"password=b'{A}'", A),
    "json-in-json": ('{"body": "{\\"api_key\\": \\"' + A + '\\"}"}', A),
    "arrow": (f"secret => {A}", A),
    "pair": (f"[('x-api-key', '{A}'), ('accept', '*/*')]", A),
    "full-width-colon": (f"登录失败，password：{A}", A),
    "after-chinese": ("密钥hf_" + A[:34] + "无效", A[:34]),
    "after-a-break": (r"b'first\nghp_" + A[:36] + "'", A[:36]),
    "at-in-password": (f"mysql://root:p@{A}@10.0.0.1/db", A),
    "ak-sk": (f"ak={HEX[:32]} sk={HEX}", HEX),
}

KEYS = [
    *(begin + A.upper()[:16] for begin in ("AKIA", "ASIA", "AGPA", "AROA")),
    *(begin + A[:36] for begin in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")),
    *(begin + A[:24] for begin in ("LTAI", "ALTAK", "glpat-", "glrt-", "sk_live_", "rk_test_")),
    *(begin + A for begin in ("hf_", "npm_", "pypi-", "sk-", "wandb_v1_", "ya29.", "hvs.")),
    *(f"xox{kind}-{A}" for kind in "abeoprs"),
    f"xapp-1-{A}",
    *("AKID" + A[:32], "AIza" + A[:35], "dckr_pat_" + A, "bce-auth-v1/" + A),
    *("SG." + A[:20] + "." + A, "https://hooks.slack.com/services/T0/B0/" + A[:24]),
    *("s." + A[:24], "AGE-SECRET-KEY-1" + A.upper(), "dop_v1_" + HEX, "dapi" + HEX[:32]),
    *("12345678:AA" + A[:33], "eyJhbGciOiJI.eyJzdWIiOiIx." + A),
]

NAMES = [
    *(
        "password",
        "PassWd",
        "passphrase",
        "pwd",
        "secret",
        "SECRET_KEY",
        "secret-access-key",
        "token",
    ),
    *("api_key", "AccessKey", "account-key", "authkey", "private_key", "encryption-key"),
    *("signing_key", "access_key_id", "accessKeyId", "api-key-secret", "credential", "credentials"),
    *("ak", "SK", "my_sk", "\u017fecret", "to\u212aen"),
]
KEY_NAMES = [
    *("key", "auth", "sas", "sig", "Signature", "session", "sessionid", "session_id", "session-id"),
    *("webhook", "client-key-data", "client-certificate-data", "passcode", "salt", "seed_phrase"),
]

HARMLESS = [
    "OSError: [Errno 5] Input/output error: '/mnt/ds/train/00017.jpg'",
    "KeyError: 'token'",
    "ValueError: pad_token='<pad>' is not in the vocabulary of 30522 tokens",
    "num_tokens: 1048576, max_token=2048, eos_token_id=2",
    "SyntaxError: unexpected token: 'def'",
    "tokenizer.pad_token: <|endoftext_0123456789|>, my-eos.token = end_of_text_0123456789",
    "expected the columns ('user', 'password', 'email'), got ['user', 'password']",
    "PWD=/home/user/project OLDPWD=/home/user",
    "InvalidArgumentError: The key: [word_embedding_0.w_0] of state_dict is missing",
    "I1115 23:45:20.281234 12345 tcp_store.cc:289] receive shutdown event",
    "Connect to ssh://gpu-node-7:22 failed",
    "(at /paddle/paddle/phi/core/enforce.cc:412)",
    "password: None, token=null, secret=***",
    "RuntimeError: NCCL error unhandled system error, NCCL version 2.18.5+cuda11.8",
    "wget https://paddle.example/models/resnet50_v2@3x.pdparams",
    "author: bob, tokenizer=bert-base-uncased, keyword=value",
    "http://192.168.0.7:8080/path?page=2&user=bob",
    "[Hint: Expected token_ids.dims() == 2, but received 3 != 2.]",
    'File "/opt/lib/site-packages/paddle/nn/layer/common.py", line 1779, in forward',
    "Exit code: 1, task-id=1234567890123456789012345678901234567890",
]


@pytest.mark.parametrize("between", ["=", ":", " = ", "\t:\n", "': '", '" :"', "\u00a0="])
@pytest.mark.parametrize("name", [*NAMES, *KEY_NAMES])
def test_whatever_is_given_to_a_secret_name_is_masked(name: str, between: str) -> None:
    assert A not in masked_text(f"x, {name}{between}{A}")[0]


@pytest.mark.parametrize("between", [" ", "\t", "\n", "', '", '", "', " '"])
@pytest.mark.parametrize("name", NAMES)
def test_whatever_follows_a_secret_flag_is_masked(name: str, between: str) -> None:
    for flag in (f"--{name}", f"-{name}", f"--my_{name}", f"--hub.{name}", f"--v2{name}"):
        assert A not in masked_text(f"x {flag}{between}{A}")[0]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_of_a_known_shape_is_masked_whatever_stands_around_it(key: str) -> None:
    assert masked_text(f"got {key} there") == ("got *** there", 1)


@pytest.mark.parametrize("kind", SECRETS)
def test_secrets_are_masked(kind: str) -> None:
    line, secret = SECRETS[kind]
    masked, found = masked_text(line)
    assert secret not in masked
    assert "***" in masked
    assert found >= 1


@pytest.mark.parametrize("line", HARMLESS)
def test_lines_without_a_secret_stay(line: str) -> None:
    assert masked_text(line) == (line, 0)


def test_blanks_between_the_pairs_of_a_dict_cost_no_time() -> None:
    text = "{" + ("'a':'b'" + " " * 400) * 5 + "="
    began = time.process_time()
    assert masked_text(text) == (text, 0)
    assert time.process_time() - began < 1


def test_a_key_cut_in_the_middle_is_masked_too() -> None:
    assert masked_text("x " * 50 + "ghp_" + A[:9] + "…")[0].endswith(" ***…")
    assert masked_text("from https://bob:hunter2hun…")[0] == "from https://bob:***…"
    assert masked_text("Authorization refused: Bearer abc12…")[0].endswith("Bearer ***…")
    assert masked_text("GET https://h/x?sig=a1…")[0] == "GET https://h/x?sig=***…"
    told = "1 attempt failed before (1: refused by https://bob:hunt…; 2: ghp_Abc9…)."
    assert masked_text(told)[0].endswith("(1: refused by https://bob:***…; 2: ***…).")
    for harmless in ("at http://10.0.0.1:8090…", "at http://host:80/path…", "a monkey: 3…"):
        assert masked_text(harmless)[0] == harmless
    assert masked_text("see sk-learn...") == ("see sk-learn...", 0)


def test_what_is_around_a_secret_stays() -> None:
    assert masked_text(f"https://bob:{A}@mirror.example/simple")[0] == (
        "https://bob:***@mirror.example/simple"
    )
    assert masked_text("--password hunter2 --lr 0.1")[0] == "--password *** --lr 0.1"


def test_masking_twice_changes_nothing() -> None:
    for line, _ in SECRETS.values():
        once, _ = masked_text(line)
        assert masked_text(once) == (once, 0)


def test_a_private_key_over_several_lines() -> None:
    begin, end = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
    evidence = Evidence("f", 3, 0, A, before=("x", begin), after=(A, end, "y"))
    cause = reports.io_error()._replace(evidence=(evidence,))
    report = mask_secrets(reports.failed()._replace(root_causes=(cause,)))
    shown = report.root_causes[0].evidence[0]
    assert A not in repr(shown)
    assert (shown.before[0], len(shown.before), len(shown.after)) == ("x", 2, 3)
    assert shown.after[1:] == (end, "y")
    assert report.redactions == 1


def test_every_sentence_of_a_report_is_looked_at() -> None:
    secret = f"password={A}"
    both = Text(secret, secret)
    cause = reports.io_error()._replace(
        title=both,
        why=(both,),
        advice=(both,),
        fields={"path": secret},
        evidence=(Evidence("f", 1, 0, secret, (secret,), (secret,)),),
    )
    report = reports.failed()._replace(
        root_causes=(cause,),
        timeline=(Moment(None, 1, "cause", both),),
        notes=(both,),
        differences=(Difference("arguments", both, secret, secret, secret),),
        ranks=tuple(
            row._replace(moments=(Moment(None, row.rank, "error", both),))
            for row in reports.failed().ranks
        ),
    )
    masked = mask_secrets(report)
    assert A not in repr(masked)
    assert masked.redactions > 0


def test_a_report_without_secrets_is_the_same() -> None:
    assert mask_secrets(reports.failed()) == reports.failed()


@pytest.mark.parametrize("name", ["api_key_ıd", "credentıals", "access_key_İd", "API_KEY_ID"])
def test_an_i_is_an_i_with_or_without_its_dot(name: str) -> None:
    assert "hunter2abc" not in masked_text(f"{name}=hunter2abc")[0]
