"""The secret of a job: who knows it speaks for a node, everybody else is a stranger.

A message is signed (HMAC-SHA256) together with the place it is written to, which names job and
node, the launch it comes from, its number and the time. `NodeExchange` is an exchange whose
reader sees only what is signed, of this start of the job and newer than what was read before; the
rest is counted. Without a secret it tells starts of the job apart, and nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Literal, Protocol

from pdtriage.launch.plan.cluster import Cluster
from pdtriage.support.errors import UserError
from pdtriage.support.fast_namedtuple import NamedTuple
from pdtriage.support.language import Text

_SHORTEST = 8
_LONGEST = 4_096
_LONGEST_MESSAGE = 512 << 10
_DOMAIN = "pdtriage.facts/1"
_MOST_HEARD = 4_096
_PATIENCE = 10.0
"""Seconds in which a node may not have heard of us."""

Ignored = Literal["unsigned", "replayed", "stale"]


class Exchange(Protocol):
    """What nodes exchange messages through: keys and values, as a key-value master has them."""

    timeout: float

    def put(self, key: str, value: str) -> bool: ...

    def get_prefix(self, prefix: str) -> dict[str, str] | None: ...


class Signed(NamedTuple):
    """A message whose signature is right."""

    launch: str
    number: int
    time: float
    heard: tuple[str, ...]
    """Launches its sender had read signed messages of."""
    body: str


class JobSecret:
    """Signs and checks; shows itself to nobody."""

    __slots__ = ("_key",)

    def __init__(self, secret: str) -> None:
        self._key = hashlib.sha256(f"{_DOMAIN}\n{secret}".encode("utf-8", "replace")).digest()

    def __repr__(self) -> str:
        return "JobSecret(***)"

    def seal(self, place: str, message: Signed) -> str:
        return _seal(message, self._mac(place, message))

    def open(self, place: str, text: str) -> Signed | None:
        """The message written to `place`; None for anything that was not signed for it."""
        found = _unseal(text)
        if found is None:
            return None
        message, mac = found
        right = hmac.compare_digest(self._mac(place, message).encode(), mac)
        return message if right else None

    def may(self, asked: str) -> str:
        """What shows that who asks this of a server is no stranger."""
        return self._digest("ask", asked)

    def _mac(self, place: str, message: Signed) -> str:
        parts = [place, message.launch, message.number, message.time, message.heard, message.body]
        return self._digest("message", json.dumps(parts))

    def _digest(self, what: str, text: str) -> str:
        signed = f"{what}\n{text}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, signed, hashlib.sha256).hexdigest()


def _seal(message: Signed, mac: str) -> str:
    envelope = message._asdict() | {"heard": list(message.heard)}
    return json.dumps(envelope | {"mac": mac}, ensure_ascii=False)


def _unseal(text: str) -> tuple[Signed, bytes] | None:
    """A message and what it was signed with; None for what is no message."""
    if len(text) > _LONGEST_MESSAGE:
        return None
    try:
        found = json.loads(text)
        message = Signed(
            _text(found["launch"]),
            _number(found["number"]),
            float(found["time"]),
            tuple(map(_text, found["heard"])),
            _text(found["body"]),
        )
        return message, _text(found["mac"]).encode()
    except (ValueError, KeyError, TypeError, RecursionError, UnicodeError):
        return None


def read_secret(given: str | None) -> JobSecret | None:
    """The secret itself, or `@file` that holds it; None where none was given."""
    if not given:
        return None
    secret = given
    if given.startswith("@"):
        try:
            with open(given[1:], encoding="utf-8") as stream:
                secret = stream.read(_LONGEST).strip()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise _unreadable(given, reason, reason) from None
    if len(secret) < _SHORTEST:
        raise _unreadable(
            given if given.startswith("@") else "***",
            f"it has fewer than {_SHORTEST} characters",
            f"少于 {_SHORTEST} 个字符",
        )
    return JobSecret(secret)


def new_secret() -> str:
    return os.urandom(16).hex()


def _unreadable(given: str, en: str, zh: str) -> UserError:
    return UserError(
        Text(f"--job_secret cannot be {given}: {en}.", f"--job_secret 不能是 {given}：{zh}。"),
        Text(
            "Give every node the same text of at least 8 characters, or @FILE with it.",
            "请为所有节点提供相同的、至少 8 个字符的文本，或写 @文件。",
        ),
    )


def exchange_of(
    inner: Exchange, secret: JobSecret | None, launch: str, cluster: Cluster
) -> NodeExchange:
    """Where the nodes of this cluster exchange facts; signed, if the job has a secret."""
    if cluster.meeting != "master":
        return NodeExchange(inner, secret, launch, echo=True)
    # Nodes that meet choose new ports every time.
    known = json.dumps([cluster.master, *cluster.all_endpoints])
    session = hashlib.sha256(known.encode()).hexdigest()
    return NodeExchange(inner, secret, launch, session=session, echo=False)


class NodeExchange:
    """An exchange among the nodes of one start of a job, who know its secret if it has one."""

    def __init__(
        self,
        inner: Exchange,
        secret: JobSecret | None,
        launch: str,
        *,
        session: str = "",
        echo: bool,
    ) -> None:
        """`session` is new for every start of the job, if there is something all nodes know that
        is; otherwise `echo`: only who has heard this launch is listened to, so that nobody can
        repeat what was said at an earlier start."""
        self.timeout = inner.timeout
        self._inner = inner
        self._secret = secret
        self._launch = launch
        self._session = session
        self._echo = echo
        self._number = 0
        self._last: dict[str, Signed] = {}
        self._lock = threading.Lock()
        self._seen: set[tuple[str, str]] = set()
        self._unanswered: dict[tuple[str, str], float] = {}
        """Since when a launch writes to a key without having heard of us; by our own clock, because
        those of hosts differ by minutes."""
        self.ignored: Counter[Ignored] = Counter()
        """Messages that were not listened to, each counted once."""

    def put(self, key: str, value: str) -> bool:
        with self._lock:
            self._number += 1
            heard = tuple(sorted({last.launch for last in self._last.values()}))[:_MOST_HEARD]
            message = Signed(self._launch, self._number, time.time(), heard, value)
        if self._secret is None:
            return self._inner.put(key, _seal(message, ""))
        return self._inner.put(key, self._secret.seal(self._bound_key(key), message))

    @property
    def is_signed(self) -> bool:
        return self._secret is not None

    def get_prefix(self, prefix: str) -> dict[str, str] | None:
        found = self._inner.get_prefix(prefix)
        if found is None:
            return None
        with self._lock:
            bodies = {key: self._read(key, text) for key, text in found.items()}
        return {key: body for key, body in bodies.items() if body is not None}

    def delete(self, key: str) -> bool:
        delete: Callable[[str], bool] | None = getattr(self._inner, "delete", None)
        return delete is not None and delete(key)

    def _read(self, key: str, text: str) -> str | None:
        message = self._message(key, text)
        if message is None:
            self._ignore(key, text, "unsigned")
            return None
        last = self._last.get(key)
        if last is not None and self._is_paired(last) and message.launch != last.launch:
            # That node was started again: this one belongs to the start before, or to no other.
            self._ignore(key, text, "stale")
            return None
        if last is not None and not _follows(message, last):
            self._ignore(key, text, "replayed")
            return None
        self._last[key] = message
        if not self._is_paired(message):
            moment = time.monotonic()
            since = self._unanswered.setdefault((key, message.launch), moment)
            if moment - since > _PATIENCE:  # until then it may only not have heard us yet
                self._ignore(key, text, "stale")
            return None
        return message.body

    def _message(self, key: str, text: str) -> Signed | None:
        if self._secret is not None:
            return self._secret.open(self._bound_key(key), text)
        found = _unseal(text)
        return found and found[0]

    def _is_paired(self, message: Signed) -> bool:
        """Whether its sender knows this launch, so that it cannot be of an earlier start."""
        own = message.launch == self._launch
        return not self._echo or own or self._launch in message.heard

    def _ignore(self, key: str, text: str, why: Ignored) -> None:
        mark = (key, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())
        if mark not in self._seen and len(self._seen) < _MOST_HEARD:
            self._seen.add(mark)
            self.ignored[why] += 1

    def _bound_key(self, key: str) -> str:
        return f"{self._session}\n{key}"


def ignored_note(ignored: Counter[Ignored]) -> Text | None:
    """How many messages were ignored, and why, for the report; None where none was."""
    total = ignored.total()
    if not total:
        return None
    replayed = ignored["replayed"] + ignored["stale"]
    return Text(
        f"{total} message{'s' * (total != 1)} without this job's secret or from an earlier time "
        f"{'were' if total != 1 else 'was'} ignored ({ignored['unsigned']} not signed, {replayed} "
        "repeated or of another start): somebody else writes to this job's place of exchange, or a "
        "node was given another --job_secret",
        f"忽略了 {total} 条不可信的消息（{ignored['unsigned']} 条未用本任务密钥签名，{replayed} 条"
        "重放或属于另一次启动）：有其他程序向本任务的信息交换处写入，"
        "或某个节点的 --job_secret 不一致",
    )


def _follows(message: Signed, last: Signed) -> bool:
    """Whether it is the last message again, or was said after it by the same node's clock."""
    if message.launch == last.launch:
        return message.number > last.number or message == last
    return message.time > last.time


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value
