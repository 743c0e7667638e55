"""Has a message sent by a process of its own, which gets so many seconds and no more.

A webhook that is dead, slow or refuses costs a warning and that time. Addresses hold keys, so they
stand in no command line and in no warning.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from pdtriage.masking.secrets import masked_text
from pdtriage.notify.message import Message
from pdtriage.report.sanitise import inert_line
from pdtriage.support.errors import UserError, missing_package
from pdtriage.support.language import Text
from pdtriage.support.text_width import cut

PATIENCE_VARIABLE = "PDTRIAGE_NOTIFY_SECONDS"
PATIENCE = 8.0
"""Seconds for all addresses together: an exit code waits no longer for it."""
LONGEST = 200


def addresses_of(given: str | Sequence[str]) -> list[str]:
    """Several are separated by spaces or commas.

    A comma may stand in an address, so only one before a new address separates.
    """
    words = given if isinstance(given, str) else " ".join(given)
    return list(filter(None, re.split(r"[\s,]+(?=[A-Za-z][\w+.-]*://)|\s+", words.strip(" ,"))))


def refuse_unusable(addresses: Sequence[str]) -> None:
    """What would be noticed only when there is something to tell."""
    if not addresses:
        return
    if not all("://" in address for address in addresses):
        raise UserError(
            Text(
                "--notify takes a URL such as feishu://TOKEN or https://example.com/hook",
                "--notify 的值应为 URL，如 feishu://TOKEN 或 https://example.com/hook",
            )
        )
    if find_spec("apprise") is None:
        raise missing_package("--notify", "pdtriage[notify]")
    lines, _ = _send(addresses, None)
    for number in json.loads(lines[0]) if lines else ():
        name = public_address(addresses[number])
        raise UserError(
            Text(
                f"--notify {name}: apprise knows no such service, or the address is incomplete",
                f"--notify {name}：apprise 不支持这种服务，或地址不完整",
            )
        )


def send(addresses: Sequence[str], message: Message) -> list[Text]:
    """One warning for each address that did not take it; never raises, never waits longer."""
    lines, silence = _send(addresses, message)
    answers: dict[int, str | None] = dict(map(json.loads, lines))
    warnings = []
    for number, address in enumerate(addresses):
        why = answers.get(number, silence)
        if why is not None:
            name, words = public_address(address), _without_keys(why, address)
            warnings.append(
                Text(
                    f"nobody was told by {name}: {words}",
                    f"未能通过 {name} 发出通知：{words}",
                )
            )
    return warnings


def public_address(address: str) -> str:
    """Which one is meant, without the keys in it."""
    return f"{address.partition('://')[0]}://…"


def _send(addresses: Sequence[str], message: Message | None) -> tuple[list[bytes], str]:
    """What the sender has answered, and why it answered no more."""
    order = {"addresses": list(addresses), "message": message and list(message)}
    patience = _patience()
    try:
        sender = subprocess.run(
            [sys.executable, "-m", "pdtriage.notify.sender"],
            input=json.dumps(order).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=patience,
            check=False,
            start_new_session=True,  # Ctrl-C is for us
        )
    except subprocess.TimeoutExpired as late:
        return _whole_lines(late.stdout), f"no answer in {patience:g} s"
    except OSError as error:
        return [], error.strerror or type(error).__name__
    return _whole_lines(sender.stdout), f"the sender ended with {sender.returncode}"


def _whole_lines(output: bytes | None) -> list[bytes]:
    return (output or b"").split(b"\n")[:-1]


def _without_keys(why: str, address: str) -> str:
    for key in re.findall(r"[\w.%-]{6,}", address.partition("://")[2]):
        why = why.replace(key, "***")
    return cut(inert_line(masked_text(why)[0]), LONGEST)


def _patience() -> float:
    try:
        return min(600.0, max(0.1, float(os.environ.get(PATIENCE_VARIABLE, ""))))
    except ValueError:
        return PATIENCE
