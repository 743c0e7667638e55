"""A real browser without a window, spoken to over a pipe in its own protocol.

Nothing is installed for it beyond Debian's `chromium`, and it may not go anywhere: it opens files
written by a test and is ended with it.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from time import monotonic, sleep
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--proxy-server=127.0.0.1:9",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0


class Browser:
    """One open page."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._number = 0
        self._unread = b""
        self._session: str | None = None
        self.console: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def open(self, page: Path, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        self.console.clear()
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Page.navigate", url=page.as_uri())
        until = monotonic() + PATIENCE
        while self.evaluate("document.readyState + location.href") != f"complete{page.as_uri()}":
            assert monotonic() < until, "the page does not load"
            sleep(0.02)

    def evaluate(self, script: str) -> Any:
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        for kind in ("keyDown", "keyUp"):
            typed = {"text": text} if text and kind == "keyDown" else {}
            self.ask(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **typed,
            )

    def without_scripts(self, disabled: bool) -> None:
        self.ask("Emulation.setScriptExecutionDisabled", value=disabled)

    def picture(self, file: Path) -> None:
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def printed(self) -> bytes:
        return base64.b64decode(self.ask("Page.printToPDF")["data"])

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
            if answer.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
                self.console.append(json.dumps(answer["params"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready, _, _ = select([self._from], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            piece = os.read(self._from, 1 << 16)
            assert piece, "the browser has gone"
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\0")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def running(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile; it is gone when the block is left."""
    assert CHROMIUM is not None
    its_in, our_out = os.pipe()
    our_in, its_out = os.pipe()
    command = [
        "bash",  # the browser wants its pipe at 3 and 4; sh may know only ten descriptors
        "-c",
        f'exec "$@" 3<&{its_in} 4>&{its_out}',
        "bash",
        CHROMIUM,
        *FLAGS,
        f"--user-data-dir={profile}",
    ]
    process = subprocess.Popen(
        command,
        pass_fds=(its_in, its_out),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(its_in)
    os.close(its_out)
    try:
        yield Browser(our_out, our_in)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()
        os.close(our_out)
        os.close(our_in)
