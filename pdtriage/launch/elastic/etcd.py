"""What launcher and doctor need of an etcd: one snapshot, one transaction, leases, a watch.

Everything goes through etcd's HTTP gateway with `etcd3gw`. A call either succeeds, or raises
`EtcdAwayError` (nobody knows whether it took effect: read again) or `LeaseLostError`. `EtcdStore`
has the calls of a key-value master and raises neither.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pdtriage.launch.options.elastic import EtcdAccess
from pdtriage.support.errors import missing_package
from pdtriage.support.fast_namedtuple import NamedTuple

if TYPE_CHECKING:
    # Only elastic jobs pay for importing it.
    from etcd3gw.client import Etcd3Client

_MOST_COMPARED = 100
"""Etcd refuses transactions of more than 128 comparisons."""
_API = "/v3/"
_STORE_LEASE = 30
"""Seconds after which etcd forgets who wrote with a lease of the store and did not delete it."""
_NO_ETCD = "what answers there is no etcd"
_REFUSALS = (
    *("authentication failed", "invalid auth token", "user name is empty", "permission denied"),
    *("revision of auth store is old", "authentication is not enabled", "user name not found"),
)
"""What etcd says to those it does not know, or who may not."""
_Read = TypeVar("_Read")


class EtcdAwayError(Exception):
    """Etcd gave no answer, or none that helps; the text says which."""


class EtcdRefusedError(EtcdAwayError):
    """Etcd answers, but refuses us: the user, the password or a right is missing."""


class LeaseLostError(Exception):
    """Etcd does not know the lease any more, and has removed what hung on it."""


class Entry(NamedTuple):
    """One key."""

    value: str
    created: int
    modified: int
    lease: int


class Snapshot(NamedTuple):
    """Keys as they were together at one revision."""

    revision: int
    entries: Mapping[str, Entry]


class Etcd:
    """One etcd. Not for several threads at once: each makes its own."""

    def __init__(
        self, host: str, port: int, timeout: float = 3.0, access: EtcdAccess | None = None
    ) -> None:
        self.host = host
        self.port = port
        self.timeout = timeout
        self._access = access or EtcdAccess()
        self._client: Etcd3Client | None = None
        self._is_known = False
        """Whether it gave us a token, or asks for none."""

    def prepare(self) -> None:
        """Import what is needed now: on a busy machine that may take seconds."""
        self._connection()

    def another(self) -> Etcd:
        """Another connection to the same etcd, for another thread."""
        return Etcd(self.host, self.port, self.timeout, self._access)

    def version(self) -> str:
        """`3.5.1`; raises where something else, or nothing, answers."""
        answer = self._post("maintenance/status", {})
        version = answer.get("version")
        if not isinstance(version, str):
            raise EtcdAwayError(_NO_ETCD)
        return version

    def read(self, *keys: str) -> Snapshot:
        """These keys, and all below those that end with a slash, as of one moment."""
        asked = [{"request_range": _key_or_range(key)} for key in keys]
        return self._call("kv/txn", {"success": asked}, _snapshot)

    def write(
        self,
        puts: Mapping[str, str],
        *,
        lease: int = 0,
        deletes: Iterable[str] = (),
        unchanged: Mapping[str, int] | None = None,
        older: Mapping[str, int] | None = None,
    ) -> bool:
        """Writes all of it or, when what was seen is not so any more, nothing.

        `unchanged` names the revision a key was last modified at; 0 means that it must not exist.
        No more than the first hundred are compared. `older`: nothing below these keys was modified
        after this revision, however many there are; who is gone from there is not noticed.
        Of `deletes`, what ends with a slash stands for all below it.
        """
        compare: list[dict[str, object]] = [
            {"key": _bytes(key), "target": "MOD", "result": "EQUAL", "mod_revision": str(revision)}
            for key, revision in list((unchanged or {}).items())[:_MOST_COMPARED]
        ]
        compare += [
            {**_range(key), "target": "MOD", "result": "LESS", "mod_revision": str(revision + 1)}
            for key, revision in (older or {}).items()
        ]
        changes: list[dict[str, object]] = [
            {"request_put": {"key": _bytes(k), "value": _bytes(v), "lease": str(lease)}}
            for k, v in puts.items()
        ]
        changes += [{"request_delete_range": _key_or_range(key)} for key in deletes]
        return self._call("kv/txn", {"compare": compare, "success": changes}, _is_success)

    def grant(self, seconds: int) -> int:
        """A new lease; etcd may make it longer, never shorter."""
        question = {"TTL": str(seconds), "ID": "0"}
        return self._call("lease/grant", question, lambda answer: int(answer["ID"]))

    def keep(self, lease: int) -> None:
        question = {"ID": str(lease)}
        if self._call("lease/keepalive", question, _seconds_left) <= 0:
            raise LeaseLostError(str(lease))

    def revoke(self, lease: int) -> None:
        """End a lease and everything that hangs on it."""
        self._post("lease/revoke", {"ID": str(lease)})

    def changes(self, first: str, last: str, *, silence: float) -> Iterator[None]:
        """Yields once when etcd has begun to watch these keys, then for every change of one.

        Ends after `silence` seconds without a word; raises when the stream breaks.
        """
        from requests.exceptions import ConnectionError as Broken
        from requests.exceptions import RequestException

        client = self._connection()
        self._authenticate()
        asked = {"create_request": {"key": _bytes(first), "range_end": _bytes(last)}}
        patience = (self.timeout, silence)
        try:
            with client.session.post(
                client.get_url("watch"), json=asked, stream=True, timeout=patience
            ) as answer:
                if answer.status_code != 200:
                    self._is_known = False
                    raise EtcdAwayError(f"HTTP {answer.status_code}")
                for line in answer.iter_lines():
                    if b'"canceled":true' in line:
                        self._is_known = False
                        raise EtcdAwayError("the watch was refused")
                    if line.strip():
                        yield
                raise EtcdAwayError("the stream ended")
        except Broken as error:
            if "Read timed out" not in str(error):
                raise EtcdAwayError("the stream broke") from None
        except RequestException as error:
            raise EtcdAwayError(f"{type(error).__name__}: {error}") from None

    def close(self) -> None:
        if self._client is not None:
            self._client.session.close()

    def _call(
        self, path: str, question: Mapping[str, object], read: Callable[[dict[str, Any]], _Read]
    ) -> _Read:
        answer = self._post(path, question)
        try:
            return read(answer)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise EtcdAwayError(_NO_ETCD) from None

    def _post(self, path: str, question: Mapping[str, object]) -> dict[str, Any]:
        self._authenticate()
        try:
            return self._post_once(path, question)
        except EtcdRefusedError:
            if not self._access.user:
                raise
            # An etcd that was restarted knows none of its tokens, and some grow old.
            self._is_known = False
            self._authenticate()
            return self._post_once(path, question)

    def _authenticate(self) -> None:
        """Have a token for what is asked next."""
        if self._is_known or not self._access.user:
            return
        headers = self._connection().session.headers
        headers.pop("Authorization", None)
        who = {"name": self._access.user, "password": self._access.password.reveal()}
        try:
            token = self._post_once("auth/authenticate", who).get("token")
            if isinstance(token, str):
                headers["Authorization"] = token
        except EtcdRefusedError as error:
            if "authentication is not enabled" not in str(error):
                raise
        self._is_known = True

    def _post_once(self, path: str, question: Mapping[str, object]) -> dict[str, Any]:
        from etcd3gw.exceptions import (
            ConnectionFailedError,
            ConnectionTimeoutError,
            Etcd3Exception,
        )
        from requests.exceptions import RequestException

        client = self._connection()
        try:
            answer = client.post(client.get_url(path), json=question)
        except ConnectionTimeoutError:
            raise EtcdAwayError(f"no answer within {self.timeout:g} s") from None
        except ConnectionFailedError as error:
            raise EtcdAwayError(_why_not_connected(error.detail_text or "")) from None
        except Etcd3Exception as error:
            message = _message_of(error.detail_text)
            if "lease not found" in message:
                raise LeaseLostError(message) from None
            if any(words in message for words in _REFUSALS):
                raise EtcdRefusedError(message) from None
            raise EtcdAwayError(message or type(error).__name__) from None
        except (RequestException, ValueError) as error:
            # An HTTP server that is no etcd, or one that hung up in the middle.
            raise EtcdAwayError(f"{type(error).__name__}: {error}") from None
        if not isinstance(answer, dict):
            raise EtcdAwayError(_NO_ETCD)
        return answer

    def _connection(self) -> Etcd3Client:
        if self._client is None:
            try:
                from etcd3gw.client import Etcd3Client
            except ImportError:
                raise missing_package("etcd", "pdtriage[elastic]") from None
            access = self._access
            certificate, key = access.certificate or (None, None)
            self._client = Etcd3Client(
                self.host,
                self.port,
                protocol="https" if access.ca else "http",
                ca_cert=access.ca,
                cert_cert=certificate,
                cert_key=key,
                timeout=self.timeout,
                api_path=_API,
            )
            # A proxy for the internet knows nothing of the cluster's own machines.
            self._client.session.trust_env = False
        return self._client


class EtcdStore:
    """Keys below `base` with the calls of a key-value master; False and None while etcd is away.

    A key lives as long as the lease of the node that wrote it, or one that the store grants itself.
    """

    def __init__(self, etcd: Etcd, base: str = "", lease: Callable[[], int] | None = None) -> None:
        self.timeout = etcd.timeout
        self._etcd = etcd
        self._base = base
        self._lease = lease or self._own_lease
        self._granted = 0

    def put(self, key: str, value: str) -> bool:
        try:
            lease = self._lease()
            # Without a lease it would stay for ever.
            return lease != 0 and self._etcd.write({self._base + key: value}, lease=lease)
        except EtcdAwayError:
            return False
        except LeaseLostError:
            self._granted = 0
            return False

    def get_prefix(self, prefix: str) -> dict[str, str] | None:
        try:
            found = self._etcd.read(self._base + prefix)
        except EtcdAwayError:
            return None
        return {key.removeprefix(self._base): e.value for key, e in found.entries.items()}

    def delete(self, key: str) -> bool:
        try:
            deleted = self._etcd.write({}, deletes=[self._base + key])
            if self._granted:
                self._etcd.revoke(self._granted)
        except (EtcdAwayError, LeaseLostError):
            return False  # It goes with the lease.
        return deleted

    def close(self) -> None:
        self._etcd.close()

    def _own_lease(self) -> int:
        self._granted = self._granted or self._etcd.grant(_STORE_LEASE)
        return self._granted


def _snapshot(answer: Mapping[str, Any]) -> Snapshot:
    entries = {}
    for part in answer.get("responses", []):
        for kv in part.get("response_range", {}).get("kvs", []):
            entries[_text(kv["key"])] = Entry(
                _text(kv.get("value", "")),
                int(kv.get("create_revision", 0)),
                int(kv.get("mod_revision", 0)),
                int(kv.get("lease", 0)),
            )
    return Snapshot(int(answer["header"]["revision"]), entries)


def _is_success(answer: Mapping[str, Any]) -> bool:
    # False is left out by etcd, the header never is.
    return bool(answer["header"]) and answer.get("succeeded") is True


def _seconds_left(answer: Mapping[str, Any]) -> int:
    """Seconds until a lease ends; 0, which etcd leaves out, when it is gone."""
    return int(answer["result"].get("TTL", 0))


def _key_or_range(key: str) -> dict[str, object]:
    return _range(key) if key.endswith("/") else {"key": _bytes(key)}


def _range(prefix: str) -> dict[str, object]:
    first = prefix.encode()
    return {"key": _bytes(prefix), "range_end": _bytes(first[:-1] + bytes([first[-1] + 1]))}


def _bytes(text: str | bytes) -> str:
    raw = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return base64.b64encode(raw).decode()


def _text(encoded: str) -> str:
    return base64.b64decode(encoded).decode("utf-8", "replace")


def _why_not_connected(error: str) -> str:
    """What is wrong with TLS, where that is what is wrong."""
    if "CERTIFICATE_VERIFY_FAILED" in error:
        why = error.rpartition("verify failed: ")[2].partition(" (_ssl")[0]
        return f"its certificate is not trusted: {why[:100]}"
    if "SSL" in error:
        return "it does not speak TLS as we do, or asks for a certificate (--etcd_cert)"
    if "Connection aborted" in error:
        return "it hung up; an etcd that speaks TLS does so to those who do not (--etcd_ca)"
    return "cannot be connected to"


def _message_of(detail: str | None) -> str:
    """Etcd's own words out of its JSON error, on one line."""
    try:
        answer = json.loads(detail or "")
        detail = str(answer.get("message") or answer.get("error"))
    except (ValueError, AttributeError):
        pass
    return " ".join((detail or "").split())[:200]
