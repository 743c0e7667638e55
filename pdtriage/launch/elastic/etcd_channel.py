"""Etcd as the place where nodes tell each other what they see (see `launch.facts`)."""

from __future__ import annotations

from collections.abc import Callable

from pdtriage.launch.elastic.etcd import Etcd, EtcdAwayError, LeaseLostError
from pdtriage.launch.elastic.generation import Keys


class EtcdFacts:
    """Keys of one generation; they live as long as the lease of the node that wrote them."""

    def __init__(self, etcd: Etcd, keys: Keys, number: int, lease: Callable[[], int]) -> None:
        self.timeout = etcd.timeout
        self._etcd = etcd
        self._base = f"{keys.facts}{number}"
        self._lease = lease

    def put(self, key: str, value: str) -> bool:
        lease = self._lease()
        try:
            # Without a lease it would stay for ever.
            return lease != 0 and self._etcd.write({self._base + key: value}, lease=lease)
        except (EtcdAwayError, LeaseLostError):
            return False

    def get_prefix(self, prefix: str) -> dict[str, str] | None:
        try:
            found = self._etcd.read(self._base + prefix)
        except EtcdAwayError:
            return None
        return {key.removeprefix(self._base): e.value for key, e in found.entries.items()}

    def forget(self, key: str) -> bool:
        """Nobody reads it any more."""
        try:
            return self._etcd.write({}, deletes=[self._base + key])
        except EtcdAwayError:
            return False  # It goes with the lease.
        finally:
            self._etcd.close()
