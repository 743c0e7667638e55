"""Names of strangers as names of files: no way out of the folder, no two alike."""

from __future__ import annotations

import hashlib
import re

_HARMLESS = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,199}[a-z0-9])?")
_ODD = re.compile(r"[^A-Za-z0-9.-]+")


def is_kubernetes_name(name: str) -> bool:
    """What Kubernetes allows as the name of a job, pod, container or namespace."""
    return bool(_HARMLESS.fullmatch(name)) and ".." not in name


def safe_name(name: str) -> str:
    """The name itself where it is an ordinary one, else something like it with a number."""
    if is_kubernetes_name(name):
        return name
    number = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_ODD.sub('-', name).strip('.-')[:60] or 'unnamed'}-{number}"
