"""The way to a storage through fsspec: imported late, patient with hiccups, bounded in time."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from pdtriage.sources.notes import Reason
from pdtriage.sources.remote.url import CHAIN, RemoteError, public_url, scheme_of
from pdtriage.support.errors import NotAvailableError, missing_package
from pdtriage.support.language import Text

TIMEOUT_VARIABLE = "PDTRIAGE_REMOTE_TIMEOUT"
TIMEOUT = 60.0
"""Seconds without a byte after which a server counts as silent."""
LONGEST_TIMEOUT = 86_400.0
"""However much is asked for, `inf` too: a clock has to be set to something."""
TRIES = 4
FIRST_WAIT = 0.5
"""Seconds before the second try; each further wait is twice as long."""
JITTER = 0.2
WORKERS = 8
"""Requests under way at once."""
HTTP = frozenset({"http", "https"})
_EXTRAS = {
    **dict.fromkeys(("s3", "s3a"), "pdtriage[s3]"),
    **dict.fromkeys(("http", "https"), "pdtriage[http]"),
    **dict.fromkeys(("sftp", "ssh"), "pdtriage[sftp]"),
    **dict.fromkeys(("hdfs", "webhdfs", "arrow_hdfs"), "pdtriage[hdfs]"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "adl"), "adlfs"),
    "oss": "ossfs",
    "tos": "tosfs",
    "smb": "smbprotocol",
    "webdav": "webdav4[fsspec]",
}
_REFUSALS = frozenset(
    {
        "AuthenticationException",
        "BadAuthenticationType",
        "NoCredentialsError",
        "PartialCredentialsError",
        "TokenRetrievalError",
    }
)
_LASTING = (IsADirectoryError, NotADirectoryError, ValueError, TypeError, NotImplementedError)

Result = TypeVar("Result")


def connect(url: str) -> tuple[Any, str]:
    """The file system behind a URL, and the path there. One connection per thread where needed.

    fsspec itself shares the instances of backends that are made for it (S3, HTTP) and gives each
    thread its own of the others (SFTP).
    """
    scheme = scheme_of(url)
    try:
        import fsspec

        if CHAIN in url or scheme not in fsspec.available_protocols():
            raise _unknown(url)
        file_system, path = fsspec.core.url_to_fs(url, **_options(url))
    except ImportError as error:
        raise missing_package(public_url(url), _EXTRAS.get(scheme, "pdtriage[remote]")) from error
    return file_system, str(path)


def on_storage(url: str, use: Callable[[Any, str], Result]) -> Result:
    """What `use` makes of the file system and the path there."""
    file_system, path = connect(url)
    try:
        return use(file_system, path)
    except Exception as error:
        if reason_of(error) == "unanswered" and not file_system.async_impl:
            type(file_system).clear_instance_cache()  # a dead connection would stay dead
        raise


def with_retries(call: Callable[[], Result]) -> Result:
    """What `call` gives; hiccups are tried again, a refusal or an absence is not."""
    wait = FIRST_WAIT
    for rest in reversed(range(TRIES)):
        try:
            return call()
        except NotAvailableError:
            raise
        except Exception as error:  # backends raise what they like
            reason, told = reason_of(error), type(error).__name__
        if reason != "unanswered" or not rest:
            raise RemoteError(reason, told)  # outside the clause: without the backend's own words
        time.sleep(wait * random.uniform(1 - JITTER, 1 + JITTER))
        wait *= 2
    raise AssertionError("unreachable")


def submit(call: Callable[[], Result]) -> Future[Result]:
    """The call, made patiently by one of a few threads that never keep the program from ending."""
    return _crew().submit(lambda: with_retries(call))


def wait_for(future: Future[Result]) -> Result:
    """The answer; a backend without time-outs of its own does not make us wait for ever."""
    from concurrent.futures import TimeoutError as TooLate

    try:
        return future.result(timeout=(TRIES + 1) * remote_timeout() + _waits())
    except TooLate:
        _crew().replace_one()
    raise RemoteError("unanswered", "no answer in time")


def remote_timeout() -> float:
    try:
        told = float(os.environ.get(TIMEOUT_VARIABLE) or TIMEOUT)
        return min(max(0.1, told), LONGEST_TIMEOUT)
    except ValueError:
        return TIMEOUT


def _waits() -> float:
    """Seconds between all tries of `patiently`, at most."""
    return sum(FIRST_WAIT * 2.0**wait for wait in range(TRIES - 1)) * (1 + JITTER)


def reason_of(error: BaseException) -> Reason:
    """Why a backend failed. fsspec wraps what HTTP answered into a FileNotFoundError."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and len(chain) < 8:
        chain.append(link)
        link = link.__cause__ or link.__context__
    for link in chain:
        status = _status(link)
        if status in (401, 403, 407):
            return "denied"
        if status in (404, 410):
            return "vanished"
        if status is not None and status >= 400:
            again = status in (408, 425, 429) or status >= 500
            return "unanswered" if again else "unreadable"
    names = {type(link).__name__ for link in chain}
    if names & {"UnknownHostKeyError", "BadHostKeyException"}:
        return "stranger"
    if names & _REFUSALS:
        return "denied"
    if isinstance(error, RemoteError):
        return error.reason
    if isinstance(error, PermissionError):
        return "denied"
    if isinstance(error, FileNotFoundError):
        # without an answer to go by: the server was not even reached, says the cause
        return "unanswered" if _is_unreached(chain[1:]) else "vanished"
    return "unreadable" if isinstance(error, _LASTING) else "unanswered"


def _unknown(url: str) -> NotAvailableError:
    if CHAIN in url:
        return NotAvailableError(
            Text(
                f"{public_url(url)}: give the URL alone, archives behind it are opened anyway; "
                "an IPv6 address is written without ::",
                f"{public_url(url)}：请只给出 URL 本身，其中的压缩包会自动打开；"
                "IPv6 地址请写成不含 :: 的形式",
            )
        )
    scheme = scheme_of(url)
    return NotAvailableError(
        Text(
            f"{scheme}://: no storage of that kind is known; s3, hdfs, sftp, http and what else "
            "fsspec knows can be read",
            f"{scheme}://：未知的存储类型；可读取 s3、hdfs、sftp、http 以及 fsspec 支持的其他存储",
        )
    )


def _is_unreached(causes: list[BaseException]) -> bool:
    kinds = (ConnectionError, TimeoutError)
    return any(isinstance(it, kinds) or "Connect" in type(it).__name__ for it in causes)


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status", None)
    if isinstance(status, int):
        return status
    answer = getattr(error, "response", None)
    if isinstance(answer, dict):  # botocore
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
    return status if isinstance(status, int) else None


def _options(url: str) -> dict[str, Any]:
    """Time-outs in the words of each backend; what the user configures for fsspec is kept."""
    from fsspec.config import conf

    scheme, seconds = scheme_of(url), remote_timeout()
    set_by_user = {name for alias in _aliases(scheme) for name in conf.get(alias, {})}
    options: dict[str, Any] = {}
    if scheme in HTTP:
        from aiohttp import ClientTimeout

        limits = ClientTimeout(total=None, sock_connect=seconds, sock_read=seconds)
        options["client_kwargs"] = {"timeout": limits, "trust_env": True}
        options["headers"] = {"Accept-Encoding": "identity"}  # else sizes and ranges do not fit
    elif scheme in ("s3", "s3a"):
        # it tries again by itself, and so do we: once is enough on its side
        options["config_kwargs"] = {
            "connect_timeout": seconds,
            "read_timeout": seconds,
            "retries": {"total_max_attempts": 1},
        }
    elif scheme in ("sftp", "ssh"):
        options |= {"timeout": seconds, "banner_timeout": seconds, "auth_timeout": seconds}
        options |= _known_hosts()
    return {name: value for name, value in options.items() if name not in set_by_user}


def _aliases(scheme: str) -> tuple[str, ...]:
    """All names of the backend: fsspec asks the configuration for each of them."""
    from fsspec import get_filesystem_class

    names = get_filesystem_class(scheme).protocol
    return (scheme, names) if isinstance(names, str) else (scheme, *names)


def _known_hosts() -> dict[str, Any]:
    """Checks host keys as `ssh` does: no password goes to a host whose key is not known."""
    try:
        from fsspec.implementations import sftp
    except ImportError:
        return {}  # the caller says what to install
    if not hasattr(sftp, "HOST_KEY_POLICIES"):
        return {}  # an fsspec that cannot be told
    from pdtriage.sources.remote.known_hosts import KnownHosts

    return {"host_key_policy": KnownHosts()}


class _Crew:
    """Threads of our own: those of a ThreadPoolExecutor are waited for when Python ends."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        for _ in range(WORKERS):
            self.replace_one()

    def replace_one(self) -> None:
        threading.Thread(target=self._work, name="pdtriage-remote", daemon=True).start()

    def submit(self, call: Callable[[], Result]) -> Future[Result]:
        future: Future[Result] = Future()
        self._calls.put((future, call))
        return future

    def _work(self) -> None:
        while True:
            future, call = self._calls.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)


_crews: dict[int, _Crew] = {}
_lock = threading.Lock()


def _crew() -> _Crew:
    """The threads that fetch, one crew per process: threads do not survive a fork."""
    with _lock:
        return _crews.setdefault(os.getpid(), _crews.get(os.getpid()) or _Crew())
