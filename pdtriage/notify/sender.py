"""The process that sends: what to send comes by standard input, a line of JSON goes out for each
address as soon as it has taken the message or refused it.

`apprise` knows the services; plain http and https addresses get the message as JSON.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

_COPIED = (
    (re.compile(r"https://open\.feishu\.cn/open-apis/bot/v2/hook/([\w-]+)/?"), "feishu://{}"),
    (re.compile(r"https://oapi\.dingtalk\.com/robot/send\?access_token=(\w+)"), "dingtalk://{}"),
)
"""Addresses as these services show them, which apprise does not take as they are."""
_REFUSES_WITH_200 = (
    *("open.feishu.cn", "open.larksuite.com", "oapi.dingtalk.com", "qyapi.weixin.qq.com"),
)
"""They say in the body that they refused, which apprise does not read."""
_why = threading.local()


def main() -> None:
    order = json.load(sys.stdin)
    services = [service_for(address) for address in order["addresses"]]
    if order["message"] is None:
        unknown = [number for number, service in enumerate(services) if service is None]
        print(json.dumps(unknown))
        return
    _listen()
    with ThreadPoolExecutor(max_workers=len(services)) as pool:
        sent = {
            pool.submit(_refusal, service, *order["message"]): number
            for number, service in enumerate(services)
        }
        for done in as_completed(sent):
            print(json.dumps([sent[done], done.result()]), flush=True)


def service_for(address: str) -> Any:
    """What apprise makes of it; None where it knows nothing of the kind."""
    from apprise import Apprise, AppriseAsset

    # Without an address of Apprise's own: no message has pictures that are fetched from elsewhere.
    ours = AppriseAsset(
        app_id="pdtriage", app_desc="pdtriage", app_url="", image_url_mask="", image_url_logo=""
    )
    for pattern, form in _COPIED:
        if match := pattern.fullmatch(address):
            address = form.format(match[1])
    return Apprise.instantiate(address, asset=ours) or Apprise.instantiate(
        _as_json(address), asset=ours
    )


def _as_json(address: str) -> str:
    """A plain webhook; what its query says is passed on, which apprise marks by a minus."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https"):
        return address
    scheme = "jsons" if parts.scheme == "https" else "json"
    query = urlencode([(f"-{name}", value) for name, value in parse_qsl(parts.query)])
    return parts._replace(scheme=scheme, query=query).geturl()


def _refusal(service: Any, title: str, body: str) -> str | None:
    """Why the message was not taken; None where it was."""
    from apprise import NotifyFormat, NotifyType

    if service is None:
        return "apprise knows no such service"
    _why.words = ""
    taken = service.notify(
        title=title, body=body, notify_type=NotifyType.FAILURE, body_format=NotifyFormat.TEXT
    )
    if taken and not _why.words:
        return None
    return _why.words or "it did not work"


def _listen() -> None:
    """Why something failed is known from what apprise logs, and from answers it does not read."""
    import requests

    class Warnings(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            _why.words = record.getMessage()

    logging.getLogger("apprise").addHandler(Warnings(logging.WARNING))
    request = requests.Session.request

    def heeded(*arguments: Any, **settings: Any) -> requests.Response:
        answer = request(*arguments, **settings)
        if urlsplit(answer.url).hostname in _REFUSES_WITH_200:
            _why.words = _refusal_in(answer.content)
        return answer

    requests.Session.request = heeded  # type: ignore[method-assign]


def _refusal_in(content: bytes) -> str:
    """`{"errcode": 310000, "errmsg": …}` or `{"code": 19024, "msg": …}`; 0 is for what was sent."""
    try:
        answer = json.loads(content)
        code = answer.get("errcode", answer.get("code", 0))
        words = answer.get("errmsg", answer.get("msg", ""))
    except (ValueError, AttributeError):
        return ""
    return f"{words} (error {code})" if code else ""


if __name__ == "__main__":
    main()
