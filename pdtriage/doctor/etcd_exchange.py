"""An etcd as the place where doctors meet, with the few words of a key-value master."""

from __future__ import annotations

from pdtriage.launch.elastic.etcd import Etcd, EtcdAwayError, LeaseLostError

_FORGOTTEN = 30
"""Seconds after which etcd forgets a doctor that did not take its leave."""


class EtcdPlace:
    """Says nothing and hears nothing while etcd is away."""

    def __init__(self, host: str, port: int, patience: float) -> None:
        self._etcd = Etcd(host, port, patience)
        self._lease = 0

    def put(self, key: str, text: str) -> bool:
        try:
            self._lease = self._lease or self._etcd.grant(_FORGOTTEN)
            return self._etcd.write({key: text}, lease=self._lease)
        except EtcdAwayError:
            return False
        except LeaseLostError:
            self._lease = 0
            return False

    def get_prefix(self, prefix: str) -> dict[str, str] | None:
        try:
            found = self._etcd.read(prefix)
        except EtcdAwayError:
            return None
        return {key: entry.value for key, entry in found.entries.items()}

    def delete(self, key: str) -> bool:
        """Takes back all that was said here."""
        try:
            gone = self._etcd.write({}, deletes=[key])
            if self._lease:
                self._etcd.revoke(self._lease)
        except (EtcdAwayError, LeaseLostError):
            gone = False
        self._etcd.close()
        return gone
