"""Stands in for the etcd client Paddle's elastic launcher needs: one node, held in memory."""

import threading
from types import SimpleNamespace


def client(**_where):
    return Store()


class Store:
    def __init__(self):
        self._held = {}
        self._watches = {}
        self._lock = threading.RLock()

    def put(self, key, value, lease=None):  # noqa: ARG002
        with self._lock:
            self._held[key] = value if isinstance(value, bytes) else value.encode()
        self._tell(key)
        return True

    def get(self, key):
        return self._held.get(key), None

    def get_prefix(self, prefix):
        with self._lock:
            held = sorted(self._held.items())
        return [
            (value, SimpleNamespace(key=key.encode()))
            for key, value in held
            if key.startswith(prefix)
        ]

    def delete(self, key):
        with self._lock:
            gone = self._held.pop(key, None)
        if gone is not None:
            self._tell(key)

    def delete_prefix(self, prefix):
        for _, found in self.get_prefix(prefix):
            self.delete(found.key.decode())

    def lease(self, _ttl):
        return SimpleNamespace(refresh=lambda: None, revoke=lambda: None)

    def add_watch_prefix_callback(self, prefix, callback):
        self._watches[len(self._watches)] = (prefix, callback)
        return len(self._watches) - 1

    add_watch_callback = add_watch_prefix_callback

    def cancel_watch(self, watch):
        self._watches.pop(watch, None)

    def _tell(self, key):
        for prefix, callback in list(self._watches.values()):
            if key.startswith(prefix):
                callback(SimpleNamespace(events=[]))
