"""A job fails; those whose address was given are told, and whatever they run costs nothing."""

from __future__ import annotations

import email
import json
import socket
import sys
from collections import Counter
from email import policy
from pathlib import Path

import pytest

from pdtriage.notify.message import message_on
from pdtriage.notify.send import addresses_of
from tests.cli.conftest import FIXTURES, Command
from tests.notify.servers import mailbox, webhook, world

KEY = "9cf0b7d1e2a34f5c8d6e"
HEALTHY = Path(__file__).parents[1] / "fixtures" / "healthy"


def test_a_plain_webhook_gets_culprit_cause_advice_and_where_to_read_on(
    pdtriage: Command, failed_job: Path
) -> None:
    with webhook() as server:
        url = f"http://{server.address}/hook?key={KEY}"
        answer = pdtriage("analyze", failed_job, "--notify", url, GITHUB_RUN_ID="7")
    (sent,) = server.sent
    assert sent.path == f"/hook?key={KEY}"
    assert sent.body["type"] == "failure"
    assert sent.body["title"].startswith("pdtriage: FAILED: rank 1 of 3")
    lines = sent.body["message"].splitlines()
    assert lines[0] in answer.out
    assert any("workerlog.1:" in line and "Errno 5" in line for line in lines)
    assert any(line.startswith("Do first: ") for line in lines)
    assert f"Logs: {failed_job}" in lines
    assert any(line.endswith("/actions/runs/7") for line in lines)
    assert answer.code == 1
    assert answer.err == ""


SERVICES = {
    "open.feishu.cn": [f"feishu://{KEY}", f"https://open.feishu.cn/open-apis/bot/v2/hook/{KEY}"],
    "oapi.dingtalk.com": [
        f"dingtalk://{KEY}",
        f"https://oapi.dingtalk.com/robot/send?access_token={KEY}",
    ],
    "qyapi.weixin.qq.com": [
        f"wecombot://{KEY}",
        f"https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={KEY}",
    ],
    "hooks.slack.com": [
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
        "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
    ],
    "prod.example.com": [f"workflows://prod.example.com:443/{KEY}/{KEY}"],  # Teams
}
"""In apprise's words, and as the service shows it."""
TEXT_OF = {
    "open.feishu.cn": lambda body: body["content"]["text"],
    "oapi.dingtalk.com": lambda body: body["text"]["content"],
    "qyapi.weixin.qq.com": lambda body: body["text"]["content"],
    "hooks.slack.com": lambda body: "{title} {text}".format(**body["attachments"][0]),
    "prod.example.com": lambda body: json.dumps(body["attachments"][0]["content"]["body"]),
}


def test_every_service_gets_it_in_its_own_shape(
    pdtriage: Command, failed_job: Path, tmp_path: Path
) -> None:
    addresses = " ".join(url for urls in SERVICES.values() for url in urls)
    with world(tmp_path) as (server, surroundings):
        answer = pdtriage(
            "analyze",
            failed_job,
            PDTRIAGE_NOTIFY=addresses,
            PDTRIAGE_NOTIFY_SECONDS="60",
            **surroundings,
        )
    assert answer.err == ""
    hosts = [sent.host.partition(":")[0] for sent in server.sent]
    assert Counter(hosts) == {host: len(urls) for host, urls in SERVICES.items()}
    for host, sent in zip(hosts, server.sent, strict=True):
        text = TEXT_OF[host](sent.body)
        assert "FAILED: rank 1 of 3" in text, host
        assert "errno 5" in text, host


@pytest.mark.parametrize(
    ("url", "refusal"),
    [
        (f"dingtalk://{KEY}", {"errcode": 310000, "errmsg": "keywords not in content"}),
        (f"feishu://{KEY}", {"code": 19024, "msg": "Key Words Not Found"}),
    ],
)
def test_a_refusal_in_the_body_of_a_good_answer_is_one(
    pdtriage: Command, failed_job: Path, tmp_path: Path, url: str, refusal: dict[str, object]
) -> None:
    with world(tmp_path, json.dumps(refusal).encode()) as (server, surroundings):
        answer = pdtriage("analyze", failed_job, "--notify", url, **surroundings)
    assert len(server.sent) == 1
    code, words = refusal.values()
    assert f"{words} (error {code})" in answer.err
    assert answer.code == 1


def test_an_e_mail(pdtriage: Command, failed_job: Path) -> None:
    with mailbox() as server:
        port = server.server_address[1]
        url = f"mailto://127.0.0.1:{port}?from=job@example.com&to=me@example.com"
        answer = pdtriage("analyze", failed_job, "--notify", url, "--lang", "zh")
    assert answer.err == ""
    (letter,) = server.letters
    read = email.message_from_string(letter, policy=policy.default)
    assert read["To"] == "me@example.com"
    assert read["Subject"].startswith("pdtriage: 失败: rank 1")
    body = read.get_body(("plain", "html"))
    assert body is not None
    assert "Errno 5" in body.get_content()


def test_what_a_stranger_wrote_into_a_log_is_text(pdtriage: Command, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    (log / "workerlog.0").write_text(
        "Traceback (most recent call last):\n"
        '  File "train.py", line 3, in <module>\n'
        "    main()\n"
        'ValueError: <b>bold</b> <!channel> <at user_id="all">x</at> @everyone \x1b[31m'
        f" token=sk-{KEY}{KEY}\n"
    )
    with webhook() as server, mailbox() as post:
        port = post.server_address[1]
        urls = [
            f"http://{server.address}/",
            f"mailto://127.0.0.1:{port}?from=job@example.com&to=me@example.com",
        ]
        answer = pdtriage("analyze", log, "--no-redact", PDTRIAGE_NOTIFY=",".join(urls))
    assert answer.err == ""
    text = server.sent[0].body["message"]
    assert "ValueError: <b>bold</b>" in text
    assert not [bad for bad in ("<!", "<at", "@everyone", "\x1b", KEY) if bad in text]
    letter = email.message_from_string(post.letters[0], policy=policy.default)
    html = letter.get_body(("html",))
    assert html is None or "<b>" not in html.get_content()


def test_a_dead_a_slow_and_an_angry_one_cost_a_warning_each_and_the_good_one_is_told(
    pdtriage: Command, failed_job: Path
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        dead = f"json://127.0.0.1:{nobody.getsockname()[1]}/{KEY}"
        with webhook(status=500) as angry, webhook(silent=True) as slow, webhook() as good:
            answer = pdtriage(
                "analyze",
                failed_job,
                *("--notify", dead),
                *("--notify", f"http://{slow.address}/{KEY}"),
                *("--notify", f"https://{good.address}/{KEY}"),
                *("--notify", f"http://{angry.address}/{KEY}"),
                *("--notify", f"http://{good.address}/{KEY}"),
                PDTRIAGE_NOTIFY_SECONDS="30",
            )
    assert len(good.sent) == len(angry.sent) == 1
    assert answer.code == 1
    assert "FAILED: rank 1" in answer.out
    dead_told, slow_told, no_tls_told, angry_told = answer.err.splitlines()
    assert dead_told.startswith("pdtriage: nobody was told by json://…: ")
    assert slow_told.startswith("pdtriage: nobody was told by http://…: ")
    assert no_tls_told.startswith("pdtriage: nobody was told by https://…: ")
    assert "500" in angry_told
    assert KEY not in answer.out + answer.err


def test_an_exit_code_waits_only_so_long(pdtriage: Command, failed_job: Path) -> None:
    with webhook(silent=True) as slow:
        url = f"http://{slow.address}/{KEY}"
        answer = pdtriage("analyze", failed_job, "--notify", url, PDTRIAGE_NOTIFY_SECONDS="0.1")
    assert answer.code == 1
    assert answer.err == "pdtriage: nobody was told by http://…: no answer in 0.1 s\n"


def test_nobody_is_told_of_what_went_well(pdtriage: Command) -> None:
    with webhook() as server:
        healthy = sorted(HEALTHY.iterdir())[0]
        answer = pdtriage("analyze", healthy, "--notify", f"http://{server.address}/")
    assert answer.code == 0
    assert server.sent == []


def test_what_cannot_work_is_refused_first_but_a_variable_only_warns(
    pdtriage: Command, failed_job: Path
) -> None:
    for url in ("nonsense", f"wonder://{KEY}/x"):
        refused = pdtriage("analyze", failed_job, "--notify", url)
        assert (refused.code, refused.out) == (2, "")
        assert "--notify" in refused.err
        assert KEY not in refused.err
        warned = pdtriage("analyze", failed_job, PDTRIAGE_NOTIFY=url)
        assert warned.code == 1
        assert "FAILED: rank 1" in warned.out
        assert warned.err.startswith("pdtriage: --notify")


def test_a_bundle_is_where_to_read_on(pdtriage: Command, failed_job: Path, tmp_path: Path) -> None:
    with webhook() as server:
        bundle = tmp_path / "b.zip"
        url = f"http://{server.address}/"
        answer = pdtriage("bundle", failed_job, "-o", bundle, "--notify", url)
    assert answer.code == 0
    assert f"Logs: {bundle}" in server.sent[0].body["message"].splitlines()


def test_a_launch_tells_once_and_its_children_do_not_get_the_keys(
    pdtriage: Command, tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import os, sys\n"
        "print('variable', os.environ.get('PDTRIAGE_NOTIFY'))\n"
        "open('/nonexistent/data') if os.environ['PADDLE_TRAINER_ID'] == '1' else None\n"
    )
    with webhook() as server:
        url = f"http://{server.address}/{KEY}"
        answer = pdtriage(
            *("run", "--nproc_per_node", "2", script),
            PDTRIAGE_NOTIFY=url,
            PATH=f"{Path(sys.executable).parent}:/usr/bin:/bin",
        )
    assert answer.code == 1, answer.err
    (sent,) = server.sent
    assert "rank 1 of 2" in sent.body["title"]
    assert "/nonexistent/data" in sent.body["message"]
    left = [path.read_text() for path in (tmp_path / "log").rglob("*") if path.is_file()]
    assert "variable None" in "".join(left)
    assert KEY not in "".join(left)


def test_a_key_that_was_typed_is_masked_in_the_record(pdtriage: Command, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("print(1)\n")
    with webhook() as server:
        url = f"slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ,http://{server.address}/{KEY}"
        flags = ("--nproc_per_node", "1", "--notify", url)
        answer = pdtriage("run", *flags, script)
    assert answer.code == 0, answer.err
    left = [path.read_text() for path in (tmp_path / "log").rglob("*") if path.is_file()]
    assert not [key for key in (KEY, "TIiajkdnlazkcOXrIdevi7FQ") if key in "".join(left)]


def test_addresses_are_separated_by_spaces_and_commas() -> None:
    first, second = "mailto://a:b@example.com?to=x@y.org,z@y.org", "feishu://abc"
    assert addresses_of(f"{first},{second}") == [first, second]
    assert addresses_of(f" {first}, {second} ,") == [first, second]
    assert addresses_of([first, second]) == [first, second]


def test_a_report_of_another_shape_is_no_reason_to_fall_silent() -> None:
    odd = {"verdict": "failed", "root_causes": [{"rank": "x", "evidence": 5}], "job": None}
    message = message_on(odd, "/logs", {})
    assert message is not None
    assert message.title == "pdtriage: FAILED"
    assert message_on({"verdict": "succeeded"}, "", {}) is None


def test_all_of_a_kind_of_failures_fit_a_message() -> None:
    """Whatever is in a report, a title is short and a body has few lines."""
    from pdtriage import analyze

    for folder in sorted(FIXTURES.iterdir())[:12]:
        report = analyze(folder)
        message = message_on(report.to_json(), "x", {})
        assert (message is not None) == bool(report.root_causes or report.verdict == "failed")
        if message is not None:
            assert len(message.title) <= 300
            assert message.body.count("\n") < 8
